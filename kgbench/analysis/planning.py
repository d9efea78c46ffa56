# SPDX-License-Identifier: Apache-2.0
"""Planning: the cases and repetitions needed to find a difference, with their tokens and cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import harmonic_mean
from typing import NamedTuple

from kgbench.analysis.run_totals import ModelCost, costs_by_model
from kgbench.errors import QueryError, StoreError
from kgbench.record import accounts, reading
from kgbench.scores import catalogue
from kgbench.scores.inference import inference
from kgbench.scores.reading import BY_CASE, CHOOSING, Repetitions, repetitions
from kgbench.scores.selection import ALL, FIRST, Selection, select
from kgbench.scores.selectors import chosen_scores
from kgbench.statistics.clusters import least_p
from kgbench.statistics.histogram import Histogram, mean
from kgbench.statistics.power import MeasuredComponents, PairedTest, Variances, of_models
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

COLUMNS = (
    Column("repetitions", "Repetitions", Kind.COUNT),
    Column("cases", "Cases", Kind.COUNT),
    Column("cases_per_task", "Per task", Kind.COUNT),
    Column("dialogues", "Dialogues", Kind.COUNT),
    Column("input_tokens", "Tokens read", Kind.COUNT),
    Column("output_tokens", "Tokens written", Kind.COUNT),
    Column("cost_usd", "USD", Kind.SCORE),
    Column("hours", "Hours", Kind.SCORE),
)
QUERIES = (*CHOOSING, *BY_CASE, "run-usage", "run-prices", "run-progress")
REPETITIONS = (1, 2, 4, 8)
_HOUR = 3600


class Claim(NamedTuple):
    """A difference between two models to detect, with the power and the level of the test."""

    difference: float
    power: float = 0.8
    alpha: float = 0.05

    def checked(self) -> Claim:
        """Validate the claim and return it.

        Raises :class:`~kgbench.errors.QueryError` for a claim that no test can reach.
        """
        if not self.difference > 0:
            raise QueryError(f"a difference to detect is greater than 0, not {self.difference:g}")
        if not 0 < self.alpha < self.power < 1:
            raise QueryError(
                f"0 < alpha < power < 1 must hold: alpha is {self.alpha:g}, power {self.power:g}"
            )
        return self


class Effort(NamedTuple):
    """Mean tokens, cost and time of a dialogue over models; unknown values are ``None``."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def of(self, dialogues: int) -> tuple[Value, ...]:
        """Return tokens read and written, USD and hours of a number of dialogues."""
        tokens_in, tokens_out, cost, seconds = (
            None if value is None else value * dialogues for value in self
        )
        return (
            None if tokens_in is None else round(tokens_in),
            None if tokens_out is None else round(tokens_out),
            cost,
            None if seconds is None else seconds / _HOUR,
        )


def source(
    store: Store,
    name: str,
    pass_: str = FIRST,
    *,
    tasks: str = ALL,
    models: str | Sequence[str] = ALL,
) -> Selection:
    """Select the scores of the suite or run ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is neither.
    """
    try:
        return select(store, name, pass_, tasks=tasks, models=models)
    except QueryError as no_suite:
        try:
            return select(store, None, pass_, run=name, tasks=tasks, models=models)
        except StoreError as no_run:
            raise QueryError(
                f"'{name}' is neither a suite nor a run: {no_suite}; {no_run}"
            ) from None


def effort(store: Store, selection: Selection) -> Effort:
    """Measure the effort of a dialogue of the selected models in the selected runs, over all tasks.

    Failed calls count, because new runs will have failures as well. Time is the working time of the
    runs, divided by the dialogues of all their models.
    """
    names = catalogue.models(store)
    efforts: list[tuple[float | None, float | None, float | None]] = []
    seconds, dialogues = 0.0, 0
    for run in reading.runs(store):
        if run.graph not in selection.run_graphs:
            continue
        complete = _complete(store, run.graph)
        seconds += accounts.working_seconds(store, run.iri, run.graph)
        dialogues += sum(complete.values())
        efforts += [
            _per_dialogue(spending, complete[spending.model])
            for spending in costs_by_model(store, run)
            if complete.get(spending.model) and names.fits(spending.model, selection.models)
        ]
    tokens_in, tokens_out, cost = (
        (None, None, None)
        if not efforts
        else (
            mean(value for value in column if value is not None)
            for column in zip(*efforts, strict=True)
        )
    )
    return Effort(
        tokens_in, tokens_out, cost, seconds / dialogues if seconds and dialogues else None
    )


def _per_dialogue(
    spending: ModelCost, dialogues: int
) -> tuple[float | None, float | None, float | None]:
    """Return tokens read, tokens written and USD of a dialogue."""
    usage, cost = spending.total.usage, spending.total.cost
    counted = not usage.uncounted and usage.input
    return (
        usage.input / dialogues if counted else None,
        usage.output / dialogues if counted else None,
        None if cost is None else float(cost) / dialogues,
    )


def _complete(store: Store, graph: str) -> Counter[str]:
    """Count the complete dialogues of each model (IRI) in a run."""
    counts: Counter[str] = Counter()
    for cells in accounts.progress(store, [graph]).values():
        for (model, _), states in cells.items():
            counts[model] += states["complete"]
    return counts


class DeclaredVariances(NamedTuple):
    """Variances declared by the user; a value of ``None`` is measured where there are results."""

    between: float | None = None
    within: float | None = None
    correlation: float | None = None

    def over(self, measured_: Variances) -> Variances:
        """Return the measured variances with the declared ones in their place."""
        return Variances(
            measured_.between if self.between is None else self.between,
            measured_.within if self.within is None else self.within,
            measured_.correlation if self.correlation is None else self.correlation,
        )


def plan(
    claim: Claim, declared: DeclaredVariances, *, repetitions: Sequence[int] = REPETITIONS
) -> Table:
    """Compute the cases that a claim needs from declared variances; the default correlation is 0.

    Raises :class:`~kgbench.errors.QueryError` for a claim that no test can reach.
    """
    variances = declared.over(Variances(0.0, None))
    return _table(claim, variances, repetitions, Effort(), ["declared"], tasks=1)


def plan_from(
    store: Store,
    selection: Selection,
    claim: Claim,
    declared: DeclaredVariances = DeclaredVariances(),  # noqa: B008 - it cannot be changed
    *,
    repetitions: Sequence[int] = REPETITIONS,
    metric: str | None = None,
    round: str | None = None,
) -> Table:
    """Compute the cases that a claim needs from the variances of the selected scores.

    The table has tokens, cost and time as well. Declared variances take precedence over measured
    ones. Cases are spread evenly over the tasks with several cases in the results. ``metric`` and
    ``round`` are as in :func:`~kgbench.analysis.task_scores.task_scores`. Raises
    :class:`~kgbench.errors.QueryError` where no task has several cases, or for a claim that no test
    can reach.
    """
    basis = measured(store, selection, metric=metric, round=round)
    variances = declared.over(_variances(basis))
    origins = [f"measured in {selection.run or selection.suite_name}"]
    origins += [
        f"{name} declared" for name, value in declared._asdict().items() if value is not None
    ]
    table = _table(
        claim, variances, repetitions, effort(store, selection), origins, tasks=basis.tasks
    )
    return replace(
        table,
        notes=(*table.notes, _basis(basis)),
        queries=QUERIES,
        context={**table.context, **selection.context, "metric": metric or "main"},
    )


class Detectable(NamedTuple):
    """The least difference between two models that a configuration can detect.

    ``cases`` and ``tasks`` are the numbers that the test rests on. Where no difference can be
    detected, ``difference`` is ``None`` and ``reason`` says why, in words.
    """

    difference: float | None
    cases: int
    tasks: int
    reason: str | None = None


def undetectable(
    repetitions: Mapping[str, Sequence[int]],
    claim: Claim = Claim(1.0),  # noqa: B008 - it cannot be changed
) -> Detectable | None:
    """Return why a configuration can detect no difference at all; ``None`` where it can.

    ``repetitions`` is as in :func:`detectable`. This needs no results.
    """
    several = [cases for cases in repetitions.values() if len(cases) > 1]
    number = sum(map(len, several))
    if not number:
        return Detectable(
            None, 0, 0, "no task has several cases, and one case says nothing about others"
        )
    if least_p(number) < claim.alpha:
        return None
    reason = f"the test of {number} cases never gives a p below {least_p(number):g}"
    return Detectable(None, number, len(several), reason)


def detectable(
    store: Store,
    selection: Selection,
    repetitions: Mapping[str, Sequence[int]],
    claim: Claim = Claim(1.0),  # noqa: B008 - it cannot be changed
) -> Detectable | None:
    """Return the least difference that a configuration can detect, by stored results of its tasks.

    ``repetitions`` has those of each case by task label; tasks with one case do not count. Only
    power and level of ``claim`` are used. The result is ``None`` where variances are unknown: the
    results have no task with several cases, or no repetitions where the configuration has some.
    """
    never = undetectable(repetitions, claim)
    if never is not None:
        return never
    several = {label: cases for label, cases in repetitions.items() if len(cases) > 1}
    try:
        basis = measured(store, selection, labels=several)
    except QueryError:
        return None
    counts = [count for cases in several.values() for count in cases]
    variance = _variances(basis).of_difference(harmonic_mean(counts))
    if not variance:
        return None
    test = PairedTest(claim.alpha, len(several))
    difference = test.difference(variance, len(counts), claim.power)
    return None if difference is None else Detectable(difference, len(counts), len(several))


def _table(
    claim: Claim,
    variances: Variances,
    repetitions: Sequence[int],
    effort_: Effort,
    origins: Sequence[str],
    *,
    tasks: int,
) -> Table:
    """Make a table with a row per number of repetitions, empty where the variance is unknown."""
    test = PairedTest(claim.checked().alpha, tasks)
    rows: list[tuple[Value, ...]] = []
    for number in repetitions:
        variance = variances.of_difference(number)
        if variance is None:
            rows.append((number, *(None for _ in COLUMNS[1:])))
            continue
        cases = test.cases(variance, claim.difference, claim.power)
        dialogues = cases * number
        rows.append((number, cases, -(-cases // tasks), dialogues, *effort_.of(dialogues)))
    return Table(
        title=(
            f"Cases needed to find a difference of {claim.difference:g} between two models "
            f"(power {claim.power:g}, two-sided alpha {claim.alpha:g})"
        ),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(test, variances, effort_, origins)),
        context={
            **claim._asdict(),
            **inference(alpha=claim.alpha, confidence=None).context,
            "between": variances.between,
            "within": variances.within,
            "correlation": variances.correlation,
            "tasks": tasks,
        },
    )


def _variances(basis: MeasuredComponents) -> Variances:
    """Convert measured components into the variances of planning."""
    components = basis.components
    return Variances(components.cases or 0.0, components.within, basis.correlation)


def _notes(
    test: PairedTest, variances: Variances, effort_: Effort, origins: Sequence[str]
) -> Iterator[str]:
    within = "unknown" if variances.within is None else f"{variances.within:.4f}"
    yield (
        f"Variances ({', '.join(origins)}): between cases {variances.between:.4f}, within a case "
        f"{within}; correlation of two models {variances.correlation:.2f}."
    )
    yield (
        "Both models get the same cases; dialogues, tokens, cost and time are those of one model."
    )
    fewest = PairedTest(test.alpha).least
    yield (
        f"The test is that of kgbench compare, which needs at least {fewest} cases for a p below "
        f"{test.alpha:g}."
    )
    if variances.of_difference(1) == 0:
        yield "No difference varied, so these results do not suffice for planning."
    if variances.within is None:
        yield "No case was repeated, so plans have one repetition."
    words = ("tokens read", "tokens written", "cost", "time")
    unknown = [name for name, value in zip(words, effort_, strict=True) if value is None]
    if unknown:
        yield f"Unknown for a dialogue: {', '.join(unknown)}."


def _basis(basis: MeasuredComponents) -> str:
    """Return a note on the data that variances were measured on."""
    text = f"Measured on {basis.cases} cases of {basis.tasks} tasks and {basis.models} models"
    if basis.left_out:
        text += f", without {basis.left_out} tasks that have one case"
    if not basis.pairs:
        text += "; no two models share cases, so their correlation is taken to be 0"
    return f"{text}."


def by_model(reached: Repetitions) -> dict[str, dict[str, dict[str, Histogram]]]:
    """Group values by model, task and case."""
    values: dict[str, dict[str, dict[str, Histogram]]] = defaultdict(lambda: defaultdict(dict))
    for item, models in reached.items():
        for model, answers in models.items():
            values[model][item.task][item.case] = answers.values
    return values


def measured(
    store: Store,
    selection: Selection,
    *,
    metric: str | None = None,
    round: str | None = None,
    labels: Collection[str] | None = None,
) -> MeasuredComponents:
    """Estimate the components of the selected scores, as means over models.

    ``metric`` and ``round`` are as in :func:`~kgbench.analysis.task_scores.task_scores`. With
    ``labels``, only tasks with these labels count. Raises :class:`~kgbench.errors.QueryError` where
    no task has several cases.
    """
    chosen = chosen_scores(store, selection.tasks, metric, round)
    if labels is not None:
        known = catalogue.tasks(store)
        chosen = {task: score for task, score in chosen.items() if known[task].label in labels}
    return of_models(by_model(repetitions(store, selection, chosen)))
