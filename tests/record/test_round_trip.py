# SPDX-License-Identifier: Apache-2.0
"""Recorded dialogues are read back unchanged, with any texts, failures and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench import config
from kgbench.connectors import extraction
from kgbench.model import Call, Dialogue, Evaluation, Outcome, Reply, Turn, Usage
from kgbench.rdf import digest, queries, storable
from kgbench.rdf.quads import IndexedQuads
from kgbench.record import reading
from kgbench.record.dialogues import dialogues
from kgbench.record.recorder import Recorder, case_entry, model_entry, task_entry
from kgbench.software import this_software
from kgbench.store import Block, EmbeddedStore
from kgbench.tasks import catalogue
from kgbench.validation import Data, result_shapes
from kgbench.validation.checking import validate_node
from kgbench.validation.compiling import Shape
from kgbench.vocab import KGB, OUTCOME

TASK = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
(CASE,) = catalogue.module(TASK.task_class).cases(TASK, "kgbench-1", 0, 1)
METRICS = [metric.iri for metric in catalogue.task_class(TASK.task_class).answer_metrics.values()]
MODEL = config.model_setup("baseline:silent")
NAMES = ("a-run", "a-pass")
BEGAN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

ODD = "\x00\x01\x08\t\n\r\x1f\x7f\x85\u2028\ufeff\ufffe\ud800\udbff\udc00\udfff\U0001f600\"\\'<>"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(), max_size=12)
COUNTS = st.none() | st.integers(0, 10**12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)  # JSON has neither
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FAILURES = [
    *(Outcome.PROVIDER_ERROR, Outcome.TIMEOUT, Outcome.CONTEXT_TOO_LONG),
    *(Outcome.REFUSED, Outcome.TRUNCATED),
]
REPLIES = st.builds(
    Reply,
    TEXTS,
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    model=st.none() | TEXTS,
    finish_reason=st.none() | TEXTS,
    request_id=st.none() | TEXTS,
    reasoning=st.none() | TEXTS,
    fingerprint=st.none() | TEXTS,
    outcome=st.sampled_from([None, Outcome.REFUSED, Outcome.TRUNCATED]),
) | st.builds(Reply, TEXTS, extracted=TEXTS, extraction=st.just(extraction.iri("think-block/1")))
STEPS = st.timedeltas(timedelta(0), timedelta(days=2))
FAILED = st.builds(
    lambda *parts: parts, st.just(None), st.sampled_from(FAILURES), TEXTS, st.integers(0, 9)
)
ANSWERED = st.builds(lambda *parts: parts, REPLIES, st.none(), st.none(), st.integers(0, 9))


@st.composite
def calls(draw: Any, answered: bool) -> tuple[Call, ...]:
    """Draw failed calls and perhaps a final reply; each call starts after the previous one."""
    parts = draw(st.lists(FAILED, min_size=0 if answered else 1, max_size=2))
    made, now = [], BEGAN
    for reply, failure, error, retries in [*parts, *([draw(ANSWERED)] if answered else [])]:
        started = now + draw(STEPS)
        now = started + draw(STEPS)
        made.append(Call(started, now, reply, failure, error, retries))
    return tuple(made)


@st.composite
def turns(draw: Any) -> tuple[Turn, ...]:
    """Draw answered turns and perhaps a last one without an answer."""
    kinds = st.sampled_from([None, "syntax", "content", "format", "empty-result"])
    answered = [True] * draw(st.integers(0, 2)) + [draw(st.booleans())]
    return tuple(
        Turn(draw(TEXTS), draw(calls(whole)), draw(kinds) if k else None)
        for k, whole in enumerate(answered)
    )


@pytest.fixture(scope="module")
def store() -> Iterator[EmbeddedStore]:
    """Yield a store with the task, its case and the model."""
    with EmbeddedStore(None) as made:
        lines = [
            *task_entry(made.iris, TASK),
            *case_entry(made.iris, CASE, TASK.version),
            *model_entry(MODEL),
            *this_software().entry(made.iris),
        ]
        made.write([Block(made.iris.catalogue, lines)])
        yield made


def begin(store: EmbeddedStore) -> tuple[Recorder, Dialogue]:
    """Start the only run of a store; return its recorder and a dialogue without turns."""
    recorder = Recorder(store.iris, *NAMES)
    store.drop([recorder.run_graph, recorder.pass_graph])
    suite = store.iris.mint("suite", suite=CASE.suite)
    agent = this_software().iri(store.iris)
    execution = recorder.execution_iri(MODEL.label, TASK.label)
    source = {"name": "a-file", "digest": digest("a file")}
    dialogue = Dialogue(
        iri=recorder.dialogue_iri(execution, 7, digest("a plan")),
        run=recorder.run,
        model=MODEL.iri,
        task=TASK.iri,
        suite=suite,
        case=CASE.iri,
        iteration=7,
        digest=digest("a plan"),
        started=BEGAN,
    )
    lines = recorder.execution_triples(execution, MODEL.iri, TASK.iri)
    lines += recorder.dialogue_start(dialogue, BEGAN)
    store.write(
        [
            *recorder.run_blocks(
                label="A run", suite=suite, started=BEGAN, ended=BEGAN, agent=agent, source=source
            ),
            *recorder.pass_blocks(kind="live", started=BEGAN, agent=agent, engine="oxigraph"),
            Block(recorder.run_graph, lines),
        ]
    )
    return recorder, dialogue


def as_read(turn: Turn) -> Turn:
    """Return the part of an answered turn that judging reads."""
    reply = turn.calls[-1].reply
    assert reply is not None
    never = datetime.min.replace(tzinfo=UTC)
    said = Reply(text=reply.answer, outcome=reply.outcome)
    return Turn(turn.prompt, (Call(never, never, said),), turn.feedback)


def as_kept(turn: Turn) -> Turn:
    """Return a turn as read back; texts outside the dialogue lose their surrogates."""

    def kept(text: str | None) -> str | None:
        return None if text is None else storable(text).value

    def of(reply: Reply) -> Reply:
        return replace(
            reply,
            model=kept(reply.model),
            finish_reason=kept(reply.finish_reason),
            request_id=kept(reply.request_id),
            fingerprint=kept(reply.fingerprint),
        )

    made = (
        replace(call, reply=None if call.reply is None else of(call.reply), error=kept(call.error))
        for call in turn.calls
    )
    return replace(turn, calls=tuple(made))


def facts(call: Call) -> tuple[Any, ...]:
    """Return the facts of a call that the query ``dialogue-turns`` returns."""
    reply = call.reply or Reply("")
    outcome = call.failure or reply.outcome
    return (
        call.started,
        call.ended,
        reply.usage.input,
        reply.usage.output,
        None if reply.finish_reason is None else storable(reply.finish_reason).value,
        None if outcome is None else OUTCOME + outcome,
        None if call.failure is None else storable(call.error or "").value,
    )


def told(row: Any) -> tuple[Any, ...]:
    """Return the same facts from a row of that query."""
    names = ("inputTokens", "outputTokens", "finishReason", "outcome", "error")
    given = [None if row[name] is None else row[name].value for name in names]
    times = (datetime.fromisoformat(row[name].value) for name in ("callStarted", "callEnded"))
    counts = (None if text is None else int(text) for text in given[:2])
    return (*times, *counts, *given[2:])


def quads(store: EmbeddedStore, graph: str) -> list[Any]:
    """Return the quads of one graph."""
    return list(store._store.quads_for_pattern(None, None, None, ox.NamedNode(graph)))


class Both:
    """The quads of several parts as one."""

    def __init__(self, *parts: IndexedQuads) -> None:
        self._parts = parts

    def quads_for_pattern(self, *pattern: Any) -> Iterator[Any]:
        """Yield the quads that match a pattern."""
        for part in self._parts:
            yield from part.quads_for_pattern(*pattern)


@cache
def catalogued(store: EmbeddedStore) -> tuple[IndexedQuads, list[Shape]]:
    """Return the catalogue, which no run changes, and the shapes."""
    found = IndexedQuads(quads(store, store.iris.catalogue))
    return found, result_shapes(Data(found))


def wrong(store: EmbeddedStore) -> list[str]:
    """Return the violations of the shapes in the graphs of the run and the pass."""
    recorder = Recorder(store.iris, *NAMES)
    made = [*quads(store, recorder.run_graph), *quads(store, recorder.pass_graph)]
    known, shapes = catalogued(store)
    nodes = {quad.subject for quad in made}
    data = Data(Both(known, IndexedQuads(made)))
    return [
        str(complaint)
        for shape in shapes
        for target in shape.targets
        for node in nodes.intersection(target(data))
        for complaint in validate_node(data, shape, node)
    ]


@settings(max_examples=25)
@given(turns(), st.integers(0, 2))
def test_any_dialogue_comes_back(store, turns, before):
    """Texts, replies, failures and times of any dialogue are read back unchanged and conform."""
    recorder, dialogue = begin(store)
    for k, turn in enumerate(turns):
        dialogue = replace(dialogue, turns=(*turns[:k], turn))
        earlier = min(before, len(turn.calls) - 1)  # calls that an earlier session recorded
        for calls, number in ((turn.calls[:earlier], 0), (turn.calls[earlier:], earlier)):
            said = replace(dialogue, turns=(*turns[:k], replace(turn, calls=calls)))
            if calls:
                lines = recorder.turn(said, k, calls_before=number)
                store.write([Block(recorder.run_graph, lines)])
            recorder = Recorder(store.iris, *NAMES)
    ended = turns[-1].calls[-1].ended
    store.write([Block(recorder.run_graph, [recorder.dialogue_end(dialogue, ended)])])
    answered = tuple(as_read(turn) for turn in turns if turn.answer is not None)
    (execution,) = reading.executions(store, recorder.run_graph)
    found = reading.execution_dialogues(store, recorder.run_graph, execution, recorder.run)
    rows = list(queries.run(store, "dialogue-turns", dialogue=dialogue.iri))

    assert found == [replace(dialogue, turns=answered, ended=ended)]
    assert [told(row) for row in rows] == [facts(call) for turn in turns for call in turn.calls]
    whole = replace(dialogue, turns=tuple(map(as_kept, turns)), ended=ended)
    assert list(dialogues(store, [dialogue.iri])) == [whole]
    assert wrong(store) == []


@settings(max_examples=25)
@given(
    st.dictionaries(st.sampled_from(METRICS), st.floats(0, 1)),
    st.dictionaries(TEXTS, JSON, max_size=3),
    st.sampled_from(Outcome),
)
def test_any_verdict_comes_back(store, scores, infos, outcome):
    """Scores to the last digit, infos and the outcome of any verdict are read back unchanged."""
    recorder, dialogue = begin(store)
    call = Call(BEGAN, BEGAN, Reply("an answer"))
    dialogue = replace(dialogue, turns=(Turn("a prompt", (call,)),))
    verdicts = [
        Evaluation(
            recorder.evaluation_iri(dialogue.iri, k), dialogue.iri, k, outcome, scores, infos
        )
        for k in (0, None)
    ]
    lines = [line for one in verdicts for line in recorder.evaluation_block(one, dialogue).triples]
    store.write(
        [
            Block(recorder.run_graph, recorder.turn(dialogue, 0)),
            Block(recorder.pass_graph, lines),
        ]
    )
    (execution,) = reading.executions(store, recorder.run_graph)
    seen = reading.pass_scores(store, recorder.pass_graph)[dialogue.iri]
    (told,) = reading.execution_infos(store, recorder.pass_graph, execution)
    outcomes = store.query(
        f"SELECT ?o WHERE {{ GRAPH <{recorder.pass_graph}> {{ ?e <{KGB.outcome}> ?o }} }}"
    )

    assert {k: one.scores for k, one in seen.items()} == {0: scores, None: scores}
    assert told == (dialogue.iri, json.loads(json.dumps(infos)))  # JSON joins surrogate pairs
    assert {row["o"].value for row in outcomes} == {OUTCOME + outcome}
    assert wrong(store) == []
