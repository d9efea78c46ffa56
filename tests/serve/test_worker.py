# SPDX-License-Identifier: Apache-2.0
"""Jobs in the worker processes of a server, run in the test's process without isolation."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import tempfile
import types

import pytest

from kgbench.children.endings import OUT_OF_MEMORY
from kgbench.errors import QueryError
from kgbench.serve import analyst, isolation, worker
from kgbench.serve.snapshot_follower import SnapshotFollower
from kgbench.vocab import BASE, KGB

SELECT = f"SELECT ?r {{ GRAPH ?g {{ ?r a <{KGB.Run}> }} }}"
EVERYTHING = "SELECT * { GRAPH ?g { ?s ?p ?o } }"


@pytest.fixture(scope="module")
def path(result_store):
    """Return the path of a snapshot."""
    return str(SnapshotFollower(str(result_store), BASE).view.path)


def framed(data):
    """Return the frames in the output of a worker: tags and payloads."""
    found = []
    while data:
        length = int.from_bytes(data[1:5], "big")
        found.append((data[:1], data[5 : 5 + length]))
        data = data[5 + length :]
    return found


@pytest.fixture
def answers(monkeypatch, path):
    """Return a function from jobs to a worker's frames; the first frame says that it is ready."""

    def said(handler, *jobs):
        basic = {
            "snapshot": path, "base": BASE, "union": True, "default": None, "named": [],
            "rows": 50, "bytes": 1 << 20, "format": "csv",
        }  # fmt: skip
        lines = b"".join(json.dumps(basic | job).encode() + b"\n" for job in jobs)
        monkeypatch.setattr(worker.sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(lines)))
        monkeypatch.setattr(worker.sys, "argv", ["worker", "0", "0"])
        monkeypatch.setattr(worker, "die_with_parent", lambda _: None)
        monkeypatch.setattr(worker, "isolate", lambda _: True)
        before, own = signal.getsignal(signal.SIGINT), os.dup(1)
        with tempfile.TemporaryFile() as output:
            os.dup2(output.fileno(), 1)
            opened, fdopen = [], os.fdopen
            monkeypatch.setattr(
                worker.os, "fdopen", lambda *a, **k: opened.append(fdopen(*a, **k)) or opened[-1]
            )
            try:
                worker.answer_jobs(handler)
            finally:
                signal.signal(signal.SIGINT, before)
                for stream in opened:  # a process closes it when it ends
                    stream.close()
                os.dup2(own, 1)
                os.close(own)
            output.seek(0)
            return framed(output.read())

    return said


def test_queries_are_answered_and_ended_by_a_frame(answers):
    """Rows, graphs, booleans and whole graphs are sent as data, and each job has an end frame."""
    ready, *found = answers(
        worker._handler(),
        {"query": SELECT},
        {"query": "ASK {}", "format": "json"},
        {"query": "CONSTRUCT { ?s a ?o } { GRAPH ?g { ?s a ?o } } LIMIT 3", "format": "nt"},
        {"query": SELECT, "default": [], "named": ["https://w3id.org/kgbench/nowhere"]},
        {"graph": f"{BASE}graph/catalogue", "format": "nt", "rows": 10**6, "bytes": 1 << 30},
        {"graph": "", "format": "nq"},
    )

    assert ready == (worker.READY, b'{"isolated": true}')
    assert [tag for tag, _ in found].count(worker.END) == 6
    data = b"".join(payload for tag, payload in found if tag == worker.DATA)
    assert b"/run/1" in data
    assert b'"boolean":true' in data
    assert data.count(b"22-rdf-syntax-ns#type") > 3
    assert not [payload for tag, payload in found if tag == worker.FAILED]


@pytest.mark.parametrize(
    ("clause", "request_graphs", "expected"),
    [
        ("", None, b"true"),
        ("FROM <{catalogue}>", None, b"true"),
        ("FROM <urn:elsewhere>", None, b"false"),
        ("FROM NAMED <{catalogue}>", None, b"false"),
        ("FROM <urn:elsewhere>", ["{catalogue}"], b"true"),
        ("FROM <{catalogue}>", ["urn:elsewhere"], b"false"),
    ],
)
def test_datasets_of_request_and_query_replace_the_union(answers, clause, request_graphs, expected):
    """The dataset of the request comes before that of the query, and that before the union."""
    catalogue = f"{BASE}graph/catalogue"
    default = request_graphs and [iri.format(catalogue=catalogue) for iri in request_graphs]
    query = f"ASK {clause.format(catalogue=catalogue)} {{ ?s ?p ?o }}"
    _, (_, payload), _ = answers(worker._handler(), {"query": query, "default": default})
    assert payload.strip() == expected


@pytest.mark.parametrize(
    ("job", "kind", "words"),
    [
        ({"query": "SELECT nothing"}, "query", "is no word of SPARQL"),
        ({"query": EVERYTHING}, "limit", "exceeds the size limit of this server"),
        ({"query": EVERYTHING, "rows": 10**6, "bytes": 99}, "limit", "size limit"),
        ({"graph": f"{BASE}graph/catalogue", "format": "nt"}, "limit", "size limit"),
        ({}, "defect", "KeyError"),
    ],
)
def test_what_fails_is_told_and_the_next_job_done(answers, job, kind, words):
    """A refusal has its kind, and the worker then runs the next job."""
    found = answers(worker._handler(), job, {"query": SELECT})
    (refused,) = [json.loads(payload) for tag, payload in found if tag == worker.FAILED]

    assert refused["kind"] == kind
    assert words in refused["message"]
    assert found[-1][0] == worker.END


@pytest.mark.parametrize(
    ("program", "job"),
    [(worker, {"query": SELECT}), (analyst, {"analysis": "models", "arguments": {}})],
)
def test_damaged_snapshot_is_no_fault_of_who_asks(answers, program, job, tmp_path):
    """A damaged snapshot is reported as a defect, and the next job opens its own."""
    damaged = tmp_path / "1"
    damaged.mkdir()
    (tmp_path / "1.lock").touch()
    (damaged / "CURRENT").write_text("nothing\n", encoding="utf-8")
    found = answers(program._handler(), {**job, "snapshot": str(damaged)}, job)
    (refused,) = [json.loads(payload) for tag, payload in found if tag == worker.FAILED]
    assert refused["kind"] == "defect"
    assert "cannot be opened" in refused["message"]
    assert [tag for tag, _ in found[-2:]] == [worker.DATA, worker.END]


def test_lack_of_memory_ends_a_worker(answers, monkeypatch):
    """A worker without memory ends with the status for it, and answers nothing more."""

    def leave(status):
        raise SystemExit(status)

    def hungry(_, stream):
        worker.send(stream, worker.DATA, b"begun")
        raise MemoryError

    monkeypatch.setattr(worker.os, "_exit", leave)
    with pytest.raises(SystemExit) as ended:
        answers(hungry, {}, {})
    assert ended.value.code == OUT_OF_MEMORY


def test_worker_whose_parent_is_gone_ends(answers):
    """A worker whose output is closed ends without running further jobs."""
    jobs = []

    def unread(job, _):
        jobs.append(job)
        raise BrokenPipeError

    assert [tag for tag, _ in answers(unread, {}, {})] == [worker.READY]
    assert len(jobs) == 1


def test_unknown_machine_is_not_isolated(monkeypatch):
    """On a machine without a known filter, the process is not isolated."""
    monkeypatch.setattr(isolation.platform, "machine", lambda: "pdp-11")
    assert isolation._close_network() is False


def test_long_messages_are_cut():
    """Long messages of a parser are truncated."""
    assert worker.parser_message(ValueError("x" * 1_000)) == "x" * 300 + " ..."
    assert worker.parser_message(ValueError("x")) == "x"


def test_analyses_are_answered(answers):
    """A result is pickled; missing resources are distinguished from defects."""
    found = answers(
        analyst._handler(),
        {"analysis": "models", "arguments": {}},
        {"analysis": "example", "arguments": {"parameters": {"name": "nonesuch"}}},
        {"analysis": "leaderboard", "arguments": {"unknown": 1}},
        {"analysis": "models", "arguments": {}, "snapshot": "/nowhere/at/all"},
    )
    results = [pickle.loads(payload) for tag, payload in found if tag == worker.DATA]
    kinds = [json.loads(payload)["kind"] for tag, payload in found if tag == worker.FAILED]

    assert len(results) == 1
    assert "Oracle" in str(results[0])
    assert kinds == ["missing", "defect", "defect"]
    assert worker._error_message(QueryError("no such"))["kind"] == "missing"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_refuses_what_it_names(machine):
    """The filter ends with an allow and a refusal; each named call jumps to the refusal."""
    number, calls = isolation._CALLS[machine]
    code = isolation._filter(number, calls)
    lines = [code[place : place + 8] for place in range(0, len(code), 8)]

    assert len(lines) == len(calls) + 7
    for place, call in enumerate(calls, 5):
        jump, refused = lines[place][2], int.from_bytes(lines[place][4:], "little")
        assert refused == call
        assert place + 1 + jump == len(lines) - 1
