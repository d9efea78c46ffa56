# SPDX-License-Identifier: Apache-2.0
"""Reads runs, passes, cases, evaluations and (in bulk) dialogues from a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from kgbench.errors import NotRecorded
from kgbench.model import Case, Dialogue, Json, Task
from kgbench.record.bulk import of_execution, of_pass, text
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

ORIGINAL = frozenset({"live", "published", "import"})
"""The kinds of passes that judge dialogues for the first time."""
POLICY = "policy"
"""The kind of passes that judge by a comparison policy instead of the task class's own rule."""
REVIEW = "review"
"""The kind of passes in which people judge; they have no scores."""
_AT_ONCE = 500  # turns that one query names


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A registered run."""

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
    """A stored dialogue, and whether it is complete."""

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


class ScoredEvaluation(NamedTuple):
    """The IRI of an evaluation, its scores by metric IRI, and their decimals, if limited."""

    evaluation: str
    scores: dict[str, float]
    decimals: int | None = None


class EvaluationInfo(NamedTuple):
    """An evaluation without its scores; ``round`` is ``None`` for the whole dialogue.

    ``decimals`` is their precision, if it is limited.
    """

    iri: str
    dialogue: str
    round: int | None
    decimals: int | None


PassScores: TypeAlias = dict[str, dict[int | None, ScoredEvaluation]]
"""The evaluations of a pass by dialogue and round."""


class StoredPrompt(NamedTuple):
    """The first prompt of a dialogue; sorts by iteration."""

    iteration: int
    dialogue: str
    task: str
    case: str
    text: str


def suite_prompts(store: Store, graph: str, suite: str) -> Iterator[StoredPrompt]:
    """Yield the first prompts of the dialogues of a suite (IRI) in a run's graph."""
    for r in store.query(fill("suite-prompts.rq", graph=graph, suite=suite)):
        yield StoredPrompt(
            int(r["iteration"].value),
            r["dialogue"].value,
            r["task"].value,
            r["case"].value,
            text(r["prompt"], r["original"]),
        )


def runs(store: Store) -> list[RunInfo]:
    """Return all registered runs, the latest registered first."""
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
    """Return the run with this IRI, id (or prefix of one) or label; by default the newest.

    Raises :class:`~kgbench.errors.NotRecorded`, which lists the existing runs.
    """
    all_runs = runs(store)
    if not all_runs:
        raise NotRecorded(f"the store {store.location} holds no run yet")
    if name is None:
        return all_runs[0]
    exact = [run for run in all_runs if name in (run.iri, run.id)]
    matching = exact or [run for run in all_runs if run.id.startswith(name) or run.label == name]
    if len(matching) == 1 or (matching and all(run.label == name for run in matching)):
        return matching[0]
    known = ", ".join(f"{run.id} ({run.label})" for run in all_runs[:8])
    what = "names several runs" if matching else "names no run"
    raise NotRecorded(f"'{name}' {what} in {store.location}; there are: {known}")


def passes(store: Store, run: RunInfo) -> list[PassInfo]:
    """Return the evaluation passes over a run, in the order of registration."""
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
    """Return the evaluation pass over a run with this IRI or id, or the ``latest``.

    Passes by a comparison policy must be named: they are never the latest.

    Raises :class:`~kgbench.errors.NotRecorded`, which lists the existing passes.
    """
    known = passes(store, run)
    if name == "latest":
        return [pass_ for pass_ in known if pass_.kind != POLICY][-1]
    for pass_ in known:
        if name in (pass_.iri, pass_.id):
            return pass_
    ids = ", ".join(pass_.id for pass_ in known)
    raise NotRecorded(f"the run {run.id} has no evaluation pass '{name}'; there are: {ids}")


def session_count(store: Store, run: str, graph: str) -> int:
    """Return the number of sessions of a run."""
    return len(list(store.query(fill("sessions.rq", graph=graph, run=run))))


def dialogue_states(store: Store, graph: str) -> dict[str, DialogueState]:
    """Return the stored dialogues of a run's graph, by the digest of their plan.

    Of several with one digest (repeated after an invalidation), the last one.
    """
    return {digest: states[-1] for digest, states in all_states(store, graph).items()}


def all_states(store: Store, graph: str) -> dict[str, list[DialogueState]]:
    """Return all stored dialogues of a run's graph, by plan digest, in order of creation."""
    by_digest: dict[str, list[DialogueState]] = {}
    for r in store.query(fill("run-states.rq", graph=graph)):
        state = DialogueState(r["dialogue"].value, r["ended"] is not None)
        by_digest.setdefault(r["digest"].value, []).append(state)
    for states in by_digest.values():
        states.sort(key=lambda state: (len(state.iri), state.iri))
    return by_digest


def invalid(store: Store, graph: str) -> set[str]:
    """Return the invalidated dialogues in a run's graph."""
    return {row["dialogue"].value for row in store.query(fill("invalid.rq", graph=graph))}


def executions(store: Store, graph: str) -> list[Execution]:
    """Return the task executions of a run's graph, sorted."""
    rows = store.query(fill("run-executions.rq", graph=graph))
    return sorted(Execution(r["execution"].value, r["model"].value, r["task"].value) for r in rows)


def answered_turns_of(store: Store, graph: str, turns: Sequence[str]) -> list[str]:
    """Return those of ``turns`` (IRIs) in a run's graph that have an answer."""
    answered_turns = []
    for begin in range(0, len(turns), _AT_ONCE):
        answers = " ".join(f"<{turn}/answer>" for turn in turns[begin : begin + _AT_ONCE])
        rows = store.query(fill("answered.rq", graph=graph, answers=answers))
        answered_turns += [row["answer"].value.removesuffix("/answer") for row in rows]
    return answered_turns


def execution_dialogues(store: Store, graph: str, execution: Execution, run: str) -> list[Dialogue]:
    """Return all dialogues of a task execution with their answered turns, by iteration.

    Two queries, however many dialogues there are; calls, tokens and tool uses are left out. Whole
    dialogues are read by :func:`kgbench.record.dialogues.dialogues`.
    """
    answered_turns_of = of_execution(store, graph, execution.iri)
    dialogues = []
    for row in store.query(fill("execution-dialogues.rq", graph=graph, execution=execution.iri)):
        name = row["dialogue"].value
        dialogues.append(
            Dialogue(
                iri=name,
                run=run,
                model=execution.model,
                task=execution.task,
                suite=row["suite"].value,
                case=row["case"].value,
                iteration=int(row["iteration"].value),
                digest=row["digest"].value,
                turns=answered_turns_of.get(name, ()),
                started=_time(row["started"]),
                ended=_maybe_time(row["ended"]),
            )
        )
    return sorted(dialogues, key=lambda d: (d.iteration, d.iri))


def answered_dialogues(
    store: Store, graph: str, execution: Execution
) -> Iterator[AnsweredDialogue]:
    """Yield the complete dialogues of a task execution that have an answer, in no order."""
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
    """Yield the infos of the pass in ``graph`` on each answer of an execution, by dialogue."""
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
    """Return the latest evaluation (IRI) of each dialogue and round of a run, over all passes.

    Evaluations by a comparison policy are not revisions of others, and are left out.

    ``read`` has the results of :func:`pass_scores` for graphs that were already read.
    """
    latest: dict[tuple[str, int | None], str] = {}
    for pass_ in passes(store, run):
        if pass_.kind == POLICY:
            continue
        if pass_.graph in read:
            for dialogue, rounds in read[pass_.graph].items():
                latest |= {(dialogue, k): seen.evaluation for k, seen in rounds.items()}
            continue
        for evaluation in pass_evaluations(store, pass_.graph):
            latest[evaluation.dialogue, evaluation.round] = evaluation.iri
    return latest


def pass_evaluations(store: Store, graph: str) -> Iterator[EvaluationInfo]:
    """Yield every evaluation of the pass in ``graph``, without scores."""
    for iri, dialogue, *numbers in store.query(fill("pass-evaluations.rq", **{"pass": graph})):
        if dialogue is not None:
            k, decimals = (None if number is None else int(number.value) for number in numbers)
            yield EvaluationInfo(iri.value, dialogue.value, k, decimals)


def pass_scores(store: Store, graph: str) -> PassScores:
    """Return every evaluation of the pass in ``graph`` with its scores, by dialogue and round."""
    scores = of_pass(store, graph)
    by_dialogue: PassScores = {}
    for judged in pass_evaluations(store, graph):
        seen = ScoredEvaluation(judged.iri, scores.get(judged.iri, {}), judged.decimals)
        by_dialogue.setdefault(judged.dialogue, {})[judged.round] = seen
    return by_dialogue


def case(store: Store, iri: str) -> Case:
    """Return a case with its data; raises :class:`~kgbench.errors.NotRecorded` if it is missing."""
    rows = list(store.query(fill("case.rq", catalogue=store.iris.catalogue, case=iri)))
    if not rows:
        raise NotRecorded(f"the case {iri} is not in the catalogue of {store.location}")
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
    """Return a parametrised task; raises :class:`~kgbench.errors.NotRecorded` if it is missing."""
    rows = list(store.query(fill("task.rq", catalogue=store.iris.catalogue, task=iri)))
    if not rows:
        raise NotRecorded(f"the task {iri} is not in the catalogue of {store.location}")
    r = rows[0]
    return Task(
        iri=iri,
        label=r["label"].value,
        task_class=r["class"].value,
        version=r["version"].value,
        parameters=json.loads(r["parameters"].value),
    )


def class_metrics(store: Store, task: Task) -> set[str]:
    """Return the metrics (IRIs) that the store has for the class and version of ``task``."""
    iri = store.iris.mint("taskClass", task_class=task.task_class, version=task.version)
    rows = store.query(fill("class-metrics.rq", catalogue=store.iris.catalogue, **{"class": iri}))
    return {r["metric"].value for r in rows}


def model_labels(store: Store) -> dict[str, str]:
    """Return the label of every model in the catalogue, by IRI (its id if it has no label)."""
    rows = store.query(fill("models.rq", catalogue=store.iris.catalogue))
    return {r["model"].value: r["label"].value for r in rows}


def _time(literal: Any) -> datetime:
    return datetime.fromisoformat(literal.value)


def _maybe_time(literal: Any) -> datetime | None:
    return None if literal is None else _time(literal)
