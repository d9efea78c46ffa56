# SPDX-License-Identifier: Apache-2.0
"""Reading incomplete records: continuing a run, reusing answers, and accounting."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kgbench.connectors import extraction
from kgbench.errors import StoreError
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.model import Call, Outcome, Reply, Turn
from kgbench.record import accounts, identity, reading, recorder
from kgbench.record.identity import ReusableAnswers
from kgbench.record.recorder import Recorder
from kgbench.software import this_software
from kgbench.store import Block, EmbeddedStore
from tests.record.test_round_trip import BEGAN, MODEL, NAMES, begin, store
from tests.support.archives import as_json, record_v3
from tests.support.runs import planned

__all__ = ["store"]  # a fixture: a store with a task, a case and a model

SECOND = timedelta(seconds=1)


def answered(prompt, text, begin=BEGAN, **reply):
    """Return a turn whose call took three seconds."""
    return Turn(prompt, (Call(begin, begin + 3 * SECOND, Reply(text, **reply)),))


def recorded(into, *turns):
    """Record a dialogue with these turns; return the recorder and the dialogue."""
    made, dialogue = begin(into)
    dialogue = replace(dialogue, turns=turns)
    lines = [line for k in range(len(turns)) for line in made.turn(dialogue, k)]
    into.write([Block(made.run_graph, lines)])
    return made, dialogue


def sessions(made, *starts):
    """Return the lines of session starts."""
    plan = planned("RdfFriendCount-turtle-1", "baseline:silent")
    agent = this_software().iri(made.iris)
    return [
        line
        for number, start in enumerate(starts)
        for line in made.session_start(number, start, agent, plan, 1)
    ]


def test_a_killed_session_worked_until_its_last_call(store):
    """A session without an end counts until its last call, and not at all without a call."""
    made, _ = recorded(store, answered("a", "b", BEGAN + 2 * SECOND))
    killed, ended, idle = BEGAN, BEGAN + 10 * SECOND, BEGAN + 60 * SECOND
    lines = sessions(made, killed, ended, idle)
    lines.append(made.session_end(1, ended + 7 * SECOND))
    store.write([Block(made.run_graph, lines)])

    assert accounts.working_seconds(store, made.run, made.run_graph) == 5 + 7 + 0


def test_a_session_killed_before_any_call_has_no_time(store):
    """A run that was killed before its first answer has a working time of 0."""
    made, _ = recorded(store)
    store.write([Block(made.run_graph, sessions(made, BEGAN))])

    assert accounts.working_seconds(store, made.run, made.run_graph) == 0


def test_an_imported_run_has_no_configuration():
    """An imported run has no configuration, and the error says why."""
    with EmbeddedStore(None) as own:
        (run,) = read_runs(ResultFile("f.json", as_json([record_v3()])), own.iris)
        load(own, run)
        (info,) = reading.runs(own)
        with pytest.raises(StoreError, match=f"{info.iri} has no configuration: it was imported"):
            identity.last_configuration(own, info)


@pytest.mark.parametrize("read", [reading.case, reading.task])
def test_what_is_not_described_is_missed(store, read):
    """An unknown case or task is refused by name, with the location of the store."""
    with pytest.raises(StoreError, match=r"https://e\.org/none is not in the catalogue of memory:"):
        read(store, "https://e.org/none")


def test_forgotten_texts_are_written_again_and_change_nothing(store, monkeypatch):
    """A text that the recorder has forgotten is written again, which does not change the graph."""
    turns = [answered(f"prompt {k % 2}", f"answer {k % 3}") for k in range(6)]
    made, dialogue = recorded(store, *turns)
    before = set(store.triples(made.run_graph))
    monkeypatch.setattr(recorder, "_REMEMBERED", 1)
    forgetful = Recorder(store.iris, *NAMES)
    lines = [line for k in range(6) for line in forgetful.turn(dialogue, k)]
    store.write([Block(made.run_graph, lines)])

    assert len(lines) > len(set(lines))
    assert set(store.triples(made.run_graph)) == before


THINKING = {"extracted": "so: b", "extraction": extraction.iri("think-block/1")}


@pytest.mark.parametrize(
    ("reply", "reasoning"),
    [({}, None), ({"reasoning": "\ud800 hm"}, "\ud800 hm"), (THINKING, None)],
)
def test_a_reused_answer_is_as_it_was_given(store, reply, reasoning):
    """A reused answer has its raw text, and its reasoning unless that can be extracted again."""
    _, dialogue = recorded(store, answered("a", "<think>hm</think>so: b", **reply))
    found = ReusableAnswers(store, [MODEL.iri], "https://e.org/another-run")
    answer, again = found.take(MODEL.iri, ["a"])

    assert answer == f"{dialogue.iri}/0/answer"
    assert (again.text, again.reasoning) == ("<think>hm</think>so: b", reasoning)
    assert found.take(MODEL.iri, ["a"]) is None
    assert found.take(MODEL.iri, ["another prompt"]) is None


def test_nothing_after_a_gap_is_reused(store):
    """An answer after a truncated one is not reused, because its messages contain that one."""
    cut = answered("a", "b", outcome=Outcome.TRUNCATED)
    recorded(store, cut, answered("c", "d", BEGAN + 5 * SECOND))
    found = ReusableAnswers(store, [MODEL.iri], "https://e.org/another-run")

    assert found.take(MODEL.iri, ["a", "b", "c"]) is None
    assert found.take(MODEL.iri, ["c"]) is None
