# SPDX-License-Identifier: Apache-2.0
"""Dialogues of a selection by outcome, score and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.worst import Scored, main_values
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.vocab import OUTCOME

COLUMNS = (
    Column("score", "Score", Kind.SCORE),
    Column("metric", "Metric"),
    Column("outcome", "Outcome"),
    Column("task", "Task"),
    Column("model", "Model"),
    Column("iteration", "Iteration", Kind.COUNT),
    Column("dialogue", "Dialogue"),
)
QUERIES = (*fetch.CHOOSING, *fetch.ROWS, "dialogue-outcomes", "dialogues-with-text")


@dataclass(slots=True)
class Found:
    """A dialogue: its task and model (names), outcomes, and its score by the main metric.

    ``outcomes`` are those of its answers by round, and under -1 that of the dialogue as a whole.
    """

    dialogue: str
    task: str
    model: str
    iteration: int
    outcomes: dict[int, str] = field(default_factory=dict)
    scored: Scored | None = None

    @property
    def badness(self) -> tuple[bool, float]:
        """Orders by score, the lowest first; dialogues without a score come last."""
        return self.scored is None, 0 if self.scored is None else self.scored.badness

    @property
    def answers(self) -> int:
        """How many of its answers were judged."""
        return sum(round_ >= 0 for round_ in self.outcomes)

    @property
    def outcome(self) -> str:
        """The outcomes in the order of rounds, each once."""
        answers = [self.outcomes[k] for k in sorted(self.outcomes) if k >= 0]
        return ", ".join(dict.fromkeys(answers or self.outcomes.values()))

    @property
    def row(self) -> tuple[Value, ...]:
        """The values of :data:`COLUMNS`."""
        value = None if self.scored is None else self.scored.value
        metric = None if self.scored is None else self.scored.metric
        about = (self.task, self.model, self.iteration, self.dialogue)
        return (value, metric, self.outcome, *about)


_Key: TypeAlias = Callable[[Found], tuple[object, ...]]
SORTS: Mapping[str, _Key] = {
    "score": lambda one: (one.badness, one.task, one.model, one.iteration),
    "task": lambda one: (one.task, one.model, one.iteration),
    "model": lambda one: (one.model, one.task, one.iteration),
    "outcome": lambda one: (one.outcome, one.task, one.model, one.iteration),
}
"""The orders in which dialogues can be listed."""


def find_dialogues(
    store: Store,
    selection: Selection,
    *,
    outcome: str | None = None,
    below: float | None = None,
    text: str | None = None,
    sort: str = "score",
    limit: int | None = None,
) -> Table:
    """The judged dialogues of a selection, at most ``limit``, in the order ``sort``.

    ``outcome`` is that of an answer or of the whole dialogue, ``below`` what the score by the
    task's main metric must be less than, ``text`` what an answer must contain, whatever its case.
    Raises :class:`~kgbench.errors.QueryError` for an unknown outcome or order.
    """
    if outcome is not None and outcome not in list(Outcome):
        raise QueryError(f"there is no outcome '{outcome}'; there are: {', '.join(Outcome)}")
    if sort not in SORTS:
        raise QueryError(f"dialogues cannot be sorted by '{sort}': choose {', '.join(SORTS)}")
    wanted = None if text is None else with_text(store, selection, text)
    judged = judged_dialogues(store, selection)
    chosen = choose(judged, outcome=outcome, below=below, among=wanted, sort=sort)
    shown = chosen[:limit]
    left = len(chosen) - len(shown)
    return Table(
        title=f"Dialogues found: {len(chosen)} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(one.row for one in shown),
        notes=(f"{left} more: a higher limit shows them.",) if left else (),
        queries=QUERIES,
        context={**selection.context, "outcome": outcome, "below": below, "search": text},
    )


def choose(
    judged: Iterable[Found],
    *,
    outcome: str | None = None,
    below: float | None = None,
    among: Collection[str] | None = None,
    sort: str = "score",
    reverse: bool = False,
) -> list[Found]:
    """Dialogues by outcome and score in the order ``sort``; ``among`` has the paths that count."""
    chosen = list(judged)
    if outcome is not None:
        chosen = [one for one in chosen if outcome in one.outcomes.values()]
    if below is not None:
        chosen = [one for one in chosen if one.scored and one.scored.value < below]
    if among is not None:
        chosen = [one for one in chosen if one.dialogue in among]
    chosen.sort(key=lambda one: (*SORTS[sort](one), one.dialogue), reverse=reverse)
    if reverse and sort == "score":  # those without a score stay at the end
        chosen.sort(key=lambda one: one.scored is None)
    return chosen


def judged_dialogues(store: Store, selection: Selection) -> list[Found]:
    """All judged dialogues of a selection with their outcomes and scores, in no order."""
    found = _judged(store, selection)
    for value in main_values(store, selection):
        if value.dialogue in found:
            found[value.dialogue].scored = value
    return list(found.values())


def _judged(store: Store, selection: Selection) -> dict[str, Found]:
    """All judged dialogues of a selection, by their paths below the base of the store."""
    selected = fetch.selection_test(store, selection)
    tasks, models = fetch.tasks(store), fetch.models(store)
    found: dict[str, Found] = {}
    for row in queries.run(
        store,
        "dialogue-outcomes",
        passGraph=list(selection.pass_graphs),
        latest=selection.latest,
        **fetch.narrowing(store, selection),
    ):
        model, task = row["model"].value, row["task"].value
        if selected(model, task):
            path = row["dialogue"].value.removeprefix(store.iris.base)
            if path not in found:
                iteration = int(row["iteration"].value)
                found[path] = Found(path, tasks[task].name, models.name(model), iteration)
            round_ = -1 if row["round"] is None else int(row["round"].value)
            found[path].outcomes[round_] = row["outcome"].value.removeprefix(OUTCOME)
    return found


def with_text(store: Store, selection: Selection, text: str) -> set[str]:
    """The paths of the dialogues with ``text`` in an answer, whatever its case."""
    graphs = list(selection.run_graphs)
    rows = queries.rows(store, "dialogues-with-text", runGraph=graphs, text=text)
    return {str(dialogue).removeprefix(store.iris.base) for (dialogue,) in rows}
