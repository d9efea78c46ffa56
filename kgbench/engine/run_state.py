# SPDX-License-Identifier: Apache-2.0
"""The stored state of a run at the beginning of a session: dialogues, turns and spending."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgbench.engine.calls import CHARACTERS_PER_TOKEN
from kgbench.engine.conversation import StoredDialogue
from kgbench.engine.planning import PlannedDialogue
from kgbench.engine.session import Settings
from kgbench.record import accounts, reading, turns
from kgbench.record.dialogues import dialogues
from kgbench.record.reading import DialogueState
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


@dataclass(frozen=True, slots=True)
class RunState:
    """The content of a run's graph at the beginning of a session.

    ``states`` are the current dialogues by their identity (digest), ``closed`` the IRIs of
    dialogues that are not continued, ``invalidated`` those of invalidated ones, ``invalid`` the
    number of invalidated dialogues per identity, ``usage`` the tokens by model IRI.
    """

    states: Mapping[str, DialogueState]
    closed: Collection[str]
    invalidated: Collection[str]
    invalid: Mapping[str, int]
    usage: Mapping[str, accounts.Usage]

    def stored(
        self, planned: PlannedDialogue, store: Store, graph: str, pass_graph: str
    ) -> StoredDialogue:
        """Read the stored part of a planned dialogue from the graphs of run and live pass."""
        state = self.states.get(planned.digest)
        again = self.invalid.get(planned.digest, 0)
        if state is None:
            return StoredDialogue(again=again)
        if planned.tools:  # tool calls of earlier sessions count against the budget
            (dialogue,) = dialogues(store, [state.iri])
            answered = tuple(turn for turn in dialogue.turns if turn.answer is not None)
        else:
            answered = turns.of_dialogue(store, graph, state.iri)
        calls = reading.call_counts(store, graph, state.iri)
        values = f"VALUES ?dialogue {{ <{state.iri}> }}"
        rows = store.query(fill("dialogue-evaluations.rq", graph=pass_graph, which=values))
        return StoredDialogue(answered, calls, again, {row["entity"].value for row in rows})


def load_run_state(store: Store, settings: Settings) -> RunState:
    """Read the state of the run that ``settings`` continue; it is empty for a new run."""
    if settings.run is None:
        return RunState({}, (), (), {}, {})
    graph = settings.run.graph
    states = reading.all_states(store, graph)
    invalidated = reading.invalid(store, graph)
    invalid = {
        digest: sum(dialogue.iri in invalidated for dialogue in group)
        for digest, group in states.items()
    }
    current = {
        digest: group[-1]
        for digest, group in states.items()
        if not (settings.redo_invalidated and group[-1].iri in invalidated)
    }
    failed = () if settings.retry_errors else accounts.failed_dialogues(store, graph)
    closed = {*invalidated, *failed}
    return RunState(current, closed, invalidated, invalid, accounts.usage(store, graph))


def uncounted_tokens(store: Store, settings: Settings, state: RunState) -> dict[str, int]:
    """Return about how many tokens answers without counts have, by model IRI.

    This reads the texts of such answers, and is needed only where a limit counts them.
    """
    if settings.run is None or not any(used.uncounted for used in state.usage.values()):
        return {}
    characters = accounts.uncounted_characters(store, settings.run.graph)
    return {model: number // CHARACTERS_PER_TOKEN for model, number in characters.items()}
