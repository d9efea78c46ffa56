# SPDX-License-Identifier: Apache-2.0
"""How many cases and repetitions a claim needs, and what they take: tokens, cost and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import harmonic_mean
from typing import NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.clusters import FEWEST_FOR_T, least_p
from kgbench.analysis.components import Measured, measured
from kgbench.analysis.histogram import mean
from kgbench.analysis.inference import inference
from kgbench.analysis.power import PairedTest, Variances
from kgbench.analysis.run_totals import Spent, spent
from kgbench.analysis.selection import ALL, FIRST, Selection, select
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.errors import QueryError, StoreError
from kgbench.rdf import queries
from kgbench.record import accounts, reading
from kgbench.store.protocol import Store

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
QUERIES = (*fetch.CHOOSING, *fetch.CASES, "run-usage", "run-prices", "run-progress")
REPETITIONS = (1, 2, 4, 8)
_HOUR = 3600


class Claim(NamedTuple):
    """A difference between two models that is to be found, with this power at this level."""

    difference: float
    power: float = 0.8
    alpha: float = 0.05

    def checked(self) -> Claim:
        """The same; :class:`~kgbench.errors.QueryError` for what no test can reach."""
        if not self.difference > 0:
            raise QueryError(f"a difference to detect is greater than 0, not {self.difference:g}")
        if not 0 < self.alpha < self.power < 1:
            raise QueryError(
                f"0 < alpha < power < 1 must hold: alpha is {self.alpha:g}, power {self.power:g}"
            )
        return self


class Effort(NamedTuple):
    """What a dialogue takes, as the mean over models; ``None`` where nothing is known."""

    input_tokens: float | None = None
    output_tokens: float | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def of(self, dialogues: int) -> tuple[Value, ...]:
        """Tokens, USD and hours of so many dialogues."""
        read, written, cost, seconds = (None if each is None else each * dialogues for each in self)
        return (
            None if read is None else round(read),
            None if written is None else round(written),
            cost,
            None if seconds is None else seconds / _HOUR,
        )


def source(
    store: Store, name: str, choice: str = FIRST, *, tasks: str = ALL, models: str = ALL
) -> Selection:
    """The scores of the suite or run called ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is neither.
    """
    try:
        return select(store, name, choice, tasks=tasks, models=models)
    except QueryError as no_suite:
        try:
            return select(store, None, choice, run=name, tasks=tasks, models=models)
        except StoreError as no_run:
            raise QueryError(f"'{name}' is neither suite nor run: {no_suite}; {no_run}") from None


def effort(store: Store, selection: Selection) -> Effort:
    """What a dialogue of the selected models took in the selected runs, whatever its task.

    Failed calls count, because they will fail again. Time is that in which runs worked, divided by
    the dialogues of all their models.
    """
    names = fetch.models(store)
    takes: list[tuple[float | None, float | None, float | None]] = []
    seconds, dialogues = 0.0, 0
    for run in reading.runs(store):
        if run.graph not in selection.run_graphs:
            continue
        done = _complete(store, run.graph)
        seconds += accounts.working_seconds(store, run.iri, run.graph)
        dialogues += sum(done.values())
        takes += [
            _each(one, done[one.model])
            for one in spent(store, run)
            if done.get(one.model) and names.fits(one.model, selection.models)
        ]
    read, written, cost = (
        (None, None, None)
        if not takes
        else (
            mean(each for each in column if each is not None) for column in zip(*takes, strict=True)
        )
    )
    return Effort(read, written, cost, seconds / dialogues if seconds and dialogues else None)


def _each(one: Spent, dialogues: int) -> tuple[float | None, float | None, float | None]:
    """Tokens read and written, and USD, of a dialogue."""
    usage, cost = one.total.usage, one.total.cost
    counted = not usage.uncounted and usage.input
    return (
        usage.input / dialogues if counted else None,
        usage.output / dialogues if counted else None,
        None if cost is None else float(cost) / dialogues,
    )


def _complete(store: Store, graph: str) -> dict[str, int]:
    """How many dialogues of each model (IRI) a run has complete."""
    found: dict[str, int] = {}
    for row in queries.run(store, "run-progress", runGraph=graph):
        if row["state"].value == "complete":
            model = row["model"].value
            found[model] = found.get(model, 0) + int(row["count"].value)
    return found


class Declared(NamedTuple):
    """Variances that a user declares; what is ``None`` is measured where there are results."""

    between: float | None = None
    within: float | None = None
    correlation: float | None = None

    def over(self, found: Variances) -> Variances:
        """What is measured, with what is declared in its place."""
        return Variances(
            found.between if self.between is None else self.between,
            found.within if self.within is None else self.within,
            found.correlation if self.correlation is None else self.correlation,
        )


def plan(claim: Claim, declared: Declared, *, repetitions: Sequence[int] = REPETITIONS) -> Table:
    """The cases that a claim needs by declared variances; a correlation not declared is 0.

    Raises :class:`~kgbench.errors.QueryError` for a claim that no test can reach.
    """
    variances = declared.over(Variances(0.0, None))
    return _table(claim, variances, repetitions, Effort(), ["declared"], tasks=1)


def plan_from(
    store: Store,
    selection: Selection,
    claim: Claim,
    declared: Declared = Declared(),  # noqa: B008 - it cannot be changed
    *,
    repetitions: Sequence[int] = REPETITIONS,
    metric: str | None = None,
    answers: str | None = None,
) -> Table:
    """The cases that a claim needs by the variances of the selected scores, and what they take.

    What is ``declared`` goes before what is measured. Cases are spread evenly over the tasks that
    have several cases in the results. ``metric`` and ``answers`` are as in
    :func:`~kgbench.analysis.task_scores.task_scores`. Raises
    :class:`~kgbench.errors.QueryError` where no task has several cases, or for a claim that no test
    can reach.
    """
    basis = measured(store, selection, metric=metric, answers=answers)
    variances = declared.over(_variances(basis))
    where = [f"measured in {selection.run or selection.suite_name}"]
    where += [f"{name} declared" for name, each in declared._asdict().items() if each is not None]
    table = _table(
        claim, variances, repetitions, effort(store, selection), where, tasks=basis.tasks
    )
    return replace(
        table,
        notes=(*table.notes, _basis(basis)),
        queries=QUERIES,
        context={**table.context, **selection.context, "metric": metric or "main"},
    )


class Detectable(NamedTuple):
    """The least difference of two models that a configuration finds, and by how many cases.

    Where it finds none, ``difference`` is ``None`` and ``reason`` says why, in words.
    """

    difference: float | None
    cases: int
    tasks: int
    reason: str | None = None


def undetectable(
    asked: Mapping[str, Sequence[int]],
    claim: Claim = Claim(1.0),  # noqa: B008 - it cannot be changed
) -> Detectable | None:
    """Why a configuration finds no difference however great; ``None`` where it can find some.

    ``asked`` is as in :func:`detectable`. No results are needed for this.
    """
    several = [cases for cases in asked.values() if len(cases) > 1]
    number = sum(map(len, several))
    if not number:
        return Detectable(None, 0, 0, "no task has several cases, and one says nothing of others")
    if least_p(number) < claim.alpha:
        return None
    reason = f"the test of {number} cases never gives a p below {least_p(number):g}"
    return Detectable(None, number, len(several), reason)


def detectable(
    store: Store,
    selection: Selection,
    asked: Mapping[str, Sequence[int]],
    claim: Claim = Claim(1.0),  # noqa: B008 - it cannot be changed
) -> Detectable | None:
    """What a configuration could find, by the variances of stored results of the same tasks.

    ``asked`` has the repetitions of each case by task label; tasks with one case do not count. Of
    ``claim`` the power and the level count. ``None`` where nothing is known: no task with several
    cases in the results, or repetitions of which the results have none.
    """
    never = undetectable(asked, claim)
    if never is not None:
        return never
    several = {label: cases for label, cases in asked.items() if len(cases) > 1}
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
    takes: Effort,
    where: Sequence[str],
    *,
    tasks: int,
) -> Table:
    """One row per number of repetitions; an empty one where its variance is not known."""
    test = PairedTest(claim.checked().alpha, tasks)
    rows: list[tuple[Value, ...]] = []
    for number in repetitions:
        variance = variances.of_difference(number)
        if variance is None:
            rows.append((number, *(None for _ in COLUMNS[1:])))
            continue
        cases = test.cases(variance, claim.difference, claim.power)
        dialogues = cases * number
        rows.append((number, cases, -(-cases // tasks), dialogues, *takes.of(dialogues)))
    return Table(
        title=(
            f"Cases needed to find a difference of {claim.difference:g} between two models "
            f"(power {claim.power:g}, two-sided alpha {claim.alpha:g})"
        ),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(test, variances, takes, where)),
        context={
            **claim._asdict(),
            **inference(alpha=claim.alpha, confidence=None).context,
            "between": variances.between,
            "within": variances.within,
            "correlation": variances.correlation,
            "tasks": tasks,
        },
    )


def _variances(basis: Measured) -> Variances:
    """What was measured, as planning takes it."""
    found = basis.components
    return Variances(found.cases or 0.0, found.within, basis.correlation)


def _notes(
    test: PairedTest, variances: Variances, takes: Effort, where: Sequence[str]
) -> Iterator[str]:
    within = "unknown" if variances.within is None else f"{variances.within:.4f}"
    yield (
        f"Variances ({', '.join(where)}): between cases {variances.between:.4f}, within a case "
        f"{within}; correlation of two models {variances.correlation:.2f}."
    )
    yield (
        "Both models are asked the same cases; the paired test is over cases, and speaks of cases "
        "of this kind on the same tasks. Dialogues, tokens, cost and time are those of one model."
    )
    fewest = PairedTest(test.alpha).least
    yield (
        f"The test is that of kgbench compare: t from {FEWEST_FOR_T} cases on, below exact sign "
        f"flips of cases. Fewer than {fewest} cases never give a p below {test.alpha:g}, however "
        "great the difference."
    )
    if variances.of_difference(1) == 0:
        yield "No difference varied: results without variance are too few to plan by."
    if variances.within is None:
        yield "No case was repeated, so that nothing is known of more than one repetition."
    words = ("tokens read", "tokens written", "cost", "time")
    unknown = [name for name, each in zip(words, takes, strict=True) if each is None]
    if unknown:
        yield f"Not known of a dialogue: {', '.join(unknown)}."


def _basis(basis: Measured) -> str:
    """What variances were measured on, in words."""
    text = f"Measured on {basis.cases} cases of {basis.tasks} tasks and {basis.models} models."
    if basis.left_out:
        text += f" Tasks with one case say nothing of others: {basis.left_out} are left out."
    if not basis.pairs:
        text += " No two models share cases: their correlation is taken for 0."
    return text
