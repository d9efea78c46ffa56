# SPDX-License-Identifier: Apache-2.0
"""A new snapshot is prepared before it is served: processes, analyses, pages."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace

import pytest

from kgbench.analysis import scores
from kgbench.pages import snapshot
from kgbench.pages.snapshot import MemoryView
from kgbench.pages.things import label
from kgbench.serve import page_cache, service
from kgbench.serve.analysis_cache import AnalysisCache
from kgbench.serve.costs import Cost, key_of
from kgbench.serve.page_cache import Page, PageCache
from kgbench.serve.refusals import Refused
from kgbench.serve.service import Service
from kgbench.serve.settings import Limits, Settings
from kgbench.serve.worker import OpenSnapshots
from kgbench.store import open_store
from kgbench.store.snapshot_cache import cache_per_snapshot
from kgbench.vocab import BASE
from tests.serve import stores
from tests.serve.test_pool import Answering, Idle, comes, job, run, view

__all__ = ["job"]
LIMITS = Limits(seconds=60, quick_seconds=60, patience=60, quick=3, heavy=1)
SUITE = f"{BASE}suite/kgbench-1"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Return a service without processes that looks for new snapshots continuously."""
    monkeypatch.setattr(service, "_GLANCE", 0.01)
    found = Service(Settings(location=str(stores.make(tmp_path / "results"))))
    found.pool = found.analysts = Idle()
    return found


async def published(served):
    """Publish a new snapshot of the served store."""

    def publish():
        with open_store(served.settings.location) as store:
            store.publish_snapshot()

    await asyncio.to_thread(publish)


def test_last_snapshot_is_served_until_the_new_one_is_prepared(served):
    """The old snapshot is served while the new one is being prepared."""

    async def work():
        begun, go_on, prepared = asyncio.Event(), asyncio.Event(), []

        async def prepare(view):
            prepared.append(view.name)
            begun.set()
            await go_on.wait()

        served.preparations.append(prepare)
        async with served.running():
            before = served.view.name
            await published(served)
            await begun.wait()
            assert served.view.name == before
            go_on.set()
            await comes(lambda: served.view.name != before)
            return prepared[0] == served.view.name

    assert asyncio.run(work())


@pytest.mark.parametrize("fails", [True, False])
def test_snapshot_is_served_though_it_cannot_be_prepared(served, monkeypatch, caplog, fails):
    """After a failed or too slow preparation, the new snapshot is served; a failure is logged."""
    monkeypatch.setattr(service, "_PREPARING", 0.01)

    async def prepare(_):
        if fails:
            raise Refused(503, "not now")
        await asyncio.Event().wait()

    async def work():
        served.preparations.append(prepare)
        async with served.running():
            before = served.view.name
            await published(served)
            await comes(lambda: served.view.name != before)

    with caplog.at_level(logging.WARNING, "kgbench.serve"):
        asyncio.run(work())
    assert ("could not be prepared" in caplog.text) == fails


def test_snapshot_that_an_update_shows_is_not_replaced_by_an_older_one(served):
    """A snapshot found before an update does not replace the newer one of the update."""

    async def work():
        await published(served)
        older = served.following.newer()
        await published(served)
        assert served.following.refresh()
        newest = served.view.name
        served.following.show(older)
        return older.view.name, newest, served.view.name

    older, newest, shown = asyncio.run(work())
    assert older != newest
    assert shown == newest


def test_each_process_at_rest_opens_a_new_snapshot(job):
    """All idle quick workers open the snapshot once; a busy one is left alone."""

    async def work(pool):
        await pool.start()
        asked = []
        for worker in pool.seats.idle:
            worker.send = lambda sent, worker=worker, send=worker.send: (
                asked.append((worker, sent["snapshot"])),
                send(sent),
            )
        taken = await pool.seats.take()
        async with pool._quick:
            await pool.prepare({"snapshot": job["snapshot"], "prepare": True})
        assert len(asked) == 2
        assert {worker for worker, _ in asked} == set(pool.seats.idle)
        pool.seats.give_back(taken)
        return (await pool.run(job)).head

    assert run(LIMITS, work) == f"r\r\n{BASE}run/1\r\n".encode()


def test_process_that_cannot_open_a_snapshot_is_kept(job, tmp_path):
    """A missing snapshot is refused, and the process runs the next job."""

    async def work(pool):
        await pool.start()
        with pytest.raises(Refused, match="the worker process failed"):
            await pool.prepare({"snapshot": str(tmp_path / "gone"), "prepare": True})
        return (await pool.run(job)).head, len(pool.seats.idle)

    head, idle = run(Limits(seconds=60, quick_seconds=60, patience=60, quick=1, heavy=1), work)
    assert head == f"r\r\n{BASE}run/1\r\n".encode()
    assert idle == 1


def test_last_snapshot_stays_open_until_jobs_leave_it():
    """The snapshot of the last job and the newest one are open, and no others."""
    opened = OpenSnapshots(str.upper)
    for path, kept in (("a", "a"), ("b", "ab"), ("a", "ab"), ("c", "bc"), ("c", "c"), ("d", "cd")):
        assert opened.get(path) == path.upper()
        assert "".join(opened.kept) == kept


def test_what_was_asked_for_is_computed_for_the_next_snapshot():
    """Analyses used since the last preparation are computed for the new snapshot."""

    async def work():
        pool = Answering()
        pool.go_on.set()
        wanted = AnalysisCache(pool)
        await wanted.get(view("old"), "overview")
        await wanted.get(view("old"), "thing", iri="a")
        await wanted.prepare(view("new"))
        asked = [(one["snapshot"], one["analysis"]) for one in pool.jobs]
        assert await wanted.get(view("old"), "overview")
        assert (await wanted.get(view("new"), "overview"))[0] == "new"
        assert len(pool.jobs) == len(asked)  # both snapshots are still cached
        await wanted.prepare(view("newer"))
        return asked, [(one["snapshot"], one["analysis"]) for one in pool.jobs[len(asked) :]]

    first, second = asyncio.run(work())
    assert first[2:] == [("new", "thing"), ("new", "overview")]
    assert second == [("newer", "overview")]


def test_queries_of_a_new_shape_wait_for_the_first_one(job):
    """Of queries with a new shape one is tried; the others then run by its cost."""

    async def work(pool):
        sent = []
        trial_done = asyncio.Event()
        pool.seats = SimpleNamespace(
            take=lambda: answered(Working(sent, trial_done)),
            give_back=lambda _: None,
            replace=lambda _: answered(None),
            all=set(),
            close=lambda: answered(None),
        )
        tasks = [
            asyncio.create_task(pool.run(job, key_of(str(number), "shape"))) for number in range(9)
        ]
        await comes(lambda: pool._waiting[Cost.UNKNOWN] == 8)
        assert len(sent) == 1
        trial_done.set()
        await asyncio.gather(*tasks)
        return len(sent), pool._trials, pool.costs.expected(key_of("new", "shape"))

    sent, trials, cost = run(LIMITS, work)
    assert sent == 9
    assert not trials
    assert cost is Cost.LIGHT


def test_first_of_a_shape_that_fails_leaves_the_trial_to_the_next(job):
    """If the first query of a shape does not parse, the next one is tried."""

    async def work(pool):
        wrong = {**job, "query": "SELECT ?r {"}
        asked = [pool.run(one, key_of(str(n), "shape")) for n, one in enumerate([wrong, job, job])]
        return await asyncio.gather(*asked, return_exceptions=True)

    failed, *found = run(LIMITS, work)
    assert isinstance(failed, Refused)
    assert [b"run/1" in one.head for one in found] == [True, True]


async def answered(value):
    """Return ``value``."""
    return value


class Working:
    """A stand-in for a worker that answers once ``go_on`` is set."""

    alive = True

    def __init__(self, sent, go_on):
        self._sent, self._go_on = sent, go_on

    def send(self, job):
        """Record a job."""
        self._sent.append(job)

    def processor_seconds(self):
        """Return no measurement."""

    async def frame(self, _):
        """Return the end of an answer."""
        await self._go_on.wait()
        return SimpleNamespace(tag=b"e", payload=b"")


def test_pages_are_kept_for_one_snapshot_and_within_a_size(monkeypatch):
    """The pages used last are kept; those of another snapshot are dropped."""
    monkeypatch.setattr(page_cache, "MOST_BYTES", 3)
    kept, pages = PageCache(), {name: Page(name.encode(), {}) for name in "abcd"}
    for name in "abc":
        kept.keep(view("one"), name, pages[name])
    assert kept.get(view("one"), "a") == pages["a"]
    kept.keep(view("one"), "d", pages["d"])
    assert [kept.get(view("one"), name) is not None for name in "abcd"] == [True, False, True, True]
    kept.keep(view("two"), "b", pages["b"])
    assert kept.get(view("two"), "a") is None
    assert kept.get(view("one"), "b") is None


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/dialogues", "/run/1", "/run/1.html"])
def test_page_that_was_kept_is_the_same(client, path):
    """A cached page is the same as before, and another address gets another page."""
    first, again = (client.get(path, headers={"Accept": "text/html"}) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert (first.text, first.headers) == (again.text, again.headers)
    other = client.get(path, headers={"Accept": "text/html", "Host": "127.0.0.1:8080"})
    assert other.headers.get("link", "127.0.0.1:8080").count("127.0.0.1:8080")
    refused = client.get("/leaderboard?suite=none", headers={"Accept": "text/html"})
    assert refused.status_code == 404


def test_names_are_read_once_from_a_snapshot(result_store, monkeypatch):
    """Names are read once per snapshot, and each time from a store; callers get copies."""
    opened = snapshot.open_newest(result_store / "snapshots", BASE)
    read = []

    @cache_per_snapshot
    def found(store):
        read.append(store)
        return {"a": 1}

    found(opened).clear()
    assert found(opened) == {"a": 1}
    memory = MemoryView(opened.database, BASE)
    assert [found(memory), found(memory)] == [{"a": 1}, {"a": 1}]
    assert read == [opened, memory, memory]
    assert scores.models(opened) == scores.models(memory)
    assert type(scores.models(opened)) is scores.Models


def test_labels_are_those_of_the_database(result_store, monkeypatch):
    """Cached labels of a snapshot are those of the database, within the limit."""
    monkeypatch.setattr("kgbench.pages.things._MOST_LABELS", 3)
    opened = snapshot.open_newest(result_store / "snapshots", BASE)
    memory = MemoryView(opened.database, BASE)
    subjects = sorted({q.subject.value for q in opened.database if "<" in str(q.subject)})
    assert [label(opened, one) for one in subjects] == [label(memory, one) for one in subjects]
    assert len(opened.labels) <= 3
