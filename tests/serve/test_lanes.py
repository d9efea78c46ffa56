# SPDX-License-Identifier: Apache-2.0
"""Scheduling of queries by their earlier cost, and views that never go back."""

from __future__ import annotations

import asyncio
import threading

from kgbench.serve import costs
from kgbench.serve.costs import Cost, key_of
from kgbench.serve.settings import Limits
from kgbench.serve.snapshot_follower import SnapshotFollower
from kgbench.store import open_store, snapshots
from kgbench.vocab import BASE
from tests.serve import stores
from tests.serve.test_pool import comes, job, run

__all__ = ["job"]
LANES = Limits(seconds=60, quick_seconds=60, patience=60, quick=2, heavy=1)


def test_heavy_queries_take_no_quick_worker(job):
    """A query that was heavy before waits for a heavy slot; if it is light now, this is stored."""

    async def work(pool):
        known = key_of("known", "shape")
        pool.costs.note(known, light=False)
        await pool._heavy.acquire()
        task = asyncio.create_task(pool.run(job, known))
        await comes(lambda: pool._waiting[Cost.HEAVY])
        assert (await pool.run(job, key_of("other", "light"))).head
        assert not pool._quick.locked()
        pool._heavy.release()
        answer = await task
        return await answer.whole(), pool._heavy.locked(), pool.costs.expected(known)

    whole, locked, cost = run(LANES, work)
    assert whole == f"r\r\n{BASE}run/1\r\n".encode()
    assert not locked
    assert cost is Cost.LIGHT


def test_suspect_and_unknown_queries_leave_a_quick_worker(job):
    """Queries of a heavy or an unknown shape are tried one at a time and leave a worker free."""

    async def work(pool):
        pool.costs.note(key_of("heavy", "shape"), light=False)
        pool.costs.note(light := key_of("light", "other"), light=True)
        async with pool._slot(pool._suspects, Cost.SUSPECT):
            suspect = asyncio.create_task(pool.run(job, key_of("new", "shape")))
            await comes(lambda: pool._waiting[Cost.SUSPECT])
            async with pool._slot(pool._untried, Cost.UNKNOWN):
                unknown = asyncio.create_task(pool.run(job, key_of("new", "never seen")))
                await comes(lambda: pool._waiting[Cost.UNKNOWN])
                done = await pool.run(job, light)
                assert not suspect.done()
                assert not unknown.done()
        return [done, *await asyncio.gather(suspect, unknown)]

    assert [b"run/1" in answer.head for answer in run(LANES, work)] == [True] * 3


def test_costs_do_not_fill_the_memory(monkeypatch):
    """Few costs are kept, the newest among them."""
    monkeypatch.setattr(costs, "_KEPT", 4)
    known = costs.Costs()
    for number in range(9):
        known.note(key_of(str(number), "shape"), light=True)
    assert len(known._light) == 4
    assert known.expected(key_of("8", "shape")) is Cost.LIGHT


def test_view_never_goes_back(tmp_path, monkeypatch):
    """If two threads refresh the view, the slower one does not restore its older snapshot.

    This happened after updates: clients that had read the newer snapshot read the older one again.
    """
    folder = stores.make(tmp_path / "results")
    following = SnapshotFollower(str(folder), BASE)
    newest = following._open
    found, go_on = threading.Event(), threading.Event()

    def opened():
        view = newest()
        if threading.current_thread() is slow:
            found.set()
            go_on.wait()
        return view

    monkeypatch.setattr(following, "_open", opened)
    slow, quick = (threading.Thread(target=following.refresh) for _ in range(2))
    with open_store(str(folder)) as store:
        slow.start()
        found.wait()
        store.publish_snapshot()
        last = snapshots.newest(folder / "snapshots").name
        quick.start()
        quick.join(0.5)  # it has finished or waits for the slow one
        go_on.set()
        slow.join()
        quick.join()
        assert following.view.name == last
