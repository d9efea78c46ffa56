# SPDX-License-Identifier: Apache-2.0
"""Triples -> runs, passes, cases and dialogues."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from kgbench.errors import StoreError
from kgbench.model import Case, Dialogue, Json, Task
from kgbench.record import turns
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

ORIGINAL = frozenset({"live", "published", "import"})
"""The kinds of passes that judge dialogues for the first time."""
POLICY = "policy"
"""The kind of passes that judge by a comparison policy, beside the rule of the task class."""
REVIEW = "review"
"""The kind of passes in which people judge; they have no scores."""
_AT_ONCE = 500  # turns that one query names


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run that the registry makes visible."""

    iri: str
    graph: str
    label: str
    suite: str
    started: datetime
    ended: datetime | None

    @property
    def id(self) -> str:
        """The last segment of its IRI."""
        return self.iri.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class PassInfo:
    """An evaluation pass.

    ``kind`` is ``live``, ``published``, ``import``, ``reevaluation``, ``policy`` or ``review``.
    """

    iri: str
    graph: str
    kind: str
    started: datetime
    ended: datetime | None

    @property
    def id(self) -> str:
        """The last segment of its IRI."""
        return self.iri.rpartition("/")[2]


class DialogueState(NamedTuple):
    """A stored dialogue, by its plan's digest."""

    iri: str
    complete: bool


class Execution(NamedTuple):
    """One model on one task label in a run, by IRIs."""

    iri: str
    model: str
    task: str


class AnsweredDialogue(NamedTuple):
    """A complete dialogue without its texts: by IRIs, with the number of its answers."""

    iri: str
    case: str
    iteration: int
    ended: datetime
    answers: int


class Seen(NamedTuple):
    """An evaluation's IRI, its scores by metric IRI, and their decimals where these are limited."""

    evaluation: str
    scores: dict[str, float]
    decimals: int | None = None


class SeenEvaluation(NamedTuple):
    """An evaluation: of which answer of a dialogue (or the whole), with how many decimals."""

    iri: str
    dialogue: str
    round: int | None
    decimals: int | None


PassScores: TypeAlias = dict[str, dict[int | None, Seen]]
"""What a pass saw, by dialogue and round."""


class StoredPrompt(NamedTuple):
    """The first prompt of a dialogue; earlier ones sort first."""

    iteration: int
    dialogue: str
    task: str
    case: str
    text: str


def suite_prompts(store: Store, graph: str, suite: str) -> Iterator[StoredPrompt]:
    """The first prompts of the dialogues of a suite (IRI) in a run's graph."""
    for r in store.query(fill("suite-prompts.rq", graph=graph, suite=suite)):
        yield StoredPrompt(
            int(r["iteration"].value),
            r["dialogue"].value,
            r["task"].value,
            r["case"].value,
            turns.text(r["prompt"], r["original"]),
        )


def runs(store: Store) -> list[RunInfo]:
    """All visible runs, those that the store registered last first."""
    rows = store.query(fill("runs.rq", catalogue=store.iris.catalogue))
    return [
        RunInfo(
            r["run"].value,
            r["graph"].value,
            r["label"].value,
            r["suite"].value,
            _time(r["started"]),
            _maybe_time(r["ended"]),
        )
        for r in rows
    ]


def find_run(store: Store, name: str | None) -> RunInfo:
    """The run with this IRI, id (or its beginning) or label; the newest when ``name`` is ``None``.

    Raises :class:`~kgbench.errors.StoreError` naming the runs there are.
    """
    found = runs(store)
    if not found:
        raise StoreError(f"the store {store.location} holds no run yet")
    if name is None:
        return found[0]
    exact = [run for run in found if name in (run.iri, run.id)]
    matching = exact or [run for run in found if run.id.startswith(name) or run.label == name]
    if len(matching) == 1 or (matching and all(run.label == name for run in matching)):
        return matching[0]
    known = ", ".join(f"{run.id} ({run.label})" for run in found[:8])
    what = "names several runs" if matching else "names no run"
    raise StoreError(f"'{name}' {what} in {store.location}; there are: {known}")


def passes(store: Store, run: RunInfo) -> list[PassInfo]:
    """The evaluation passes over a run, in the order in which the store registered them."""
    rows = store.query(fill("passes.rq", catalogue=store.iris.catalogue, run=run.iri))
    return [
        PassInfo(
            r["pass"].value,
            r["graph"].value,
            r["kind"].value,
            _time(r["started"]),
            _maybe_time(r["ended"]),
        )
        for r in rows
    ]


def find_pass(store: Store, run: RunInfo, name: str) -> PassInfo:
    """The evaluation pass over a run with this IRI or id, or the ``latest``.

    Passes by a comparison policy must be named: they are never the latest.

    Raises :class:`~kgbench.errors.StoreError` naming the passes there are.
    """
    known = passes(store, run)
    if name == "latest":
        return [one for one in known if one.kind != POLICY][-1]
    for one in known:
        if name in (one.iri, one.id):
            return one
    ids = ", ".join(one.id for one in known)
    raise StoreError(f"the run {run.id} has no evaluation pass '{name}'; there are: {ids}")


def session_count(store: Store, run: str, graph: str) -> int:
    """How many sessions have worked on a run."""
    return len(list(store.query(fill("sessions.rq", graph=graph, run=run))))


def dialogue_states(store: Store, graph: str) -> dict[str, DialogueState]:
    """The stored dialogues of a run's graph, by the digest of their plan.

    Of several with one digest (held again after an invalidation) it is the last.
    """
    return {digest: states[-1] for digest, states in all_states(store, graph).items()}


def all_states(store: Store, graph: str) -> dict[str, list[DialogueState]]:
    """All stored dialogues of a run's graph, by the digest of their plan, as they were begun."""
    found: dict[str, list[DialogueState]] = {}
    for r in store.query(fill("run-states.rq", graph=graph)):
        state = DialogueState(r["dialogue"].value, r["ended"] is not None)
        found.setdefault(r["digest"].value, []).append(state)
    for states in found.values():
        states.sort(key=lambda state: (len(state.iri), state.iri))
    return found


def executions(store: Store, graph: str) -> list[Execution]:
    """The task executions of a run's graph."""
    rows = store.query(fill("run-executions.rq", graph=graph))
    found = [Execution(r["execution"].value, r["model"].value, r["task"].value) for r in rows]
    return sorted(found)


def call_counts(store: Store, graph: str, dialogue: str) -> dict[int, int]:
    """How many calls each turn of a dialogue has had, by round."""
    rows = store.query(fill("calls.rq", graph=graph, dialogue=dialogue))
    return {int(r["round"].value): int(r["calls"].value) for r in rows}


def answered(store: Store, graph: str, turns: Sequence[str]) -> list[str]:
    """Those of ``turns`` (IRIs) of a run's graph that have an answer."""
    found = []
    for begin in range(0, len(turns), _AT_ONCE):
        answers = " ".join(f"<{turn}/answer>" for turn in turns[begin : begin + _AT_ONCE])
        rows = store.query(fill("answered.rq", graph=graph, answers=answers))
        found += [row["answer"].value.removesuffix("/answer") for row in rows]
    return found


def execution_dialogues(store: Store, graph: str, execution: Execution, run: str) -> list[Dialogue]:
    """All dialogues of a task execution with their answered turns, by iteration.

    Two queries, however many dialogues there are; calls, tokens and tool uses are left out. Whole
    dialogues are read by :func:`kgbench.record.dialogues.dialogues`.
    """
    answered = turns.of_execution(store, graph, execution.iri)
    found = []
    for row in store.query(fill("execution-dialogues.rq", graph=graph, execution=execution.iri)):
        name = row["dialogue"].value
        found.append(
            Dialogue(
                iri=name,
                run=run,
                model=execution.model,
                task=execution.task,
                suite=row["suite"].value,
                case=row["case"].value,
                iteration=int(row["iteration"].value),
                digest=row["digest"].value,
                turns=answered.get(name, ()),
                started=_time(row["started"]),
                ended=_maybe_time(row["ended"]),
            )
        )
    return sorted(found, key=lambda d: (d.iteration, d.iri))


def answered_dialogues(
    store: Store, graph: str, execution: Execution
) -> Iterator[AnsweredDialogue]:
    """The complete dialogues of a task execution that have an answer, in no order."""
    for row in store.query(fill("answered-dialogues.rq", graph=graph, execution=execution.iri)):
        yield AnsweredDialogue(
            row["dialogue"].value,
            row["case"].value,
            int(row["iteration"].value),
            _time(row["ended"]),
            int(row["answers"].value),
        )


def execution_infos(
    store: Store, graph: str, execution: Execution
) -> Iterator[tuple[str, dict[str, Json]]]:
    """What the pass in ``graph`` noted about each answer of a task execution, with its dialogue."""
    rows = store.query(
        fill(
            "execution-infos.rq",
            **{"pass": graph},
            model=execution.model,
            task=execution.task,
        )
    )
    for dialogue, infos in rows:
        yield dialogue.value, json.loads(infos.value)


def latest_evaluations(
    store: Store, run: RunInfo, read: Mapping[str, PassScores]
) -> dict[tuple[str, int | None], str]:
    """The latest evaluation (IRI) of each dialogue and round of a run, whichever pass it is in.

    Those by a comparison policy are no revisions of others, and are left out.

    ``read`` has what :func:`pass_scores` gave for graphs that were read before.
    """
    found: dict[tuple[str, int | None], str] = {}
    for one in passes(store, run):
        if one.kind == POLICY:
            continue
        if one.graph in read:
            for dialogue, rounds in read[one.graph].items():
                found |= {(dialogue, k): seen.evaluation for k, seen in rounds.items()}
            continue
        for evaluation in pass_evaluations(store, one.graph):
            found[evaluation.dialogue, evaluation.round] = evaluation.iri
    return found


def pass_evaluations(store: Store, graph: str) -> Iterator[SeenEvaluation]:
    """Every evaluation of the pass in ``graph``, without its scores."""
    for iri, dialogue, *numbers in store.query(fill("pass-evaluations.rq", **{"pass": graph})):
        k, decimals = (None if one is None else int(one.value) for one in numbers)
        yield SeenEvaluation(iri.value, dialogue.value, k, decimals)


def pass_scores(store: Store, graph: str) -> PassScores:
    """Every evaluation of the pass in ``graph`` with its scores, by dialogue and round."""
    scores: dict[str, dict[str, float]] = {}
    for evaluation, metric, value in store.query(fill("pass-scores.rq", **{"pass": graph})):
        scores.setdefault(evaluation.value, {})[metric.value] = float(value.value)
    found: PassScores = {}
    for one in pass_evaluations(store, graph):
        seen = Seen(one.iri, scores.get(one.iri, {}), one.decimals)
        found.setdefault(one.dialogue, {})[one.round] = seen
    return found


def case(store: Store, iri: str) -> Case:
    """A case with its data; raises :class:`~kgbench.errors.StoreError` when it is not there."""
    rows = list(store.query(fill("case.rq", catalogue=store.iris.catalogue, case=iri)))
    if not rows:
        raise StoreError(f"the case {iri} is not in the catalogue of {store.location}")
    r = rows[0]
    return Case(
        iri=iri,
        suite=r["suite"].value.rpartition("/")[2],
        task_class=r["class"].value,
        parameters=json.loads(r["parameters"].value),
        data=json.loads(r["data"].value),
        digest=r["digest"].value,
        uid=None if r["uid"] is None else r["uid"].value,
    )


def task(store: Store, iri: str) -> Task:
    """A parametrised task; raises :class:`~kgbench.errors.StoreError` when it is not there."""
    rows = list(store.query(fill("task.rq", catalogue=store.iris.catalogue, task=iri)))
    if not rows:
        raise StoreError(f"the task {iri} is not in the catalogue of {store.location}")
    r = rows[0]
    return Task(
        iri=iri,
        label=r["label"].value,
        task_class=r["class"].value,
        version=r["version"].value,
        parameters=json.loads(r["parameters"].value),
    )


def class_metrics(store: Store, task: Task) -> set[str]:
    """The metrics (IRIs) that the store knows of the class and version of ``task``."""
    iri = store.iris.mint("taskClass", task_class=task.task_class, version=task.version)
    rows = store.query(fill("class-metrics.rq", catalogue=store.iris.catalogue, **{"class": iri}))
    return {r["metric"].value for r in rows}


def model_labels(store: Store) -> dict[str, str]:
    """The label of every model in the catalogue, by IRI (an id where nobody chose a label)."""
    rows = store.query(fill("models.rq", catalogue=store.iris.catalogue))
    return {r["model"].value: r["label"].value for r in rows}


def _time(literal: Any) -> datetime:
    return datetime.fromisoformat(literal.value)


def _maybe_time(literal: Any) -> datetime | None:
    return None if literal is None else _time(literal)
