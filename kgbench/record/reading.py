# SPDX-License-Identifier: Apache-2.0
"""Triples -> runs, passes, cases and dialogues."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from kgbench.errors import StoreError
from kgbench.model import Call, Case, Dialogue, Json, Outcome, Reply, Task, Turn
from kgbench.rdf import original_text
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import OUTCOME

_NEVER = datetime.min.replace(tzinfo=UTC)  # when something was said does not matter to a judge


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
    """An evaluation pass; ``kind`` is ``live``, ``published`` or ``reevaluation``."""

    iri: str
    graph: str
    kind: str
    started: datetime
    ended: datetime | None


class DialogueState(NamedTuple):
    """A stored dialogue, by its plan's digest."""

    iri: str
    complete: bool


class Execution(NamedTuple):
    """One model on one task label in a run, by IRIs."""

    iri: str
    model: str
    task: str


class Seen(NamedTuple):
    """An evaluation's IRI and its scores by metric IRI."""

    evaluation: str
    scores: dict[str, float]


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
            _text(r["prompt"], r["original"]),
        )


def runs(store: Store) -> list[RunInfo]:
    """All visible runs, newest first."""
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
    """The evaluation passes over a run, in the order of their start."""
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


def stored_turns(store: Store, graph: str, dialogue: str) -> tuple[Turn, ...]:
    """The answered turns of a dialogue, in order."""
    rows = store.query(fill("dialogue-turns.rq", graph=graph, dialogue=dialogue))
    by_round = {int(round_.value): _turn(*said) for round_, *said in rows}
    return tuple(by_round[k] for k in sorted(by_round))


def execution_dialogues(store: Store, graph: str, execution: Execution, run: str) -> list[Dialogue]:
    """All dialogues of a task execution with their answered turns, by iteration."""
    turns: dict[str, dict[int, Turn]] = {}
    rows = store.query(fill("execution-turns.rq", graph=graph, execution=execution.iri))
    for dialogue, round_, *said in rows:
        turns.setdefault(dialogue.value, {})[int(round_.value)] = _turn(*said)
    found = []
    for row in store.query(fill("execution-dialogues.rq", graph=graph, execution=execution.iri)):
        name = row["dialogue"].value
        answered = turns.get(name, {})
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
                turns=tuple(answered[k] for k in sorted(answered)),
                started=_time(row["started"]),
                ended=_maybe_time(row["ended"]),
            )
        )
    return sorted(found, key=lambda d: (d.iteration, d.iri))


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

    ``read`` has what :func:`pass_scores` gave for graphs that were read before.
    """
    found: dict[tuple[str, int | None], str] = {}
    for one in passes(store, run):
        if one.graph in read:
            for dialogue, rounds in read[one.graph].items():
                found |= {(dialogue, k): seen.evaluation for k, seen in rounds.items()}
            continue
        rows = store.query(fill("pass-evaluations.rq", **{"pass": one.graph}))
        for evaluation, dialogue, round_ in rows:
            k = None if round_ is None else int(round_.value)
            found[dialogue.value, k] = evaluation.value
    return found


def pass_scores(store: Store, graph: str) -> PassScores:
    """Every evaluation of the pass in ``graph`` with its scores, by dialogue and round."""
    scores: dict[str, dict[str, float]] = {}
    for evaluation, metric, value in store.query(fill("pass-scores.rq", **{"pass": graph})):
        scores.setdefault(evaluation.value, {})[metric.value] = float(value.value)
    found: PassScores = {}
    rows = store.query(fill("pass-evaluations.rq", **{"pass": graph}))
    for evaluation, dialogue, round_ in rows:
        name = evaluation.value
        k = None if round_ is None else int(round_.value)
        found.setdefault(dialogue.value, {})[k] = Seen(name, scores.get(name, {}))
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


def model_labels(store: Store) -> dict[str, str]:
    """The label of every model in the catalogue, by IRI (an id where nobody chose a label)."""
    rows = store.query(fill("models.rq", catalogue=store.iris.catalogue))
    return {r["model"].value: r["label"].value for r in rows}


def _turn(  # noqa: PLR0917 - the columns of the queries for turns, in their order
    prompt: Any, prompt_original: Any, feedback: Any, answer: Any, original: Any, said: Any
) -> Turn:
    reply = Reply(
        text=_text(answer, original),
        outcome=None if said is None else Outcome(said.value.removeprefix(OUTCOME)),
    )
    return Turn(
        prompt=_text(prompt, prompt_original),
        calls=(Call(_NEVER, _NEVER, reply),),
        feedback=None if feedback is None else feedback.value,
    )


def _text(value: Any, original: Any) -> str:
    return original_text(value.value, None if original is None else original.value)


def _time(literal: Any) -> datetime:
    return datetime.fromisoformat(literal.value)


def _maybe_time(literal: Any) -> datetime | None:
    return None if literal is None else _time(literal)
