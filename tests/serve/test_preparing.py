# SPDX-License-Identifier: Apache-2.0
"""A new snapshot is prepared before it is served."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kgbench.pages import things
from kgbench.pages.things import MemoryView, label
from kgbench.scores import catalogue
from kgbench.serve import service
from kgbench.serve.admission import Refused
from kgbench.serve.analysis_pages import AnalysisCache
from kgbench.serve.service import Service
from kgbench.serve.settings import Settings
from kgbench.store import open_store
from kgbench.store.reader import cache_per_snapshot
from kgbench.vocab import BASE
from tests.serve import stores
from tests.serve.test_pool import Answering, Idle, comes, view


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


def test_names_are_read_once_from_a_snapshot(result_store, monkeypatch):
    """Names are read once per snapshot, and each time from a store; callers get copies."""
    opened = things.open_newest(result_store / "snapshots", BASE)
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
    assert catalogue.models(opened) == catalogue.models(memory)
    assert type(catalogue.models(opened)) is catalogue.Models


def test_labels_are_those_of_the_database(result_store, monkeypatch):
    """Cached labels of a snapshot are those of the database, within the limit."""
    monkeypatch.setattr("kgbench.pages.things._MOST_LABELS", 3)
    opened = things.open_newest(result_store / "snapshots", BASE)
    memory = MemoryView(opened.database, BASE)
    subjects = sorted({q.subject.value for q in opened.database if "<" in str(q.subject)})
    assert [label(opened, one) for one in subjects] == [label(memory, one) for one in subjects]
    assert len(opened.labels) <= 3
