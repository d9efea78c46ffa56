# SPDX-License-Identifier: Apache-2.0
"""What a run had when a session on it began: its dialogues, their turns, and what was spent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kgbench.engine.conversation import Stored
from kgbench.engine.planning import Planned
from kgbench.engine.session import Settings
from kgbench.record import accounts, invalidation, reading, turns
from kgbench.record.dialogues import dialogues
from kgbench.record.reading import DialogueState
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


@dataclass(frozen=True, slots=True)
class Found:
    """What a run's graph had when the session began.

    ``states`` are the dialogues that stand for their identity, ``closed`` those of them (by IRI)
    that are not asked again as they are, ``invalid`` how many of an identity do not count.
    """

    states: Mapping[str, DialogueState]
    closed: Collection[str]
    invalid: Mapping[str, int]
    usage: Mapping[str, accounts.Usage]

    def stored(self, planned: Planned, store: Store, graph: str, pass_graph: str) -> Stored:
        """What the graphs of the run and of its live pass have of a planned dialogue."""
        state = self.states.get(planned.digest)
        again = self.invalid.get(planned.digest, 0)
        if state is None:
            return Stored(again=again)
        if planned.tools:  # what was used of the budget counts
            (whole,) = dialogues(store, [state.iri])
            answered = tuple(turn for turn in whole.turns if turn.answer is not None)
        else:
            answered = turns.of_dialogue(store, graph, state.iri)
        calls = reading.call_counts(store, graph, state.iri)
        which = f"VALUES ?dialogue {{ <{state.iri}> }}"
        rows = store.query(fill("dialogue-evaluations.rq", graph=pass_graph, which=which))
        return Stored(answered, calls, again, {row["entity"].value for row in rows})


def found_before(store: Store, settings: Settings) -> Found:
    """What the run that ``settings`` continue has; nothing where they begin one."""
    if settings.run is None:
        return Found({}, (), {}, {})
    graph = settings.run.graph
    states = reading.all_states(store, graph)
    wrong = invalidation.invalid(store, graph)
    invalid = {d: sum(one.iri in wrong for one in found) for d, found in states.items()}
    standing = {
        digest: found[-1]
        for digest, found in states.items()
        if not (settings.redo_invalidated and found[-1].iri in wrong)
    }
    failed = () if settings.retry_errors else accounts.failed_dialogues(store, graph)
    return Found(standing, {*wrong, *failed}, invalid, accounts.usage(store, graph))
