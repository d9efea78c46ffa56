# SPDX-License-Identifier: Apache-2.0
"""Workers of a pool start, wait, fail and end; each job gets an answer or an error."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgbench.errors import StoreError
from kgbench.serve import analysis_pages, pool, service
from kgbench.serve.admission import Refused
from kgbench.serve.analysis_pages import AnalysisCache
from kgbench.serve.pool import Answer, Pool
from kgbench.serve.service import Service, SnapshotFollower
from kgbench.serve.settings import Limits, Settings
from kgbench.vocab import BASE, KGB
from tests.serve import stores
from tests.serve.processes import eventually, is_running

LIMITS = Limits(seconds=60, patience=60)
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
LARGE = "SELECT * { GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?a ?b ?c } }"


@pytest.fixture(scope="module")
def job(result_store):
    """Return a query with one row."""
    return {
        "snapshot": SnapshotFollower(str(result_store), BASE).view.path,
        "format": "csv",
        "base": BASE,
        "union": True,
        "default": None,
        "query": f"SELECT ?r {{ GRAPH ?g {{ ?r a <{KGB.Run}> }} }} ORDER BY ?r LIMIT 1",
    }


def run(work, limits=LIMITS, number=1):
    """Return the result of ``work`` with a pool that leaves no worker behind."""

    async def running():
        workers = Pool(limits, number, 0)
        try:
            return await work(workers)
        finally:
            await workers.close()
            assert not workers._all

    return asyncio.run(running())


async def comes(holds):
    """Wait until a condition holds, while other tasks run."""
    await asyncio.to_thread(eventually, holds)


def test_worker_that_cannot_start_keeps_no_place(job, monkeypatch):
    """If no process can be started, the job fails and its place is free."""
    monkeypatch.setattr(pool, "_MODULE", "kgbench.serve.nonesuch")

    async def work(workers):
        for _ in range(2):
            with pytest.raises(StoreError, match="no worker could be started"):
                await workers.run(job)

    run(work)


def test_nobody_waits_beyond_the_patience(job):
    """While all workers are taken, a job is refused with Retry-After."""

    async def work(workers):
        endless = asyncio.create_task(workers.run({**job, "query": ENDLESS}))
        await comes(workers._places.locked)
        with pytest.raises(Refused, match="busy with other queries") as refused:
            await workers.run(job)
        endless.cancel()
        return refused.value

    refused = run(work, replace(LIMITS, patience=2))
    assert refused.status == 503
    assert refused.headers["Retry-After"] == "2"


@pytest.mark.parametrize("query", [ENDLESS, LARGE])
def test_the_oldest_job_makes_room_when_it_has_had_its_time(job, query):
    """A running job, or one whose answer nobody reads, ends for the first that waits, no other."""

    async def work(workers):
        heavy = []
        for number in (1, 2):
            heavy.append(asyncio.create_task(workers.run({**job, "query": query})))
            await comes(lambda number=number: len(workers.running) == number)
        oldest, newest = workers.running
        answer = await workers.run(job)
        assert (oldest.alive, newest.alive) == (False, True)
        heavy[1].cancel()
        return answer.head, (await asyncio.gather(*heavy, return_exceptions=True))[0]

    head, ended = run(work, replace(LIMITS, assured_seconds=1), number=2)
    assert b"run/1" in head
    if query == ENDLESS:
        assert (ended.status, ended.headers["Retry-After"]) == (503, "60")
        assert "after 1 seconds because others were waiting" in ended.message


def test_jobs_wait_for_a_place(job):
    """More jobs than workers are all answered, one after the other."""

    async def work(workers):
        return await asyncio.gather(*(workers.run(job) for _ in range(20))), len(workers._all)

    answers, started = run(work, number=2)
    assert {answer.head for answer in answers} == {f"r\r\n{BASE}run/1\r\n".encode()}
    assert started <= 2


def test_worker_that_died_at_rest_is_replaced(job):
    """A dead idle worker is replaced for the next job, within the limit of workers."""

    async def work(workers):
        await workers.start()
        (child,) = workers._idle
        os.kill(child.pid, signal.SIGKILL)
        await comes(lambda: not child.alive)
        answer = await workers.run(job)
        return answer.head, len(workers._all), child in workers._all

    head, left, dead = run(work)
    assert b"run/1" in head
    assert (left, dead) == (1, False)


@pytest.mark.parametrize("leaves", [False, True])
def test_worker_that_ends_at_work_is_replaced(job, leaves):
    """A killed worker fails its job, a cancelled job ends its worker, and the next job runs."""

    async def work(workers):
        await workers.start()
        (child,) = workers._idle
        task = asyncio.create_task(workers.run({**job, "query": ENDLESS}))
        await comes(lambda: not workers._idle)
        await asyncio.sleep(0.1)
        if leaves:
            task.cancel()
        else:
            os.kill(child.pid, signal.SIGKILL)
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        answer = await workers.run(job)
        return ended, child.alive, answer.head

    ended, alive, head = run(work)
    assert not alive
    assert b"run/1" in head
    if leaves:
        assert isinstance(ended, asyncio.CancelledError)
    else:
        assert isinstance(ended, Refused)
        assert "ended its worker" in ended.message


def test_job_that_exceeds_its_time_ends_its_worker(job):
    """At the time limit a job is refused, and its process is gone."""

    async def work(workers):
        await workers.start()
        (child,) = workers._idle
        with pytest.raises(Refused, match=r"the time limit of this server \(0.3 seconds\)"):
            await workers.run({**job, "query": ENDLESS}, seconds=0.3)
        return child.pid, (await workers.run(job)).head

    pid, head = run(work)
    assert not is_running(pid)
    assert b"run/1" in head


def test_job_that_is_refused_keeps_its_worker(job, caplog):
    """A query that does not parse and a missing snapshot leave their worker; a fault is logged."""

    async def work(workers):
        refusals = []
        for wrong in ({"query": "SELECT ?r {"}, {"snapshot": "/nowhere/at/all"}):
            with pytest.raises(Refused) as refused:
                await workers.run({**job, **wrong})
            refusals.append(refused.value)
        (child,) = workers._all
        return refusals, (await workers.run(job)).head, workers._idle == [child]

    (syntax, missing), head, same = run(work)
    assert (syntax.status, missing.status) == (400, 503)
    assert "the server's log says more" in missing.message
    assert "/nowhere/at/all" in caplog.text
    assert b"run/1" in head
    assert same


def test_a_large_answer_holds_its_worker_until_it_is_read(job):
    """The rest of a large answer is read from the worker, which is then given back."""
    rows = {**job, "query": f"{LARGE} LIMIT 9000"}

    async def work(workers):
        answer = await workers.run(rows)
        held = workers._places.locked()
        pieces = [answer.head, *[piece async for piece in answer.rest]]
        again = await (await workers.run(rows)).whole()
        first, complete = await (await workers.run(rows)).beginning(10)
        return held, b"".join(pieces), again, first, complete, await workers.run(job)

    held, whole, again, first, complete, after = run(work)
    assert held
    assert whole.count(b"\r\n") == 9_001
    assert again == whole
    assert whole.startswith(first)
    assert not complete
    assert b"run/1" in after.head


def test_an_answer_that_nobody_reads_frees_its_place(job):
    """If the client stops reading, the worker ends at the time limit, even with a full pipe."""

    async def work(workers):
        answer = await workers.run({**job, "query": LARGE}, seconds=0.5)
        (child,) = workers._all
        await comes(lambda: not child.running)
        with pytest.raises(Refused, match="time limit"):
            await answer.whole()
        return (await workers.run(job)).head

    assert b"run/1" in run(work)


def test_worker_that_comes_too_late_is_ended(job):
    """A worker that becomes ready after the end of the server is ended."""

    async def work(workers):
        task = asyncio.create_task(workers.run(job))
        await comes(lambda: workers._all)
        (child,) = workers._all
        await workers.close()
        with pytest.raises((Refused, StoreError)):
            await task
        return child.alive, child.pid

    alive, process = run(work)
    assert not alive
    assert not is_running(process)


class Answering:
    """A stand-in for a pool that answers once ``go_on`` is set."""

    def __init__(self):
        self.jobs = []
        self.go_on = asyncio.Event()

    async def run(self, job, resource):  # noqa: ARG002 - signature of Pool.run
        """Return an answer that names its job."""
        self.jobs.append(job)
        await self.go_on.wait()
        return Answer(pickle.dumps((job["snapshot"], job["analysis"], len(self.jobs))))


def view(name):
    """Return a snapshot with the attributes that analyses need."""
    return SimpleNamespace(name=name, path=name, iris=SimpleNamespace(base=BASE))


def test_result_of_an_old_snapshot_is_not_kept():
    """A request before a change of the store gets the old result, a later one a new result."""

    async def work():
        pool = Answering()
        wanted = AnalysisCache(pool)
        old = asyncio.create_task(wanted.get(view("old"), "overview"))
        await asyncio.sleep(0)
        new = asyncio.create_task(wanted.get(view("new"), "overview"))
        await asyncio.sleep(0)
        pool.go_on.set()
        found = await asyncio.gather(old, new)
        return [one[0] for one in (*found, await wanted.get(view("new"), "overview"))], pool.jobs

    found, jobs = asyncio.run(work())
    assert found == ["old", "new", "new"]
    assert [job["snapshot"] for job in jobs] == ["old", "new"]


def test_results_do_not_fill_the_memory(monkeypatch):
    """Of many results few are kept, the newest among them."""
    monkeypatch.setattr(analysis_pages, "_KEPT", 3)

    async def work():
        pool = Answering()
        pool.go_on.set()
        wanted = AnalysisCache(pool)
        for number in range(8):
            await wanted.get(view("one"), "thing", iri=number)
            assert 1 <= len(wanted._results) <= 3
        await wanted.get(view("one"), "thing", iri=7)
        return len(pool.jobs)

    assert asyncio.run(work()) == 8


def test_analysis_under_way_ends_with_the_server(caplog):
    """An analysis that no client waits for is cancelled at the end, and nothing is logged."""

    async def work():
        wanted = AnalysisCache(Answering())
        asker = asyncio.create_task(wanted.get(view("one"), "overview"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return wanted, asker

    wanted, asker = asyncio.run(work())
    assert asker.cancelled()
    assert not wanted._running
    assert not caplog.records


class Idle:
    """A stand-in for workers on a system without network isolation."""

    isolated = False

    async def start(self):
        """Start nothing."""

    async def close(self):
        """Close nothing."""


def test_system_without_isolation_is_told(result_store, caplog):
    """A server on a system without network isolation logs a warning."""

    async def work():
        served = Service(Settings(location=str(result_store)))
        served.pool = served.analysts = Idle()
        async with served.running():
            return

    with caplog.at_level(logging.WARNING, "kgbench.serve"):
        asyncio.run(work())
    assert [record.getMessage() for record in caplog.records] == [
        "this system cannot keep query workers from the network: only SERVICE is refused"
    ]


def test_damaged_snapshot_does_not_end_the_following(tmp_path, monkeypatch, caplog):
    """After a damaged snapshot, the last good one is served and the next good one replaces it."""
    monkeypatch.setattr(service, "_GLANCE", 0.01)
    folder = stores.make(tmp_path / "results")

    def published(name, damaged):
        copy = good.with_name(f"{name:020d}")
        copy.with_name(f"{copy.name}.lock").touch()
        shutil.copytree(good, tmp_path / copy.name)
        if damaged:
            (tmp_path / copy.name / "CURRENT").write_text("nothing\n", encoding="utf-8")
        (tmp_path / copy.name).rename(copy)
        return copy.name

    async def work():
        served = Service(Settings(location=str(folder)))
        served.pool = served.analysts = Idle()
        nonlocal good
        good = Path(served.view.path)
        async with served.running():
            damaged = published(int(good.name) + 1, damaged=True)
            await comes(lambda: damaged in caplog.text)
            before = served.view.name
            whole = published(int(good.name) + 2, damaged=False)
            await comes(lambda: served.view.name == whole)
        return before

    good = Path()
    assert asyncio.run(work()) == good.name
    assert "cannot be opened" in caplog.text
