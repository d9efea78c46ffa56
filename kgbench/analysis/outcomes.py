# SPDX-License-Identifier: Apache-2.0
"""Outcomes of answers: counted by model and task, and as a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kgbench.analysis.registry import NO_SCORES, Purpose, analysis
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.record import accounts
from kgbench.scores import catalogue
from kgbench.scores.catalogue import TaskInfo
from kgbench.scores.reading import narrowing, round_of, selection_test
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table
from kgbench.vocab import OUTCOME

ERRORS = ("failed-dialogues", "outcome-counts", "unscored-evaluations", "run-progress")
NOT_JUDGED = frozenset({"evaluator-error", "timeout"})
UNREADABLE = frozenset({"unparsable", "empty"})
#: Without an answer there is nothing to judge; published records may have scores all the same.
UNANSWERED = tuple(OUTCOME[name] for name in ("context-too-long", "provider-error"))


class Ended(NamedTuple):
    """An outcome (by notation) of an answer, or of the whole dialogue (``round`` is ``None``).

    ``model`` and ``task`` are IRIs.
    """

    model: str
    task: str
    round: int | None
    outcome: str


class Ending(NamedTuple):
    """How an answer ended: as it was judged, and as its provider ``reported``, if it did.

    >>> Ending("unparsable", "truncated").words, Ending("scored", "truncated").words
    ('truncated and unparsable', 'truncated')
    """

    outcome: str
    reported: str | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """Each outcome, once."""
        return tuple(dict.fromkeys(filter(None, (self.reported, self.outcome))))

    @property
    def words(self) -> str:
        """The ending as one phrase, so that every answer has one."""
        facts = [fact for fact in self.facts if fact != "scored" or self.reported is None]
        return " and ".join(facts).replace("-", " ")


class Errors(NamedTuple):
    """The numbers of dialogues of one model on one task with an error.

    ``failed``: there is no complete answer, because the provider failed or the conversation was too
    long for the model. ``not_judged``: there is an answer without a score, because the judge
    failed, ran out of time, or judged by other metrics. ``unreadable``: the answer was empty or
    could not be parsed (it was judged all the same).
    """

    failed: int = 0
    not_judged: int = 0
    unreadable: int = 0

    def __add__(self, other: object) -> Errors:
        assert isinstance(other, Errors)
        return Errors(*(a + b for a, b in zip(self, other, strict=True)))


def outcome_counts(
    store: Store,
    pass_graphs: Sequence[str],
    *,
    latest: bool | None = None,
    model: Sequence[str] | None = None,
    task: Sequence[str] | None = None,
    only: Collection[str] | None = None,
) -> Iterator[tuple[Ended, int]]:
    """Yield the outcomes of evaluations with their counts.

    ``latest`` is that of the selection. ``model`` and ``task`` (IRIs) and ``only`` (outcomes)
    restrict the result.
    """
    for row in queries.run(
        store,
        "outcome-counts",
        passGraph=list(pass_graphs),
        outcome=None if only is None else [OUTCOME[name] for name in sorted(only)],
        model=model,
        task=task,
        latest=latest,
    ):
        outcome = row["outcome"].value.removeprefix(OUTCOME)
        ended = Ended(row["model"].value, row["task"].value, round_of(row), outcome)
        yield ended, int(row["count"].value)


def answer_endings(
    store: Store, pass_graphs: Sequence[str], *, latest: bool | None = None
) -> dict[tuple[str, str], Counter[Ending]]:
    """Count judged answers by their ending, for each model and task (IRIs).

    ``latest`` is that of the selection.
    """
    counts: dict[tuple[str, str], Counter[Ending]] = defaultdict(Counter)
    for ended, number in outcome_counts(store, pass_graphs, latest=latest):
        if ended.round is not None:  # the outcomes of whole dialogues have none
            counts[ended.model, ended.task][Ending(ended.outcome)] += number
    for row in queries.run(store, "reported-outcomes", passGraph=list(pass_graphs), latest=latest):
        outcome, reported = (
            row[name].value.removeprefix(OUTCOME) for name in ("outcome", "reported")
        )
        of_cell = counts[row["model"].value, row["task"].value]
        of_cell.subtract([Ending(outcome)])
        of_cell[Ending(outcome, reported)] += 1
    return {cell: +counted for cell, counted in counts.items()}


def by_fact(endings: Mapping[Ending, int]) -> Counter[str]:
    """Count answers by outcome; one that was cut off and cannot be parsed counts under both."""
    facts: Counter[str] = Counter()
    for ending, number in endings.items():
        facts.update(dict.fromkeys(ending.facts, number))
    return facts


def count_errors(
    store: Store,
    selection: Selection,
    tasks: Mapping[str, TaskInfo],
    scored: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> dict[tuple[str, str], Errors]:
    """Count errors by model and task (IRIs); pairs without errors are absent.

    ``scored`` has the numbers of dialogues with a score, by task and model (IRIs). For its tasks,
    every other complete dialogue with an answer is not judged, whatever the reason.
    """
    counts: dict[tuple[str, str], Errors] = defaultdict(Errors)
    selected = selection_test(store, selection)
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        counts[row["model"].value, row["task"].value] += Errors(failed=int(row["count"].value))
    complete = _complete(store, selection) if scored else Counter()
    narrowed: dict[str, Any] = {"latest": selection.latest, **narrowing(store, selection)}
    wrong = NOT_JUDGED | UNREADABLE
    for ended, times in outcome_counts(store, selection.pass_graphs, only=wrong, **narrowed):
        task = tasks.get(ended.task)
        if task is not None and (ended.round is None) == (task.rounds > 1):
            judged = ended.outcome not in NOT_JUDGED
            error = Errors(unreadable=times) if judged else Errors(not_judged=times)
            counts[ended.model, task.iri] += error
    passes = list(selection.pass_graphs)
    for row in queries.run(
        store, "unscored-evaluations", passGraph=passes, outcome=list(UNANSWERED), **narrowed
    ):
        task = tasks.get(row["task"].value)
        if task is not None and (row["round"] is None) == (task.rounds > 1):
            unanswered = int(row["count"].value)
            counts[row["model"].value, task.iri] += Errors(failed=unanswered)
            complete[row["model"].value, task.iri] -= unanswered
    for cell, number in complete.items():
        model, task_iri = cell
        if task_iri in scored:
            unscored = number - scored[task_iri].get(model, 0)
            known = counts[cell]
            counts[cell] = known._replace(not_judged=max(known.not_judged, unscored))
    return {pair: errors_ for pair, errors_ in counts.items() if selected(*pair) and any(errors_)}


def dialogue_counts(store: Store, selection: Selection) -> Counter[tuple[str, str]]:
    """Count the selected dialogues by model and task (IRIs), whatever became of them."""
    selected, counts = selection_test(store, selection), Counter[tuple[str, str]]()
    for row in queries.run(store, "dialogue-counts", runGraph=list(selection.run_graphs)):
        cell = (row["model"].value, row["task"].value)
        if selected(*cell):
            counts[cell] += int(row["count"].value)
    return counts


def _complete(store: Store, selection: Selection) -> Counter[tuple[str, str]]:
    """Count the complete dialogues of runs by model and task (IRIs)."""
    complete: Counter[tuple[str, str]] = Counter()
    for cells in accounts.progress(store, selection.run_graphs).values():
        complete.update({cell: states["complete"] for cell, states in cells.items()})
    return complete


QUERIES = (
    "list-passes",
    "list-suites",
    "list-tasks",
    "list-models",
    "failed-dialogues",
    "outcome-counts",
    "reported-outcomes",
)
COLUMNS = (
    Column("task", "Task"),
    Column("model", "Model"),
    Column("n", "n", Kind.COUNT),
    *(
        Column(outcome.value, outcome.value.replace("-", " ").capitalize(), Kind.SHARE)
        for outcome in Outcome
    ),
    Column("open", "Open", Kind.COUNT),
)


@analysis("outcomes", Purpose.LOOK)
def outcomes(store: Store, selection: Selection) -> Table:
    """Show the rate of each outcome of answers, for every task and model.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*oracle").outcomes().column("scored")
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    all_tasks, names = catalogue.tasks(store), catalogue.models(store)
    counts = of_answers(store, selection)
    waiting: Counter[tuple[str, str]] = Counter()
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        waiting[row["model"].value, row["task"].value] += int(row["count"].value)
    rows = []
    for model, task in {*counts, *waiting}:
        task_info = all_tasks[task]
        if names.fits(model, selection.models) and task_info.fits(selection.tasks):
            endings = counts.get((model, task), Counter())
            n, facts = endings.total(), by_fact(endings)
            shares = (facts[outcome.value] / n if n else None for outcome in Outcome)
            rows.append((task_info.name, names.name(model), n, *shares, waiting[model, task]))
    return Table(
        title=f"Outcomes of answers ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(sorted(rows, key=lambda row: (row[0], row[1]))),
        notes=(
            "Open: dialogues that wait for an answer because the provider failed.",
            "An answer that was truncated or refused counts there and by how it was judged.",
        ),
        queries=QUERIES,
        context=selection.context,
    ).explained(NO_SCORES)


def of_answers(store: Store, selection: Selection) -> dict[tuple[str, str], Counter[Ending]]:
    """Count the selected answers by their ending, for each model and task (IRIs)."""
    selected = selection_test(store, selection)
    counts = answer_endings(store, selection.pass_graphs, latest=selection.latest)
    return {cell: endings for cell, endings in counts.items() if selected(*cell)}
