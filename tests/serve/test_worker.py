# SPDX-License-Identifier: Apache-2.0
"""Jobs in the worker processes of a server, run in the test's process without isolation."""

from __future__ import annotations

import json
import pickle

import pytest

from kgbench.children import lockdown
from kgbench.serve import worker
from kgbench.serve.service import SnapshotFollower
from kgbench.vocab import BASE, KGB

SELECT = f"SELECT ?r {{ GRAPH ?g {{ ?r a <{KGB.Run}> }} }}"
SUITE = f"{BASE}suite/kgbench-1"
EVERYTHING = "SELECT * { GRAPH ?g { ?s ?p ?o } }"


@pytest.fixture(scope="module")
def path(result_store):
    """Return the path of a snapshot."""
    return str(SnapshotFollower(str(result_store), BASE).view.path)


@pytest.fixture
def answers(path, monkeypatch):
    """Return a function from jobs to a worker's frames: tags and payloads."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # as the worker does, undone at the end

    def said(*jobs):
        basic = {
            "snapshot": path, "base": BASE, "union": True, "default": None, "named": [],
            "rows": 50, "bytes": 1 << 20, "format": "csv",
        }  # fmt: skip
        sent = []
        handle = worker.prepare({"niceness": 0})
        for job in jobs:
            handle(pickle.dumps(basic | job), sent.append)
        return [(frame[:1], frame[1:]) for frame in sent]

    return said


def failures(found):
    """Return what failed, from the frames of a worker."""
    return [json.loads(payload) for tag, payload in found if tag == worker.FAILED]


def test_queries_are_answered_and_ended_by_a_frame(answers):
    """Rows, graphs, booleans and whole graphs are sent as data, and each job has an end frame."""
    found = answers(
        {"query": SELECT},
        {"query": "ASK {}", "format": "json"},
        {"query": "CONSTRUCT { ?s a ?o } { GRAPH ?g { ?s a ?o } } LIMIT 3", "format": "nt"},
        {"query": SELECT, "default": [], "named": ["https://w3id.org/kgbench/nowhere"]},
        {"graph": f"{BASE}graph/catalogue", "format": "nt", "rows": 10**6, "bytes": 1 << 30},
        {"graph": "", "format": "nq"},
    )

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
    (_, payload), _ = answers({"query": query, "default": default})
    assert payload.strip() == expected


@pytest.mark.parametrize(
    ("job", "status", "words"),
    [
        ({"query": "SELECT nothing"}, 400, "is no word of SPARQL"),
        ({"query": f"ASK {{ {'x' * 900} }}"}, 400, " ..."),
        ({"query": EVERYTHING}, 503, "exceeds the size limit of this server"),
        ({"query": EVERYTHING, "rows": 10**6, "bytes": 99}, 503, "size limit"),
        ({"graph": f"{BASE}graph/catalogue", "format": "nt"}, 503, "size limit"),
        ({"analysis": "example", "arguments": {"parameters": {"name": "x"}}}, 404, "x"),
        ({"read": "admit", "arguments": ["DROP ALL"]}, 400, "changes data"),
        ({"read": "admit", "arguments": ["ASK { " + "1 " * 200_000]}, 413, "reads no more"),
    ],
)
def test_what_is_refused_is_told_and_the_next_job_done(answers, job, status, words):
    """A refusal has its status, and the worker then runs the next job."""
    found = answers(job, {"query": SELECT})
    (refused,) = failures(found)

    assert (refused["status"], refused["defect"]) == (status, None)
    assert words in refused["message"]
    assert found[-1][0] == worker.END


@pytest.mark.parametrize("job", [{}, {"analysis": "leaderboard", "arguments": {"unknown": 1}}])
def test_a_defect_is_not_told_to_clients(answers, job):
    """A fault of the server gets 503 without its reason, which is for the log."""
    (refused,) = failures(answers(job))
    assert refused["status"] == 503
    assert "server's log says more" in refused["message"]
    assert "Error" in refused["defect"] or "StopIteration" in refused["defect"]


@pytest.mark.parametrize(
    "job", [{"query": SELECT}, {"analysis": "choices", "arguments": {"suite": SUITE}}]
)
def test_damaged_snapshot_is_no_fault_of_who_asks(answers, job, tmp_path):
    """A damaged snapshot is reported as a defect, and the next job opens its own."""
    damaged = tmp_path / "1"
    damaged.mkdir()
    (tmp_path / "1.lock").touch()
    (damaged / "CURRENT").write_text("nothing\n", encoding="utf-8")
    found = answers({**job, "snapshot": str(damaged)}, job)
    (refused,) = failures(found)
    assert "cannot be opened" in refused["defect"]
    assert [tag for tag, _ in found[-2:]] == [worker.DATA, worker.END]


@pytest.mark.parametrize("error", [MemoryError, BrokenPipeError])
def test_what_ends_a_worker_is_not_answered(answers, monkeypatch, error):
    """A lack of memory and a closed pipe are left to the loop around the jobs."""

    def failing(*_):
        raise error

    monkeypatch.setitem(worker._ON_SNAPSHOTS, "query", failing)
    with pytest.raises(error):
        answers({"query": SELECT})


def test_unknown_machine_is_not_isolated(monkeypatch):
    """On a machine without a known filter, the process is not isolated."""
    monkeypatch.setattr(lockdown.platform, "machine", lambda: "pdp-11")
    assert lockdown._close_network() is False


def test_analyses_and_parsing_have_results(answers):
    """The result of an analysis is pickled, that of parsing is JSON."""
    found = answers(
        {"analysis": "choices", "arguments": {"suite": SUITE}},
        {"read": "admit", "arguments": ["ASK {}"]},
    )
    models, admitted = [payload for tag, payload in found if tag == worker.DATA]

    assert "Oracle" in str(pickle.loads(models))
    assert json.loads(admitted) == ["ASK", None, True]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_refuses_what_it_names(machine):
    """The filter ends with an allow and a refusal; each named call jumps to the refusal."""
    number, calls = lockdown._CALLS[machine]
    code = lockdown._filter(number, calls)
    lines = [code[place : place + 8] for place in range(0, len(code), 8)]

    assert len(lines) == len(calls) + 7
    for place, call in enumerate(calls, 5):
        jump, refused = lines[place][2], int.from_bytes(lines[place][4:], "little")
        assert refused == call
        assert place + 1 + jump == len(lines) - 1
