# SPDX-License-Identifier: Apache-2.0
"""Reasons why dialogues of a plan would be held (again) although a run has similar ones."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgbench import config
from kgbench.engine import planning
from kgbench.engine.planning import PlannedDialogue
from kgbench.model import Json, Plan
from kgbench.rdf import canonical_json
from kgbench.record import accounts, identity, reading
from kgbench.record.identity import Ingredients
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import DIGEST_SCHEME
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Change:
    """An ingredient of a dialogue's identity that differs: its stored and its planned value."""

    ingredient: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a planned dialogue is not complete.

    ``why`` is ``failed`` (``detail`` is the provider's message), ``interrupted``, ``changed``
    (``changes`` compares it with the stored ``dialogue``), ``new model``, ``new task``,
    ``new iteration`` or ``invalidated``. An invalidated dialogue is repeated on request only.
    """

    model: str
    task: str
    iteration: int
    why: str
    dialogue: str | None = None
    detail: str | None = None
    changes: tuple[Change, ...] = ()


def stored_plan(store: Store, run: RunInfo) -> Plan:
    """Load the newest configuration of a run as a plan.

    Raises :class:`~kgbench.errors.StoreError` for a run without a configuration, and
    :class:`~kgbench.errors.ConfigurationError` if it is no longer valid.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "configuration.ttl"
        path.write_text(identity.last_configuration(store, run), encoding="utf-8")
        return config.load(path)


def reasons(store: Store, run: RunInfo, plan: Plan) -> Iterator[Reason]:
    """Yield the reason for every dialogue of ``plan`` that is not complete in ``run``."""
    states = reading.dialogue_states(store, run.graph)
    failed = accounts.failed_dialogues(store, run.graph)
    invalid = reading.invalid(store, run.graph)
    known = _Identities(store, run)
    exercises = planning.plan_exercises(store, plan, endpoint=True).exercises
    for model in plan.models:
        for planned in planning.planned_dialogues(plan, exercises, model):
            state = states.get(planned.digest)
            if state is None:
                yield known.missing(planned)
            elif state.iri in invalid:
                yield _reason(planned, "invalidated", dialogue=state.iri)
            elif not state.complete:
                error = failed.get(state.iri)
                why = "interrupted" if error is None else "failed"
                yield _reason(planned, why, dialogue=state.iri, detail=error)


class _Identities:
    """The identities of the dialogues of a run, indexed for comparison."""

    def __init__(self, store: Store, run: RunInfo) -> None:
        self._store = store
        self._by_task: dict[tuple[str, int], list[Ingredients]] = defaultdict(list)
        self._labels: dict[str, set[str]] = defaultdict(set)  # of tasks, by name of the model
        for stored in identity.ingredients(store, run.graph):
            self._by_task[stored.label, stored.iteration].append(stored)
            for name in stored.models:
                self._labels[name].add(stored.label)

    def missing(self, planned: PlannedDialogue) -> Reason:
        """Return the reason why no stored dialogue is identical to ``planned``."""
        label, model = planned.exercise.task.label, planned.model
        names = {model.model_id, model.label}
        candidates = [
            (self._changes(stored, planned), stored)
            for stored in self._by_task[label, planned.iteration]
            if names & stored.models
        ]
        if candidates:
            changes, nearest = min(candidates, key=lambda one: (len(one[0]), one[1].dialogue))
            return _reason(planned, "changed", dialogue=nearest.dialogue, changes=changes)
        if not names & self._labels.keys():
            return _reason(planned, "new model")
        known = set[str]().union(*(self._labels.get(name, ()) for name in names))
        return _reason(planned, "new iteration" if label in known else "new task")

    def _changes(self, stored: Ingredients, planned: PlannedDialogue) -> tuple[Change, ...]:
        exercise, model = planned.exercise, planned.model
        task, mint = exercise.task, self._store.iris.mint
        values: dict[str, Json] = {
            "digest scheme": DIGEST_SCHEME,
            "task version": mint("taskClass", task_class=task.task_class, version=task.version),
            "task parameters": dict(task.parameters),
            "case": exercise.case.digest,
            "prompt": exercise.prompt_digest,
            "sampling": {**model.options, **model.sampling},
            "model": model.iri,
        }
        changed = [
            Change(name, stored.values[name], value)
            for name, value in values.items()
            if canonical_json(stored.values[name]) != canonical_json(value)
        ]
        # Sampling is a part of the model's IRI, too.
        sampled = any(change.ingredient == "sampling" for change in changed)
        return tuple(c for c in changed if not sampled or c.ingredient != "model")


def _reason(
    planned: PlannedDialogue,
    why: str,
    *,
    dialogue: str | None = None,
    detail: str | None = None,
    changes: tuple[Change, ...] = (),
) -> Reason:
    task = planned.exercise.task.label
    return Reason(planned.model.label, task, planned.iteration, why, dialogue, detail, changes)
