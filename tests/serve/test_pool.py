# SPDX-License-Identifier: Apache-2.0
"""Workers of a pool start, wait, fail and end; each job gets an answer or an error."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgbench.errors import StoreError
from kgbench.serve import analysis_cache, service, worker_handle
from kgbench.serve.analysis_cache import AnalysisCache
from kgbench.serve.costs import Cost
from kgbench.serve.pool import QUERIES, Answer, Pool
from kgbench.serve.refusals import Refused
from kgbench.serve.service import Service
from kgbench.serve.settings import Limits, Settings
from kgbench.serve.snapshot_follower import SnapshotFollower
from kgbench.serve.worker_handle import Worker
from kgbench.vocab import BASE, KGB
from tests.serve import stores
from tests.serve.processes import eventually, is_running

NOBODY = "kgbench.serve.nonesuch"
LIMITS = Limits(seconds=60, quick_seconds=60, patience=60, quick=1, heavy=1)
SLOW = Limits(seconds=60, quick_seconds=0, patience=60, quick=1, heavy=1)  # nothing is quick


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


def run(limits, work):
    """Return the result of ``work`` with a pool that leaves no worker behind."""

    async def running():
        pool = Pool(limits)
        try:
            return await work(pool)
        finally:
            await pool.close()
            assert not pool.seats.all

    return asyncio.run(running())


async def comes(holds):
    """Wait until a condition holds, while other tasks run."""
    await asyncio.to_thread(eventually, holds)


def test_slow_job_starts_again_when_there_is_a_place(job):
    """A job that waits for a heavy slot releases its worker, and later gets its whole answer."""

    async def work(pool):
        await pool._heavy.acquire()
        task = asyncio.create_task(pool.run(job))
        await comes(lambda: pool._waiting[Cost.HEAVY])
        assert not pool._quick.locked()
        pool._heavy.release()
        answer = await task
        assert pool._heavy.locked()
        whole = await answer.whole()
        assert not pool._heavy.locked()
        return whole, [piece async for piece in answer.rest]

    whole, after = run(SLOW, work)
    assert whole == f"r\r\n{BASE}run/1\r\n".encode()
    assert after == []


def test_worker_that_cannot_start_keeps_no_place(job):
    """If no process can be started, the job fails and its heavy slot is released."""

    async def work(pool):
        await pool.start()
        await pool._heavy.acquire()
        task = asyncio.create_task(pool.run(job))
        pool.seats.module = NOBODY
        await comes(lambda: pool._waiting[Cost.HEAVY])
        pool._heavy.release()
        with pytest.raises(StoreError, match="no query worker could be started"):
            await task
        return pool._heavy.locked(), pool._quick.locked()

    assert run(SLOW, work) == (False, False)


def test_nobody_waits_beyond_the_queue(job):
    """If the queue is full, a further job is refused at once with Retry-After."""

    async def work(pool):
        await pool._quick.acquire()
        with pytest.raises(Refused, match="busy with other queries") as refused:
            await pool.run(job)
        return refused.value

    refused = run(Limits(quick=1, patience=7, queue=0), work)
    assert refused.status == 503
    assert refused.headers["Retry-After"] == "7"


def test_worker_that_died_at_rest_is_replaced(job):
    """A dead idle worker is replaced for the next job, within the limit of workers."""

    async def work(pool):
        await pool.start()
        (worker,) = pool.seats.idle
        os.kill(worker._process.pid, signal.SIGKILL)
        await comes(lambda: not worker.alive)
        answer = await pool.run(job)
        pool.seats.refill()
        await asyncio.gather(*pool.seats._background)
        return answer.head, len(pool.seats.all), worker in pool.seats.all

    head, left, dead = run(LIMITS, work)
    assert b"run/1" in head
    assert (left, dead) == (1, False)


@pytest.mark.parametrize("leaves", [False, True])
def test_worker_that_ends_at_work_is_replaced(job, leaves):
    """A killed worker fails its job, a cancelled job ends its worker, and the next job runs.

    In both cases the slot is released for the next job.
    """
    endless = {**job, "query": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"}

    async def work(pool):
        await pool.start()
        (worker,) = pool.seats.idle
        task = asyncio.create_task(pool.run(endless))
        await comes(lambda: worker._pending is not None)
        if leaves:
            task.cancel()
        else:
            os.kill(worker._process.pid, signal.SIGKILL)
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        answer = await pool.run(job)
        return ended, worker.alive, answer.head

    ended, alive, head = run(LIMITS, work)
    assert not alive
    assert b"run/1" in head
    if leaves:
        assert isinstance(ended, asyncio.CancelledError)
    else:
        assert isinstance(ended, Refused)
        assert "ended its worker" in ended.message


def test_worker_that_comes_too_late_is_ended(job):
    """A worker that becomes ready after the end of the server is ended."""

    async def work(pool):
        started = []
        start = Worker.start

        async def noted(*given):
            started.append(await start(*given))
            return started[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Worker, "start", noted)
            task = asyncio.create_task(pool.run(job))
            await asyncio.sleep(0)
            await pool.close()
            with pytest.raises(Refused, match="busy"):
                await task
        return started[0].alive, started[0]._process.pid

    alive, process = run(LIMITS, work)
    assert not alive
    assert not is_running(process)


def test_worker_that_is_never_ready_is_ended(monkeypatch):
    """A process that never becomes ready raises an error and is killed."""
    killed = []
    kill = Worker.kill

    async def noted(self):
        await kill(self)
        killed.append(self)

    monkeypatch.setattr(Worker, "kill", noted)
    monkeypatch.setattr(worker_handle, "_START_SECONDS", 0.0)
    with pytest.raises(StoreError, match="a query worker is not ready after 0 seconds"):
        asyncio.run(Worker.start(QUERIES, 1 << 31))

    (worker,) = killed
    assert not worker.alive


class Answering:
    """A stand-in for a pool that answers once ``go_on`` is set."""

    def __init__(self):
        self.jobs = []
        self.go_on = asyncio.Event()

    async def run(self, job, *, resource):  # noqa: ARG002 - signature of Pool.run
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
    monkeypatch.setattr(analysis_cache, "_KEPT", 3)

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

    async def prepare(self, job):
        """Prepare nothing."""


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
