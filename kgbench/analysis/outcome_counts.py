# SPDX-License-Identifier: Apache-2.0
"""Numbers of the outcomes of evaluations, and of errors that tables show beside scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from kgbench.analysis.scores import TaskInfo, narrowing, round_of, selection_test
from kgbench.analysis.selection import Selection
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME

ERRORS = ("failed-dialogues", "outcome-counts", "unscored-evaluations")
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


class Errors(NamedTuple):
    """The numbers of dialogues of one model on one task with an error.

    ``failed``: there is no complete answer, because the provider failed or the conversation was too
    long for the model. ``not_judged``: the judge failed or ran out of time.
    ``unreadable``: the answer was empty or could not be parsed (it was judged all the same).
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


def count_errors(
    store: Store, selection: Selection, tasks: dict[str, TaskInfo]
) -> dict[tuple[str, str], Errors]:
    """Count errors by model and task (IRIs); pairs without errors are absent."""
    counts: dict[tuple[str, str], Errors] = defaultdict(Errors)
    selected = selection_test(store, selection)
    for row in queries.run(store, "failed-dialogues", runGraph=list(selection.run_graphs)):
        counts[row["model"].value, row["task"].value] += Errors(failed=int(row["count"].value))
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
            counts[row["model"].value, task.iri] += Errors(failed=int(row["count"].value))
    return {pair: errors_ for pair, errors_ in counts.items() if selected(*pair) and any(errors_)}
