# SPDX-License-Identifier: Apache-2.0
"""Batches for a cluster: each case is sent once, and a worker process reports missing cases."""

import pickle

from kgbench.execution.judging import JudgeLimits, JudgeRequest, ToolRequest
from kgbench.model import Case
from kgbench.plugins.dask.cluster_batches import (
    CaseCache,
    MissingCases,
    Sender,
    judge_cluster_batch,
)
from kgbench.tool_calls import ToolCall


def case(number, graph=""):
    """Return a case with a graph."""
    return Case(f"https://e.org/{number}", "s", "C", {}, {"graph": graph}, f"d{number}")


def asked(*cases):
    """Return a batch with one answer to each case."""
    return [JudgeRequest(one, (f"to {one.iri}",)) for one in cases]


def seen(batch, limits):
    """Return the IRI, graph and answers of each request instead of verdicts."""
    assert limits == JudgeLimits()
    return [(request.case.iri, request.case.data["graph"], request.answers) for request in batch]


def test_a_large_case_is_sent_once():
    """Batches after the first contain little more than their answers."""
    large = case(1, "x" * 1_000_000)
    sender = Sender()
    first, second = (len(pickle.dumps(sender.parcel(asked(large) * 64))) for _ in range(2))
    assert 1_000_000 < first < 1_050_000
    assert second < 20_000


def test_answers_and_tool_calls_share_a_case(monkeypatch):
    """A tool call is executed with the case that a worker received with an answer."""
    monkeypatch.setattr("kgbench.plugins.dask.cluster_batches._cache", CaseCache())
    sender, one = Sender(), case(1, "a")
    calls = [ToolRequest(one, ToolCall("schema", "{}"), {})]
    judge_cluster_batch(seen, sender.parcel(asked(one)), JudgeLimits())
    parcel = sender.parcel(calls)
    assert not parcel.cases
    assert judge_cluster_batch(lambda batch, _: list(batch), parcel, JudgeLimits()) == calls


def test_equal_cases_are_one(monkeypatch):
    """An equal case is not sent again; a case with other data is sent."""
    sender = Sender()
    assert len(sender.parcel(asked(case(1, "a"))).cases) == 1
    assert not sender.parcel(asked(case(1, "a"))).cases
    assert len(sender.parcel(asked(case(1, "b"))).cases) == 1


def test_a_worker_judges_by_what_it_kept(monkeypatch):
    """Requests get their cases back, including cases of an earlier batch."""
    monkeypatch.setattr("kgbench.plugins.dask.cluster_batches._cache", CaseCache())
    sender = Sender()
    one, two = case(1, "a"), case(2, "b")
    judge_cluster_batch(seen, sender.parcel(asked(one)), JudgeLimits())
    found = judge_cluster_batch(seen, sender.parcel(asked(two, one, two)), JudgeLimits())
    assert found == seen(asked(two, one, two), JudgeLimits())


def test_a_worker_that_came_later_says_what_it_lacks(monkeypatch):
    """A worker that lacks cases returns their keys, and judges once it gets them all."""
    monkeypatch.setattr("kgbench.plugins.dask.cluster_batches._cache", CaseCache())
    sender = Sender()
    batch = asked(case(1, "a"), case(2, "b"), case(1, "a"))
    sender.parcel(batch)  # this batch goes to another worker
    lacking = judge_cluster_batch(seen, sender.parcel(batch), JudgeLimits())
    assert isinstance(lacking, MissingCases)
    whole = sender.parcel(batch, whole=True)
    assert lacking.keys == tuple(whole.cases)
    assert judge_cluster_batch(seen, whole, JudgeLimits()) == seen(batch, JudgeLimits())


def test_a_shelf_keeps_what_was_used_last():
    """The cache drops the least recently used cases, but always holds the whole current batch."""
    contents = {bytes([k]): pickle.dumps(case(k, "x" * 1_000)) for k in range(4)}
    shelf = CaseCache(max_bytes=2_500)
    for key in (0, 1, 0, 2):
        shelf.take({bytes([key]): contents[bytes([key])]}, [bytes([key])])
    assert set(shelf.take({}, contents)) == {b"\0", b"\2"}
    assert set(shelf.take(contents, contents)) == set(contents)
