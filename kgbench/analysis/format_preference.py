# SPDX-License-Identifier: Apache-2.0
"""Format preference: two-sided t-tests between tasks that differ only in the graph format.

The rule is that of the published tables (LLM-KG-Bench 3, ESWC 2025, table 3; Semantic Web Journal
2025, table 7): Student's test with equal variances; the winner is the format with the greater
mean, marked at 95 % and in bold at 99 %. The column over all tasks and the row over all models
pool the values of the models and tasks that have both formats: else a task that is easier than the
others, but exists in one format only, would look like a preference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kgbench.analysis.registry import Arguments, Declared, Option, Purpose, analysis
from kgbench.errors import QueryError, ResourceError
from kgbench.rdf.declared_terms import read_declarations
from kgbench.scores import catalogue
from kgbench.scores.declared import check_selectors
from kgbench.scores.inference import inference
from kgbench.scores.reading import BY_TASK, CHOOSING, Score, histograms
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import Selector
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import DIFFERENCE_NOTE, UNBOUNDED, Bounds, difference_interval
from kgbench.statistics.significance import cohens_d, holm, t_test
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value
from kgbench.vocab import KGB, RDFS

ALL_MODELS = "All models"
ALL_TASKS = "All tasks"
_TAKEN = ("model", ALL_TASKS)  # columns beside those of pairs
METHOD = "formats"
"""The name of the declared method of the tests."""
QUERIES = (*CHOOSING, *BY_TASK)
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
    """A column of the table: its label and the selectors of the two tasks that are compared."""

    label: str
    first: Selector
    second: Selector


@dataclass(frozen=True, slots=True)
class FormatComparison:
    """A declared comparison of two formats; ``file`` is ``None`` for a shipped one."""

    name: str
    label: str
    formats: tuple[str, str]
    pairs: tuple[Pair, ...]
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class FormatTest:
    """The values of both formats for one model (or all models) on one pair (or all pairs)."""

    model: str
    column: str
    first: Histogram
    second: Histogram
    bounds: Bounds = UNBOUNDED

    @property
    def has_both(self) -> bool:
        """Whether both formats have values."""
        return bool(self.first.n and self.second.n)


def find_comparison(name: str = "turtle-jsonld", file: Path | None = None) -> FormatComparison:
    """Return the declared comparison ``name``, a shipped one or one from the user's ``file``."""
    declared = read_declarations(file, "format-preference.ttl")
    node = declared.named(KGB.FormatComparison, name)
    pairs = []
    for label, pair in declared.parts(node, KGB.formatPair, RDFS.label).items():
        if label in _TAKEN:
            raise ResourceError(f"{declared.file}: {node} has a pair called '{label}', as a column")
        metric = declared.text(pair, KGB.metricName)
        pairs.append(
            Pair(
                label=label,
                first=Selector(declared.required(pair, KGB.firstTask), metric),
                second=Selector(declared.required(pair, KGB.secondTask), metric),
            )
        )
    formats = (
        declared.required(node, KGB.firstFormat),
        declared.required(node, KGB.secondFormat),
    )
    if formats[0] == formats[1]:
        raise ResourceError(f"{declared.file}: both formats of {node} are called '{formats[0]}'")
    return FormatComparison(name, declared.required(node, RDFS.label), formats, tuple(pairs), file)


def format_tests(
    store: Store, selection: Selection, declared: FormatComparison
) -> tuple[list[Pair], list[FormatTest]]:
    """Return the pairs for which the store has tasks, and the contests, by model and pair.

    Raises :class:`~kgbench.errors.QueryError` where there are no tasks or no scores.
    """
    sides_of = (side for pair in declared.pairs for side in (pair.first, pair.second))
    check_selectors(store, sides_of, declared.file)
    tasks, metrics = catalogue.tasks(store), catalogue.metrics(store)
    ordered = sorted(tasks.values(), key=lambda task: task.iri)
    sides: dict[str, tuple[list[Score], list[Score]]] = {}
    pairs = []
    for pair in declared.pairs:
        first = pair.first.scores(ordered, metrics.values())
        second = pair.second.scores(ordered, metrics.values())
        if first and second:
            pairs.append(pair)
            sides[pair.label] = (first, second)
    example = f"such as {declared.pairs[-1].first.glob} and {declared.pairs[-1].second.glob}"
    if not pairs:
        raise QueryError(f"the store has no tasks that '{declared.name}' compares, {example}")
    needed_scores = [score for both in sides.values() for side in both for score in side]
    names = catalogue.models(store)
    values = histograms(store, selection, needed_scores)
    if not values:
        raise QueryError(
            f"no model has scores on the tasks that '{declared.name}' compares, {example}"
        )
    single = {
        (names.name(model), label): FormatTest(
            names.name(model),
            label,
            Histogram.pooled(parts[s] for s in first if s in parts),
            Histogram.pooled(parts[s] for s in second if s in parts),
            Bounds.around(metrics[s.metric].bounds for s in (*first, *second)),
        )
        for model, parts in values.items()
        for label, (first, second) in sides.items()
    }
    models, columns = sorted({model for model, _ in single}), list(sides)

    def pooled(model: str, column: str) -> FormatTest:
        """Pool the values of models and columns where both formats have values."""
        of_models = models if model == ALL_MODELS else [model]
        of_columns = columns if column == ALL_TASKS else [column]
        parts = [part for m in of_models for c in of_columns if (part := single[m, c]).has_both]
        return FormatTest(
            model,
            column,
            Histogram.pooled(part.first for part in parts),
            Histogram.pooled(part.second for part in parts),
            Bounds.around(part.bounds for part in parts),
        )

    return pairs, [
        single.get((model, column)) or pooled(model, column)
        for model in [*models, ALL_MODELS]
        for column in [*columns, ALL_TASKS]
    ]


def _parts(store: Store, _: Selection, arguments: Arguments) -> dict[str, list[Score]]:
    """Return the scores behind a format comparison, by pair; both formats together."""
    tasks, metrics = catalogue.tasks(store).values(), catalogue.metrics(store).values()
    return {
        pair.label: [*pair.first.scores(tasks, metrics), *pair.second.scores(tasks, metrics)]
        for pair in find_comparison(arguments["comparison"], arguments["declared"]).pairs
    }


@analysis(
    "format-preference",
    Purpose.COMPARE,
    parts=_parts,
    figure="kgbench.plots.preference_maps:PREFERENCES",
)
def format_preference(
    store: Store,
    selection: Selection,
    *,
    comparison: Annotated[
        str, Option("The declared format comparison.", metavar="NAME")
    ] = "turtle-jsonld",
    declared: Declared = None,
    details: Annotated[
        bool, Option("Show every test with p, corrected p and effect size.")
    ] = False,
    alpha: Annotated[float, Option("Mark p below this.", min=0, max=1, panel="Tests")] = 0.05,
    strong: Annotated[float, Option("Bold p below this.", min=0, max=1, panel="Tests")] = 0.01,
) -> Table:
    """Test which graph format each model reads better (t-tests).

    >>> results = kgbench.open("kgbench-results")
    >>> results.format_preference().names
    ('model', 'RdfConnectionExplainStatic', 'All tasks')
    """
    formats = find_comparison(comparison, declared)
    if details:
        return format_preference_details(store, selection, formats)
    return format_preference_table(store, selection, formats, alpha=alpha, strong=strong)


def format_preference_table(
    store: Store,
    selection: Selection,
    formats: FormatComparison,
    *,
    alpha: float = 0.05,
    strong: float = 0.01,
) -> Table:
    """Tabulate the preferred formats: one row per model, one column per pair of tasks.

    A cell names the preferred format where p is below ``alpha``, in ``**`` where p is below
    ``strong``, and is ``-`` otherwise; it is empty where a format has no values.
    """
    inference_ = inference(by=METHOD, confidence=None, alpha=alpha)
    pairs, all_contests = format_tests(store, selection, formats)
    by_model: dict[str, dict[str, Value]] = {}
    for contest in all_contests:
        cells = by_model.setdefault(contest.model, {"model": contest.model})
        cells[contest.column] = _mark(contest, formats.formats, alpha, strong)
    labels = [*(pair.label for pair in pairs), ALL_TASKS]
    return Table.of(
        f"Format preference: {formats.label} ({selection.suite_name})",
        (Column("model", "Model"), *(Column(label, label, Kind.MARK) for label in labels)),
        by_model.values(),
        notes=(
            inference_.note,
            f"A format is named at p < {alpha:g}, in bold at p < {strong:g}.",
            *_left_out(all_contests),
        ),
        queries=QUERIES,
        context={
            **selection.context,
            "comparison": formats.name,
            "first_format": formats.formats[0],
            "second_format": formats.formats[1],
            **inference_.context,
            "strong": strong,
        },
    )


def _left_out(contests: list[FormatTest]) -> Iterator[str]:
    """Yield a note of what totals leave out, if anything."""
    single = [c for c in contests if c.model != ALL_MODELS and c.column != ALL_TASKS]
    number = sum(bool(c.first.n or c.second.n) and not c.has_both for c in single)
    if number:
        yield (
            f"Totals leave out {number} of {len(single)} combinations of model and task, which "
            f"have values in one format only."
        )


def _mark(contest: FormatTest, formats: tuple[str, str], alpha: float, strong: float) -> str | None:
    if not contest.has_both:
        return None
    test = t_test(contest.first, contest.second)
    if test is None or test.p >= alpha:
        return "-"
    winner = formats[0] if test.difference > 0 else formats[1]
    return f"**{winner}**" if test.p < strong else winner


def format_preference_details(
    store: Store, selection: Selection, declared: FormatComparison
) -> Table:
    """Tabulate the tests: means, difference with interval, p, p corrected (Holm), effect size.

    There is a row for each test. The correction is over the tests of single models on single
    pairs; pooled tests have no corrected p.
    """
    inference_ = inference(by=METHOD)
    _, all_contests = format_tests(store, selection, declared)
    tests = [t_test(contest.first, contest.second) for contest in all_contests]
    pooled = [
        contest.model == ALL_MODELS or contest.column == ALL_TASKS for contest in all_contests
    ]
    corrected = holm([None if t is None or p else t.p for t, p in zip(tests, pooled, strict=True)])
    rows: list[dict[str, Value]] = []
    for contest, test, p_holm in zip(all_contests, tests, corrected, strict=True):
        cells: dict[str, Value] = {
            "model": contest.model,
            "tasks": contest.column,
            "n_first": contest.first.n,
            "mean_first": contest.first.mean,
            "n_second": contest.second.n,
            "mean_second": contest.second.mean,
            "p_holm": p_holm,
            "d": cohens_d(contest.first, contest.second),
        }
        if test is not None:
            ends = difference_interval(contest.first, contest.second, contest.bounds)
            cells["ci_low"], cells["ci_high"] = ends or (None, None)
            cells |= {"difference": test.difference, "t": test.statistic, "p": test.p}
        rows.append(cells)
    first, second = declared.formats
    heads = {"n_first": f"n {first}", "mean_first": f"Mean {first}"}
    heads |= {"n_second": f"n {second}", "mean_second": f"Mean {second}"}
    return Table.of(
        f"Format preference, details: {declared.label} ({selection.suite_name})",
        [Column(c.name, heads.get(c.name, c.title), c.kind) for c in _DETAILS],
        rows,
        notes=(
            inference_.note,
            "p (Holm) is corrected over the tests of single models on single tasks.",
            DIFFERENCE_NOTE,
            *_left_out(all_contests),
        ),
        queries=QUERIES,
        context={**selection.context, "comparison": declared.name, **inference_.context},
    )
