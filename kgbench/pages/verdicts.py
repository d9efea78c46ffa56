# SPDX-License-Identifier: Apache-2.0
"""Scores of one evaluation in the order of interest: the main one, what falls short, the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from kgbench.analysis.dialogues import RoundView, VerdictView
from kgbench.pages.measures import Measure, Measures

_BAR = '<meter value="{:.4g}" aria-hidden="true"></meter>'  # of 0 to 1; the number stands beside it
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


_Aggregates = dict[str, dict[str, Score]]  # by metric and aggregation


class Row(NamedTuple):
    """The aggregates of one metric over the answers of a dialogue, a cell for each column."""

    name: str
    cells: Markup


class Best(NamedTuple):
    """Aggregates at their best value: the aggregations, and the metrics with what they are."""

    columns: str
    scores: str


class Grouped(NamedTuple):
    """The scores of one evaluation.

    ``short`` are those below the best value, or without one; ``perfect`` the others; ``main`` is in
    neither. Aggregates over answers that fall short stand in ``short_rows``, with the aggregations
    as ``columns``, the others in ``best``. ``perfects`` counts the metrics at their best value.
    """

    verdict: VerdictView
    main: Score | None
    short: list[Score]
    perfect: list[Score]
    columns: list[str]
    short_rows: list[Row]
    best: list[Best]
    perfects: int


def grouped(verdict: VerdictView, known: Measures) -> Grouped:
    """The scores of ``verdict`` in groups; metrics that are not ``known`` have no best value."""
    main = known.main if verdict.round is None else known.of_answer
    scores = {name: _score(name, value, known) for name, value in verdict.scores}
    single = [one for one in scores.values() if known.by_name.get(one.name, _UNKNOWN).base is None]
    perfect = [one for one in single if one.perfect and one.name != main]
    short, best = _aggregates(scores, known)
    columns = sorted({column for row in short.values() for column in row})
    return Grouped(
        verdict,
        scores.get(main or ""),
        [one for one in single if not one.perfect and one.name != main],
        perfect,
        columns,
        [_row(name, [row.get(column) for column in columns]) for name, row in short.items()],
        list(_best(best)),
        len(perfect) + len(best),
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
    bar = "" if share is None else _BAR.format(share)
    cells = f"<td>{bar}</td><td>{text}</td>"
    # Nothing but numbers stands in these.
    return Score(name, text, Markup(bar), Markup(cells), measure.is_perfect(value))  # noqa: S704


def _aggregates(scores: dict[str, Score], known: Measures) -> tuple[_Aggregates, _Aggregates]:
    """The aggregates of each metric that has some: where one falls short, and where none does."""
    found: _Aggregates = {}
    for name, score in scores.items():
        measure = known.by_name.get(name, _UNKNOWN)
        if measure.base is not None:
            found.setdefault(measure.base, {})[measure.aggregation or name] = score
    ordered = sorted(found.items(), key=lambda pair: (pair[0] != known.of_answer, pair[0]))
    short: _Aggregates = {}
    best: _Aggregates = {}
    for name, row in ordered:
        (best if all(one.perfect for one in row.values()) else short)[name] = row
    return short, best


def _best(found: _Aggregates) -> Iterator[Best]:
    """The metrics with the same aggregations together."""
    together: dict[str, list[str]] = {}
    for name, row in found.items():
        text = next(iter(row.values())).text
        together.setdefault(", ".join(sorted(row)), []).append(f"{name} {text}")
    for columns, scores in together.items():
        yield Best(columns, ", ".join(scores))


def _row(name: str, scores: list[Score | None]) -> Row:
    cells = "".join(f"<td>{'' if one is None else one.text}</td>" for one in scores)
    return Row(name, Markup(cells))  # noqa: S704 - nothing but numbers
