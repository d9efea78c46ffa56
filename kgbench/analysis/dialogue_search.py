# SPDX-License-Identifier: Apache-2.0
"""Search for dialogues by outcome, score and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kgbench.analysis.outcomes import Ending
from kgbench.analysis.registry import check_number
from kgbench.analysis.worst import ScoredDialogue, main_values, worst_dialogues
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.record import accounts
from kgbench.scores import catalogue
from kgbench.scores.reading import CHOOSING, MOST_PAIRS, ROWS, narrowing, selection_test
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value
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
QUERIES = (
    *CHOOSING,
    *ROWS,
    "dialogue-outcomes",
    "reported-outcomes",
    "dialogues-with-text",
)


@dataclass(slots=True)
class JudgedDialogue:
    """A dialogue: its task and model (names), outcomes, and its score by the main metric.

    ``outcomes`` has the outcomes of its answers by round, and under -1 that of the whole dialogue;
    ``reported`` has those that providers reported.
    """

    dialogue: str
    task: str
    model: str
    iteration: int
    outcomes: dict[int, str] = field(default_factory=dict)
    reported: dict[int, str] = field(default_factory=dict)
    scored: ScoredDialogue | None = None

    @property
    def badness(self) -> tuple[bool, float]:
        """A sort key: the worst score first, dialogues without a score last."""
        return self.scored is None, 0 if self.scored is None else self.scored.badness

    @property
    def answers(self) -> int:
        """The number of judged answers."""
        return sum(round_ >= 0 for round_ in self.outcomes)

    @property
    def outcome(self) -> str:
        """The outcomes in the order of rounds, each once, separated by commas."""
        answers = [
            fact
            for k in sorted(self.outcomes)
            if k >= 0
            for fact in Ending(self.outcomes[k], self.reported.get(k)).facts
        ]
        return ", ".join(dict.fromkeys(answers or self.outcomes.values()))

    @property
    def row(self) -> tuple[Value, ...]:
        """The values of :data:`COLUMNS`."""
        value = None if self.scored is None else self.scored.value
        metric = None if self.scored is None else self.scored.metric
        key = (self.task, self.model, self.iteration, self.dialogue)
        return (value, metric, self.outcome, *key)


_Key: TypeAlias = Callable[[JudgedDialogue], tuple[object, ...]]
SORTS: Mapping[str, _Key] = {
    "score": lambda dialogue: (dialogue.badness, dialogue.task, dialogue.model, dialogue.iteration),
    "task": lambda dialogue: (dialogue.task, dialogue.model, dialogue.iteration),
    "model": lambda dialogue: (dialogue.model, dialogue.task, dialogue.iteration),
    "outcome": lambda dialogue: (
        dialogue.outcome,
        dialogue.task,
        dialogue.model,
        dialogue.iteration,
    ),
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
    """List judged dialogues of a selection, at most ``limit``, in the order ``sort``.

    A dialogue is listed if an answer, or the dialogue as a whole, ended with ``outcome``, if its
    score by the task's main metric is less than ``below``, and if an answer contains ``text``,
    ignoring case. Raises :class:`~kgbench.errors.QueryError` for an unknown outcome or order.
    """
    if outcome is not None and outcome not in list(Outcome):
        raise QueryError(f"there is no outcome '{outcome}'; there are: {', '.join(Outcome)}")
    if sort not in SORTS:
        raise QueryError(f"dialogues cannot be sorted by '{sort}': choose {', '.join(SORTS)}")
    paths = None if text is None else with_text(store, selection, text)
    judged = judged_dialogues(store, selection)
    if below is not None:
        check_number("below", below)
    chosen = choose(judged, outcome=outcome, below=below, among=paths, sort=sort)
    page = chosen[:limit]
    hidden = len(chosen) - len(page)
    return Table(
        title=f"Dialogues found: {len(chosen)} ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(dialogue.row for dialogue in page),
        notes=(f"{hidden} more dialogues: raise the limit to see them.",) if hidden else (),
        queries=QUERIES,
        context={**selection.context, "outcome": outcome, "below": below, "search": text},
    )


def choose(
    judged: Iterable[JudgedDialogue],
    *,
    outcome: str | None = None,
    below: float | None = None,
    among: Collection[str] | None = None,
    sort: str = "score",
    reverse: bool = False,
) -> list[JudgedDialogue]:
    """Filter dialogues by outcome, score and path (``among``), and sort them by ``sort``."""
    chosen = list(judged)
    if outcome is not None:
        chosen = [
            dialogue
            for dialogue in chosen
            if outcome in (*dialogue.outcomes.values(), *dialogue.reported.values())
        ]
    if below is not None:
        chosen = [
            dialogue for dialogue in chosen if dialogue.scored and dialogue.scored.value < below
        ]
    if among is not None:
        chosen = [dialogue for dialogue in chosen if dialogue.dialogue in among]
    chosen.sort(key=lambda dialogue: (*SORTS[sort](dialogue), dialogue.dialogue), reverse=reverse)
    if reverse and sort == "score":  # those without a score stay at the end
        chosen.sort(key=lambda dialogue: dialogue.scored is None)
    return chosen


def judged_dialogues(
    store: Store, selection: Selection, dialogues: Sequence[str] | None = None
) -> list[JudgedDialogue]:
    """Return judged dialogues of a selection with outcomes and scores, in no order.

    ``dialogues`` (IRIs) restricts them to a few.
    """
    portions: list[Sequence[str] | None] = [None]
    if dialogues is not None:
        most = max(MOST_PAIRS // len(selection.pass_graphs), 1)
        portions = [dialogues[at : at + most] for at in range(0, len(dialogues), most)]
    judged: list[JudgedDialogue] = []
    for portion in portions:
        by_path = _judged(store, selection, portion)
        for value in main_values(store, selection, dialogues=portion):
            if value.dialogue in by_path:
                by_path[value.dialogue].scored = value
        judged += by_path.values()
    return judged


def worst_judged(store: Store, selection: Selection, limit: int) -> list[JudgedDialogue]:
    """Return the judged dialogues with the worst scores below a full score, in no order."""
    worst = worst_dialogues(store, selection, limit, varied=False)
    return judged_dialogues(store, selection, [store.iris.base + one.dialogue for one in worst])


def count_dialogues(store: Store, selection: Selection) -> int:
    """Return the number of valid dialogues of the runs, models and tasks of a selection."""
    selected = selection_test(store, selection)
    return sum(
        states["complete"] + states["open"]
        for cells in accounts.progress(store, selection.run_graphs).values()
        for cell, states in cells.items()
        if selected(*cell)
    )


def _judged(
    store: Store, selection: Selection, dialogues: Sequence[str] | None
) -> dict[str, JudgedDialogue]:
    """Return judged dialogues of a selection, by their paths below the base of the store."""
    selected = selection_test(store, selection)
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    by_path: dict[str, JudgedDialogue] = {}
    of_answers: dict[str, Any] = {
        "passGraph": list(selection.pass_graphs),
        "latest": selection.latest,
        "dialogue": dialogues,
        **narrowing(store, selection, dialogues),
    }
    for row in queries.run(store, "dialogue-outcomes", **of_answers):
        model, task = row["model"].value, row["task"].value
        if selected(model, task):
            path = row["dialogue"].value.removeprefix(store.iris.base)
            if path not in by_path:
                iteration = int(row["iteration"].value)
                by_path[path] = JudgedDialogue(
                    path, tasks[task].name, models.name(model), iteration
                )
            round_ = -1 if row["round"] is None else int(row["round"].value)
            by_path[path].outcomes[round_] = row["outcome"].value.removeprefix(OUTCOME)
    for row in queries.run(store, "reported-outcomes", **of_answers):
        path = row["dialogue"].value.removeprefix(store.iris.base)
        if path in by_path:
            reported = row["reported"].value.removeprefix(OUTCOME)
            by_path[path].reported[int(row["round"].value)] = reported
    return by_path


def with_text(store: Store, selection: Selection, text: str) -> set[str]:
    """Return the paths of the dialogues with ``text`` in an answer, ignoring case."""
    graphs = list(selection.run_graphs)
    rows = queries.rows(store, "dialogues-with-text", runGraph=graphs, text=text)
    return {str(dialogue).removeprefix(store.iris.base) for (dialogue,) in rows}
