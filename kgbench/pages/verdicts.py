# SPDX-License-Identifier: Apache-2.0
"""Scores of an evaluation, grouped: main score, scores below the best value, perfect scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from kgbench.analysis.dialogues import RoundView, VerdictView
from kgbench.pages.measures import Measure, Measures
from kgbench.pages.rendering import cell

# from 0 to 1; the number is shown beside it
_BAR = '<meter value="{:.4g}" aria-hidden="true"></meter>'
_UNKNOWN = Measure("", "", "", "", None, None, None, None)


class Score(NamedTuple):
    """A score as text; ``bar`` draws it if its range is known; ``row`` is a table row of all.

    The markup is built here and not in a template for speed, because pages have many scores.
    """

    name: str
    text: str
    bar: Markup
    row: Markup
    perfect: bool


_Aggregates = dict[str, dict[str, Score]]  # by metric and aggregation


class Row(NamedTuple):
    """Aggregates of a metric over the answers of a dialogue, with a cell per column."""

    name: str
    cells: Markup


class Best(NamedTuple):
    """Aggregates at their best value: the aggregations, and the metrics with their values."""

    columns: str
    scores: str


class Grouped(NamedTuple):
    """The grouped scores of an evaluation.

    ``short`` are scores below the best value, or without a best value; ``perfect`` are the others;
    ``main`` is in neither list. Aggregates below the best value are in ``short_rows``, with the
    aggregations as ``columns``; the others are in ``best``. ``perfects`` counts the metrics at
    their best value.
    """

    verdict: VerdictView
    main: Score | None
    short: list[Score]
    perfect: list[Score]
    columns: list[str]
    short_rows: list[Row]
    best: list[Best]
    perfects: int

    @property
    def short_table(self) -> Markup:
        """The rows of a table of :attr:`short`."""
        return Markup("").join(score.row for score in self.short)

    @property
    def perfect_list(self) -> str:
        """The names and values of :attr:`perfect`."""
        return ", ".join(f"{score.name} {score.text}" for score in self.perfect)


def grouped(verdict: VerdictView, known: Measures) -> Grouped:
    """Group the scores of ``verdict``; metrics that are not ``known`` have no best value."""
    main = known.main if verdict.round is None else known.of_answer
    scores = {
        # Minus zero, which equals zero, is shown as zero.
        name: _score(name, value + 0.0, known.by_name.get(name, _UNKNOWN))
        for name, value in verdict.scores
    }
    single = [
        score for score in scores.values() if known.by_name.get(score.name, _UNKNOWN).base is None
    ]
    perfect = [score for score in single if score.perfect and score.name != main]
    short, best = _aggregates(scores, known)
    columns = sorted({column for row in short.values() for column in row})
    return Grouped(
        verdict,
        scores.get(main or ""),
        [score for score in single if not score.perfect and score.name != main],
        perfect,
        columns,
        [_row(name, [row.get(column) for column in columns]) for name, row in short.items()],
        list(_best(best)),
        len(perfect) + len(best),
    )


def conversation_context(
    rounds: Sequence[RoundView], verdicts: Sequence[VerdictView], known: Measures
) -> dict[str, Any]:
    """Return a conversation for templates: ``rounds`` with verdicts, and verdicts on the ``whole``.

    The first verdict of each list is that of the first pass, whose scores count by default.
    """
    groups = [grouped(verdict, known) for verdict in verdicts]
    turns: list[dict[str, Any]] = [
        {
            "turn": turn,
            "verdicts": [group for group in groups if group.verdict.round == turn.round],
            "differences": [],
            "same": None,
        }
        for turn in rounds
    ]
    whole = [group for group in groups if group.verdict.round is None]
    last: list[Grouped] = next(
        (turn["verdicts"] for turn in reversed(turns) if turn["verdicts"]), []
    )
    return {
        "rounds": turns,
        "whole": whole,
        "result": next(iter(whole), None) or next(iter(last), None),
        "main": known.by_name.get(known.main or ""),
        "of_answer": known.by_name.get(known.of_answer or ""),
    }


@lru_cache(maxsize=10_000)
def _score(name: str, value: float, measure: Measure) -> Score:
    share = measure.share(value)
    text = f"{value:.4g}"
    bar = "" if share is None else _BAR.format(share)
    row = f'<tr><th scope="row">{escape(cell(name))}</th><td>{bar}</td><td>{text}</td></tr>'
    # Apart from the escaped name, the markup contains only numbers.
    return Score(name, text, Markup(bar), Markup(row), measure.is_perfect(value))  # noqa: S704


def _aggregates(scores: dict[str, Score], known: Measures) -> tuple[_Aggregates, _Aggregates]:
    """Return the aggregates by metric: those with a value below the best, and the others."""
    by_metric: _Aggregates = {}
    for name, score in scores.items():
        measure = known.by_name.get(name, _UNKNOWN)
        if measure.base is not None:
            by_metric.setdefault(measure.base, {})[measure.aggregation or name] = score
    ordered = sorted(by_metric.items(), key=lambda pair: (pair[0] != known.of_answer, pair[0]))
    short: _Aggregates = {}
    best: _Aggregates = {}
    for name, row in ordered:
        (best if all(aggregate.perfect for aggregate in row.values()) else short)[name] = row
    return short, best


def _best(aggregates: _Aggregates) -> Iterator[Best]:
    """Group the metrics by their aggregations."""
    together: dict[str, list[str]] = {}
    for name, row in aggregates.items():
        text = next(iter(row.values())).text
        together.setdefault(", ".join(sorted(row)), []).append(f"{name} {text}")
    for columns, scores in together.items():
        yield Best(columns, ", ".join(scores))


def _row(name: str, scores: list[Score | None]) -> Row:
    cells = "".join(f"<td>{'' if score is None else score.text}</td>" for score in scores)
    return Row(name, Markup(cells))  # noqa: S704 - only numbers
