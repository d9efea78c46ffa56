# SPDX-License-Identifier: Apache-2.0
"""The stored state of a run at the beginning of a session: dialogues, turns and spending."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.session import Settings
from kgbench.model import Turn
from kgbench.record import accounts, invalidation, reading
from kgbench.record.dialogues import dialogues
from kgbench.record.reading import DialogueState
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

_TOO_LONG = "the conversation was too long, and is repeated as requested (--retry-errors)"


@dataclass(frozen=True, slots=True)
class StoredDialogue:
    """The stored part of a dialogue: its answered turns, and the number of calls per round.

    ``evaluations`` are the IRIs of the stored evaluations of its answers. ``again`` is the number
    of invalidated dialogues with the same identity.
    """

    turns: Sequence[Turn] = ()
    calls: Mapping[int, int] = field(default_factory=dict)
    again: int = 0
    evaluations: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class RunState:
    """The content of a run's graph at the beginning of a session.

    ``states`` are the current dialogues by their identity (digest), ``closed`` the IRIs of
    dialogues that are not continued, ``invalidated`` those of invalidated ones, ``invalid`` the
    number of invalidated dialogues per identity, ``usage`` the tokens by model IRI. ``outdated``
    are the IRIs of complete dialogues that are to be repeated, by identity.
    """

    states: Mapping[str, DialogueState] = field(default_factory=dict)
    closed: Collection[str] = ()
    invalidated: Collection[str] = ()
    invalid: Mapping[str, int] = field(default_factory=dict)
    usage: Mapping[str, accounts.Usage] = field(default_factory=dict)
    outdated: Mapping[str, str] = field(default_factory=dict)

    def stored(self, planned: PlannedDialogue, store: Store, pass_graph: str) -> StoredDialogue:
        """Read the stored part of a planned dialogue, with its evaluations of the live pass."""
        state = self.states.get(planned.digest)
        again = self.invalid.get(planned.digest, 0)
        if state is None:
            return StoredDialogue(again=again)
        (dialogue,) = dialogues(store, [state.iri])
        answered = tuple(turn for turn in dialogue.turns if turn.answer is not None)
        calls = {k: len(turn.calls) for k, turn in enumerate(dialogue.turns)}
        values = f"VALUES ?dialogue {{ <{state.iri}> }}"
        rows = store.query(fill("dialogue-evaluations.rq", graph=pass_graph, which=values))
        return StoredDialogue(answered, calls, again, {row["entity"].value for row in rows})


def load_run_state(store: Store, settings: Settings) -> RunState:
    """Read the state of the run that ``settings`` continue; it is empty for a new run."""
    if settings.run is None:
        return RunState()
    graph = settings.run.graph
    states = reading.all_states(store, graph)
    invalidated = reading.invalid(store, graph)
    again = _overflowed(store, graph) if settings.retry_errors else set()
    outdated = {
        digest: group[-1].iri
        for digest, group in states.items()
        if group[-1].iri in again and group[-1].iri not in invalidated
    }
    invalid = {
        digest: sum(dialogue.iri in invalidated for dialogue in group) + (digest in outdated)
        for digest, group in states.items()
    }
    if settings.redo_invalidated:
        again |= set(invalidated)
    current = {digest: group[-1] for digest, group in states.items() if group[-1].iri not in again}
    failed = () if settings.retry_errors is not False else accounts.failed_dialogues(store, graph)
    closed = {*invalidated, *failed}
    return RunState(current, closed, invalidated, invalid, accounts.usage(store, graph), outdated)


def invalidate_outdated(
    store: Store, settings: Settings, state: RunState, planned: Iterable[PlannedDialogue]
) -> None:
    """Invalidate the outdated dialogues among those ``planned``, which are repeated."""
    if settings.run is None or not state.outdated:
        return
    digests = {dialogue.digest for dialogue in planned}
    iris = [iri for digest, iri in state.outdated.items() if digest in digests]
    if iris:
        graph_of = dict.fromkeys(iris, settings.run.graph)
        invalidation.invalidate_dialogues(store, graph_of, _TOO_LONG, "kgbench run")


def _overflowed(store: Store, graph: str) -> set[str]:
    """Return the dialogues that ended because the conversation was too long for the model."""
    rows = store.query(fill("overflowed-dialogues.rq", graph=graph))
    return {row["dialogue"].value for row in rows}
