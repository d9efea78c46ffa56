# SPDX-License-Identifier: Apache-2.0
"""Which graph format models read better: two-sided t-tests between tasks that differ only in it.

The rule is that of the published tables (LLM-KG-Bench 3, ESWC 2025, table 3; Semantic Web Journal
2025, table 7): Student's test with equal variances, the winner is the format with the greater
mean, marked at 95 % and in bold at 99 %. The column over all tasks and the row over all models
pool values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score, Selector, reached
from kgbench.analysis.declarations import own_or_shipped
from kgbench.analysis.declared_scores import check_selectors
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.inference import inference
from kgbench.analysis.intervals import DIFFERENCE_NOTE, UNBOUNDED, Bounds, difference_interval
from kgbench.analysis.selection import Selection
from kgbench.analysis.significance import cohens_d, holm, t_test
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError
from kgbench.store.protocol import Store
from kgbench.vocab import KGB, RDFS

ALL_MODELS = "All models"
ALL_TASKS = "All tasks"
METHOD = "formats"
"""The published method of the tests, as declared."""
QUERIES = (*fetch.CHOOSING, *fetch.HISTOGRAMS)
_DETAILS = (
    Column("model", "Model"),
    Column("tasks", "Tasks"),
    Column("n_first", "n", Kind.COUNT),
    Column("mean_first", "Mean", Kind.SCORE),
    Column("n_second", "n", Kind.COUNT),
    Column("mean_second", "Mean", Kind.SCORE),
    Column("difference", "Difference", Kind.SCORE),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("t", "t", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("p_holm", "p (Holm)", Kind.P),
    Column("d", "Cohen's d", Kind.SCORE),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One column: a label, and the two tasks (labels) with the metric that are compared."""

    label: str
    first: Selector
    second: Selector


@dataclass(frozen=True, slots=True)
class FormatComparison:
    """A declared comparison of two formats."""

    name: str
    label: str
    formats: tuple[str, str]
    pairs: tuple[Pair, ...]
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Contest:
    """The values of both formats for one model (or all) on one pair (or all)."""

    model: str
    column: str
    first: Histogram
    second: Histogram
    bounds: Bounds = UNBOUNDED


def comparison(name: str = "turtle-jsonld", file: Path | None = None) -> FormatComparison:
    """The declared format comparison called ``name``, as shipped or from one's own file."""
    declared = own_or_shipped(file, "format-preference.ttl")
    node = declared.named(KGB.FormatComparison, name)
    pairs = []
    for pair in declared.ordered(node, KGB.formatPair):
        metric = declared.text(pair, KGB.metricName)
        pairs.append(
            Pair(
                label=declared.required(pair, RDFS.label),
                first=Selector(declared.required(pair, KGB.firstTask), metric),
                second=Selector(declared.required(pair, KGB.secondTask), metric),
            )
        )
    formats = (
        declared.required(node, KGB.firstFormat),
        declared.required(node, KGB.secondFormat),
    )
    return FormatComparison(name, declared.required(node, RDFS.label), formats, tuple(pairs), file)


def contests(
    store: Store, selection: Selection, declared: FormatComparison
) -> tuple[list[Pair], list[Contest]]:
    """The pairs that the store has tasks for, and the contests, by model and in their order."""
    sides_of = (side for pair in declared.pairs for side in (pair.first, pair.second))
    check_selectors(store, sides_of, declared.file)
    tasks, metrics = fetch.tasks(store), fetch.metrics(store)
    ordered = sorted(tasks.values(), key=lambda task: task.iri)
    sides: dict[str, tuple[list[Score], list[Score]]] = {}
    pairs = []
    for pair in declared.pairs:
        first = pair.first.scores(ordered, metrics.values())
        second = pair.second.scores(ordered, metrics.values())
        if first and second:
            pairs.append(pair)
            sides[pair.label] = (first, second)
    if not pairs:
        raise QueryError(f"the store has no tasks that '{declared.name}' compares")
    wanted = [score for both in sides.values() for side in both for score in side]
    names = fetch.models(store)
    found = reached(store, selection, wanted)
    if not found:
        raise QueryError(f"no model has scores on the tasks that '{declared.name}' compares")
    single = [
        Contest(
            names.name(model),
            label,
            Histogram.pooled(parts[s] for s in first if s in parts),
            Histogram.pooled(parts[s] for s in second if s in parts),
            Bounds.around(metrics[s.metric].bounds for s in (*first, *second)),
        )
        for model, parts in found.items()
        for label, (first, second) in sides.items()
    ]
    return pairs, _with_totals(single)


def _with_totals(single: list[Contest]) -> list[Contest]:
    models = sorted({one.model for one in single})
    columns = list(dict.fromkeys(one.column for one in single))
    pool = _Pool(single)
    found = []
    for model in [*models, ALL_MODELS]:
        of_model = models if model == ALL_MODELS else [model]
        found += [pool.contest(model, of_model, column, [column]) for column in columns]
        found.append(pool.contest(model, of_model, ALL_TASKS, columns))
    return found


class _Pool:
    def __init__(self, single: Iterable[Contest]) -> None:
        self._by = {(one.model, one.column): one for one in single}

    def contest(self, model: str, models: list[str], column: str, columns: list[str]) -> Contest:
        """The values of several models and columns together."""
        parts = [self._by[m, c] for m in models for c in columns]
        return Contest(
            model,
            column,
            Histogram.pooled(part.first for part in parts),
            Histogram.pooled(part.second for part in parts),
            Bounds.around(part.bounds for part in parts),
        )


def format_preference(
    store: Store,
    selection: Selection,
    declared: FormatComparison | None = None,
    *,
    alpha: float = 0.05,
    strong: float = 0.01,
) -> Table:
    """One row per model, one column per pair of tasks: the preferred format, ``-`` where none is.

    A mark stands where p is below ``alpha``, in ``**`` where it is below ``strong``; a cell is
    empty where a format has no values.
    """
    declared = declared or comparison()
    how = inference(by=METHOD, confidence=None, alpha=alpha)
    pairs, found = contests(store, selection, declared)
    labels = [pair.label for pair in pairs]
    by_model: dict[str, dict[str, Value]] = {}
    for one in found:
        mark = _mark(one, declared.formats, alpha, strong)
        by_model.setdefault(one.model, {})[one.column] = mark
    columns = [Column("model", "Model")]
    columns += [Column(label, label, Kind.MARK) for label in [*labels, ALL_TASKS]]
    rows = [
        (model, *(marks[column.name] for column in columns[1:]))
        for model, marks in by_model.items()
    ]
    return Table(
        title=f"Format preference: {declared.label} ({selection.suite_name})",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(
            how.note,
            f"Two-sided t-tests with equal variances: marked p < {alpha:g}, bold p < {strong:g}.",
            "No correction for the number of tests; the details have corrected p values.",
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "comparison": declared.name,
            "first_format": declared.formats[0],
            "second_format": declared.formats[1],
            **how.context,
            "strong": strong,
        },
    )


def _mark(one: Contest, formats: tuple[str, str], alpha: float, strong: float) -> str | None:
    if not one.first.n or not one.second.n:
        return None
    test = t_test(one.first, one.second)
    if test is None or test.p >= alpha:
        return "-"
    winner = formats[0] if test.difference > 0 else formats[1]
    return f"**{winner}**" if test.p < strong else winner


def format_preference_details(
    store: Store, selection: Selection, declared: FormatComparison
) -> Table:
    """One row per test: means, difference with interval, p, p corrected (Holm), effect size.

    The correction is over the tests of single models on single pairs; pooled tests are not among
    them and have no corrected p.
    """
    how = inference(by=METHOD)
    _, found = contests(store, selection, declared)
    tests = [t_test(one.first, one.second) for one in found]
    pooled = [ALL_MODELS in one.model or one.column == ALL_TASKS for one in found]
    corrected = holm([None if t is None or p else t.p for t, p in zip(tests, pooled, strict=True)])
    rows: list[tuple[Value, ...]] = []
    for one, test, p_holm in zip(found, tests, corrected, strict=True):
        interval = difference_interval(one.first, one.second, one.bounds)
        statistics: Mapping[str, Value] = (
            {}
            if test is None
            else {
                "difference": test.difference,
                "ci_low": None if interval is None else interval.low,
                "ci_high": None if interval is None else interval.high,
                "t": test.statistic,
                "p": test.p,
            }
        )
        known: dict[str, Value] = {
            "model": one.model,
            "tasks": one.column,
            "n_first": one.first.n,
            "mean_first": one.first.mean,
            "n_second": one.second.n,
            "mean_second": one.second.mean,
            "p_holm": p_holm,
            "d": cohens_d(one.first, one.second),
            **statistics,
        }
        rows.append(tuple(known.get(column.name) for column in _DETAILS))
    first, second = declared.formats
    heads = {"n_first": f"n {first}", "mean_first": f"Mean {first}"}
    heads |= {"n_second": f"n {second}", "mean_second": f"Mean {second}"}
    return Table(
        title=f"Format preference, details: {declared.label} ({selection.suite_name})",
        columns=tuple(Column(c.name, heads.get(c.name, c.title), c.kind) for c in _DETAILS),
        rows=tuple(rows),
        notes=(
            how.note,
            "Holm's correction is over the tests of single models on single tasks.",
            DIFFERENCE_NOTE,
        ),
        queries=QUERIES,
        context={**selection.context, "comparison": declared.name, **how.context},
    )
