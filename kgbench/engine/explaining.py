# SPDX-License-Identifier: Apache-2.0
"""Why a dialogue of a plan would be held (again), though the run has others that look like it."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgbench import config
from kgbench.engine import planning, published
from kgbench.engine.planning import Planned
from kgbench.model import Json, Plan
from kgbench.rdf import canonical_json
from kgbench.record import accounts, identity, invalidation, reading
from kgbench.record.identity import Ingredients
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import DIGEST_SCHEME
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Change:
    """An ingredient of the identity that differs, as it was stored and as it is planned."""

    ingredient: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one planned dialogue is not done.

    ``why`` is ``failed`` (``detail`` has the provider's words), ``interrupted``, ``changed``
    (``changes`` against the stored ``dialogue``), ``new model``, ``new task`` or
    ``new iteration``; or ``invalidated``, and then it is held only when that is asked for.
    """

    model: str
    task: str
    iteration: int
    why: str
    dialogue: str | None = None
    detail: str | None = None
    changes: tuple[Change, ...] = ()


def stored_plan(store: Store, run: RunInfo) -> Plan:
    """The plan that the newest configuration of a run makes today.

    Raises :class:`~kgbench.errors.StoreError` for a run without one, and
    :class:`~kgbench.errors.ConfigurationError` where it no longer is one.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "configuration.ttl"
        path.write_text(identity.last_configuration(store, run), encoding="utf-8")
        return config.load(path)


def reasons(store: Store, run: RunInfo, plan: Plan) -> Iterator[Reason]:
    """Every dialogue of ``plan`` that is not complete in ``run``, and why it would be held."""
    states = reading.dialogue_states(store, run.graph)
    failed = accounts.failed_dialogues(store, run.graph)
    invalid = invalidation.invalid(store, run.graph)
    known = _Known(store, run)
    asked = published.asked(store, plan, endpoint=True).exercises
    for model in plan.models:
        for planned in planning.planned(plan, asked, model):
            state = states.get(planned.digest)
            if state is None:
                yield known.missing(planned)
            elif state.iri in invalid:
                yield _reason(planned, "invalidated", dialogue=state.iri)
            elif not state.complete:
                error = failed.get(state.iri)
                why = "interrupted" if error is None else "failed"
                yield _reason(planned, why, dialogue=state.iri, detail=error)


class _Known:
    """The identities in a run, by what they are compared with."""

    def __init__(self, store: Store, run: RunInfo) -> None:
        self._store = store
        self._like: dict[tuple[str, int], list[Ingredients]] = defaultdict(list)
        self._models: set[str] = set()
        self._labels: set[tuple[str, str]] = set()
        for one in identity.ingredients(store, run.graph):
            self._like[one.label, one.iteration].append(one)
            for name in (one.model_id, one.model_label):
                self._models.add(name)
                self._labels.add((name, one.label))

    def missing(self, planned: Planned) -> Reason:
        """Why ``planned``, which is not stored, is not the same as what is."""
        label, model = planned.exercise.task.label, planned.model
        names = {model.model_id, model.label}
        like = [
            (self._changes(one, planned), one)
            for one in self._like[label, planned.iteration]
            if names & {one.model_id, one.model_label}
        ]
        if like:
            changes, nearest = min(like, key=lambda found: (len(found[0]), found[1].dialogue))
            return _reason(planned, "changed", dialogue=nearest.dialogue, changes=changes)
        if not names & self._models:
            return _reason(planned, "new model")
        if not any((name, label) in self._labels for name in names):
            return _reason(planned, "new task")
        return _reason(planned, "new iteration")

    def _changes(self, stored: Ingredients, planned: Planned) -> tuple[Change, ...]:
        exercise, model = planned.exercise, planned.model
        task = exercise.task
        of_class = self._store.iris.mint(
            "taskClass", task_class=task.task_class, version=task.version
        )
        pairs = (
            ("digest scheme", stored.scheme, DIGEST_SCHEME),
            ("task version", stored.task_class, of_class),
            ("task parameters", stored.parameters, dict(task.parameters)),
            ("case", stored.case, exercise.case.digest),
            ("prompt", stored.prompt, exercise.prompt_digest),
            ("sampling", stored.asked, {**model.options, **model.sampling}),
            ("model", stored.model, model.iri),
        )
        found = [Change(*p) for p in pairs if canonical_json(p[1]) != canonical_json(p[2])]
        if any(change.ingredient == "sampling" for change in found):
            found = [change for change in found if change.ingredient != "model"]
        return tuple(found)


def _reason(
    planned: Planned,
    why: str,
    *,
    dialogue: str | None = None,
    detail: str | None = None,
    changes: tuple[Change, ...] = (),
) -> Reason:
    task = planned.exercise.task.label
    return Reason(planned.model.label, task, planned.iteration, why, dialogue, detail, changes)
