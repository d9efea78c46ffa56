# SPDX-License-Identifier: Apache-2.0
"""Scores of one evaluation in the order of interest: the main one, what falls short, the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from kgbench.analysis.dialogues import RoundView, VerdictView
from kgbench.pages.measures import Measure, Measures

_BAR_WIDTH = 120
_BAR = (
    f'<svg class="gauge" viewBox="0 0 {_BAR_WIDTH} 8" preserveAspectRatio="none" '
    'aria-hidden="true"><path d="M0 0h{:.4g}v8H0z"/></svg>'
)
_UNKNOWN = Measure("", "", "", "", None, None, None, None)


class Score(NamedTuple):
    """One score as text; ``bar`` draws it where its range is known; ``cells`` of a table have both.

    What many pages show many times is put together here, not piece by piece in a template.
    """

    name: str
    text: str
    bar: Markup
    cells: Markup
    perfect: bool


class Row(NamedTuple):
    """The aggregates of one metric over the answers of a dialogue, a cell for each column."""

    name: str
    cells: Markup
    perfect: bool


class Grouped(NamedTuple):
    """The scores of one evaluation.

    ``short`` are those below the best value, or without one; ``perfect`` the others; ``main`` is in
    neither. Aggregates over answers stand in ``short_rows`` and ``perfect_rows``, with the
    aggregations as ``columns``.
    """

    verdict: VerdictView
    main: Score | None
    short: list[Score]
    perfect: list[Score]
    columns: list[str]
    short_rows: list[Row]
    perfect_rows: list[Row]


def grouped(verdict: VerdictView, known: Measures) -> Grouped:
    """The scores of ``verdict`` in groups; metrics that are not ``known`` have no best value."""
    main = known.main if verdict.round is None else known.of_answer
    scores = {name: _score(name, value, known) for name, value in verdict.scores}
    single = [one for one in scores.values() if known.by_name.get(one.name, _UNKNOWN).base is None]
    columns, rows = _rows(scores, known)
    return Grouped(
        verdict,
        scores.get(main or ""),
        [one for one in single if not one.perfect and one.name != main],
        [one for one in single if one.perfect and one.name != main],
        columns,
        [row for row in rows if not row.perfect],
        [row for row in rows if row.perfect],
    )


def conversed(
    rounds: Sequence[RoundView], verdicts: Sequence[VerdictView], known: Measures
) -> dict[str, Any]:
    """What templates show of a conversation: ``rounds`` with their verdicts, and ``whole``.

    The first verdict of each is that of the first pass, whose scores count by default.
    """
    every = [grouped(verdict, known) for verdict in verdicts]
    shown: list[dict[str, Any]] = [
        {
            "turn": turn,
            "verdicts": [one for one in every if one.verdict.round == turn.round],
            "differences": [],
            "same": None,
        }
        for turn in rounds
    ]
    whole = [one for one in every if one.verdict.round is None]
    last: list[Grouped] = next((one["verdicts"] for one in reversed(shown) if one["verdicts"]), [])
    return {
        "rounds": shown,
        "whole": whole,
        "result": next(iter(whole), None) or next(iter(last), None),
        "main": known.by_name.get(known.main or ""),
        "of_answer": known.by_name.get(known.of_answer or ""),
    }


def _score(name: str, value: float, known: Measures) -> Score:
    measure = known.by_name.get(name, _UNKNOWN)
    share = measure.share(value)
    text = f"{value:.4g}"
    bar = "" if share is None else _BAR.format(share * _BAR_WIDTH)
    cells = f'<td>{bar}</td><td class="number">{text}</td>'
    # Nothing but numbers stands in these.
    return Score(name, text, Markup(bar), Markup(cells), measure.is_perfect(value))  # noqa: S704


def _rows(scores: dict[str, Score], known: Measures) -> tuple[list[str], list[Row]]:
    """Aggregates as a table: the aggregations, and a row for each metric that is aggregated."""
    cells: dict[str, dict[str, Score]] = {}
    for name, score in scores.items():
        measure = known.by_name.get(name, _UNKNOWN)
        if measure.base is not None:
            cells.setdefault(measure.base, {})[measure.aggregation or name] = score
    columns = sorted({column for row in cells.values() for column in row})
    rows = [_row(base, [row.get(column) for column in columns]) for base, row in cells.items()]
    main = known.of_answer
    return columns, sorted(rows, key=lambda row: (row.name != main, row.name))


def _row(name: str, scores: list[Score | None]) -> Row:
    cells = "".join(f'<td class="number">{"" if one is None else one.text}</td>' for one in scores)
    perfect = all(one is None or one.perfect for one in scores)
    return Row(name, Markup(cells), perfect)  # noqa: S704 - nothing but numbers
