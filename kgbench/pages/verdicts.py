# SPDX-License-Identifier: Apache-2.0
"""Scores of an evaluation, grouped: main score, scores below the best value, perfect scores.

What the main score and the best values are is declared by the task class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup, escape

from kgbench.analysis.dialogues import VerdictView
from kgbench.pages.rendering import cell
from kgbench.pages.things import View
from kgbench.scores import catalogue
from kgbench.store.reader import cache_per_snapshot

# from 0 to 1; the number is shown beside it
_BAR = '<meter value="{:.4g}" aria-hidden="true"></meter>'


class Measure(NamedTuple):
    """A metric with its range from ``worst`` to ``best``; an end is ``None`` if it is not declared.

    ``base`` is the short name of the metric that it aggregates.
    """

    iri: str
    name: str
    worst: float | None
    best: float | None
    aggregation: str | None
    base: str | None

    def is_perfect(self, value: float) -> bool:
        """Return whether ``value`` is the best value, up to rounding errors."""
        return self.best is not None and math.isclose(value, self.best, rel_tol=1e-9, abs_tol=1e-9)

    def share(self, value: float) -> float | None:
        """Return the position of ``value`` between worst (0) and best (1), if both are known."""
        if self.best is None or self.worst is None or self.best == self.worst:
            return None
        share = (value - self.worst) / (self.best - self.worst)
        return min(max(share, 0.0), 1.0) if math.isfinite(share) else None


class Measures(NamedTuple):
    """The metrics of a task class by short name, and its main metrics of dialogues and answers.

    For classes with several rounds, ``main`` aggregates ``of_answer``.
    """

    by_name: Mapping[str, Measure]
    main: str | None
    of_answer: str | None


NONE = Measures({}, None, None)


@cache_per_snapshot
def measures(view: View, task: str) -> Measures:
    """Return the metrics of the task ``task`` (IRI); none if the catalogue lacks it."""
    info = catalogue.tasks(view).get(task)
    if info is None:
        return NONE
    metrics = catalogue.metrics(view)
    names = {iri: metric.name for iri, metric in metrics.items()}
    of_class = [one for one in metrics.values() if one.task_class == info.task_class]
    by_name = {}
    for metric in sorted(of_class, key=lambda metric: metric.name):
        ends = metric.bounds if metric.higher_is_better else metric.bounds[::-1]
        base = names.get(metric.base or "")
        by_name[metric.name] = Measure(metric.iri, metric.name, *ends, metric.aggregation, base)
    main = by_name.get(names.get(info.main_metric or "", ""))
    return Measures(by_name, main and main.name, main and (main.base or main.name))


_UNKNOWN = Measure("", "", None, None, None, None)


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
