# SPDX-License-Identifier: Apache-2.0
"""Analyses for pages run in processes with a time limit, and are computed once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.stored_results import basis, store_table
from kgbench.pages.contents import filled_query
from kgbench.rdf import queries
from kgbench.scores.selection import select
from kgbench.serve.admission import Refused
from kgbench.serve.analyses import ANALYSES as KNOWN
from kgbench.serve.analysis_pages import AnalysisCache
from kgbench.serve.pool import Pool
from kgbench.serve.service import SnapshotFollower
from kgbench.store import open_store
from kgbench.vocab import BASE
from tests.serve import stores
from tests.serve.conftest import LIMITS, asking
from tests.serve.processes import eventually, is_running

SUITE = f"{BASE}suite/kgbench-1"
ARGUMENTS = {
    "overview": {},
    "suites": {},
    "leaderboard": {"suite": SUITE},
    "choices": {"suite": SUITE},
    "comparison": {"suite": SUITE, "names": ["Oracle", "Oracle"]},
    "dialogues": {"suite": SUITE, "wanted": {"sort": "task"}},
    "judged": {"suite": SUITE, "pass_": "first"},
    "text": {"suite": SUITE, "pass_": "first", "text": "a"},
    "thing": {"iri": f"{BASE}model/oracle", "reveal": False},
    "standings": {"suite": SUITE, "model": None, "task": None},
    "transcript": {"iri": "run/1/oracle/Spell-10/0-d1d1d1d1"},
    "example": {"parameters": {"name": "list-models"}},
    "default_suite": {"models": "*"},
    "table": {"name": "tasks", "arguments": {}, "suite": SUITE},
}


@pytest.fixture(scope="module")
def view(result_store):
    """Return a snapshot."""
    return SnapshotFollower(str(result_store), BASE).view


@pytest.mark.parametrize("name", queries.names())
def test_every_declared_query_opens_as_an_example(view, name):
    """Each query has values or placeholders for its parameters, and the store answers it."""
    text = filled_query(view, {"name": name})

    assert "# SPDX" not in text
    assert ("VALUES" in text) or all(one.optional for one in queries.load(name).parameters)
    assert view.query(text) is not None


def test_example_takes_what_it_is_given(view):
    """Given parameters appear in the query; a suite must be given by its IRI to restrict it."""
    dialogue = f"{BASE}run/1/some-dialogue"
    assert f"<{dialogue}>" in filled_query(view, {"name": "dialogue-turns", "dialogue": dialogue})
    assert '"a-n-n-e"' in filled_query(view, {"name": "search-answers", "text": "a-n-n-e"})
    assert f"<{SUITE}>" in filled_query(view, {"name": "list-suites", "suite": SUITE})
    assert "VALUES" not in filled_query(view, {"name": "list-suites", "suite": "kgbench-1"})
    passes = filled_query(view, {"name": "score-histograms", "suite": "kgbench-1"})
    assert f"<{BASE}graph/pass/1>" in passes


def run(limits, work):
    """Return the result of ``work``, run with an analysis cache and its own pool."""

    async def running():
        pool = Pool(limits, 1, 0)
        try:
            return await work(AnalysisCache(pool), pool)
        finally:
            await pool.close()

    return asyncio.run(running())


def test_every_analysis_comes_back(view):
    """An analysis has the same result in this process and in another."""

    async def work(computing, _):
        return {name: await computing.get(view, name, **given) for name, given in ARGUMENTS.items()}

    assert KNOWN.keys() == ARGUMENTS.keys()
    found = run(LIMITS, work)
    for name, given in ARGUMENTS.items():
        assert KNOWN[name](view, **given) == found[name]


def test_leaders_that_are_kept_are_not_computed_again(tmp_path):
    """The page shows the table kept by ``kgbench analyze leaderboard --significance --keep``."""
    location = str(stores.make(tmp_path / "results"))
    with open_store(location) as store:
        chosen = select(store, SUITE)
        asked = leaderboard.arguments(significance=True)
        table = replace(leaders(store, chosen), title="As it was kept")
        store_table(store, basis(store, chosen, leaderboard, asked), table, datetime.now(UTC))

    found = KNOWN["leaderboard"](SnapshotFollower(location, BASE).view, suite=SUITE)

    assert found["board"].table.title == "As it was kept"


def test_page_of_leaders_that_take_too_long_says_what_to_do(result_store):
    """At the time limit, the page names the command that computes the leaders once."""
    limits = replace(LIMITS, seconds=0.002)
    with asking(result_store, limits) as client:
        answer = client.get("/leaderboard")

    assert answer.status_code == 503
    assert "kgbench analyze leaderboard --significance" in answer.text


def _computed(monkeypatch):
    """Return a list that gets the analyses which are computed from now on."""
    computed = []
    run_ = AnalysisCache._run

    async def noted(self, view, key, job):
        result = await run_(self, view, key, job)
        computed.append(job["analysis"])
        return result

    monkeypatch.setattr(AnalysisCache, "_run", noted)
    return computed


@pytest.mark.parametrize("ahead", [False, True], ids=["on demand", "ahead"])
def test_overview_and_leaderboard_are_computed_once(result_store, monkeypatch, ahead):
    """Both pages share computations, which a server that works ahead makes when it starts."""
    computed = _computed(monkeypatch)
    with asking(result_store, ahead=ahead) as client:
        if ahead:
            eventually(lambda: len(computed) == 2)
        assert computed == ["overview", "leaderboard"] * ahead
        assert client.get("/").status_code == client.get("/leaderboard").status_code == 200
    assert computed == ["overview", "leaderboard", "suites", "default_suite", "choices"]


def test_runaway_analysis_is_killed(view):
    """At the time limit, the process of an analysis is killed, and the page gets 503."""

    async def work(computing, pool):
        await pool.start()
        (child,) = pool._idle
        with pytest.raises(Refused) as refused:
            await computing.get(view, "leaderboard", suite=SUITE)
        return refused.value, child.pid

    refused, process = run(replace(LIMITS, seconds=0.002), work)
    assert 503 == refused.status
    assert "time limit" in refused.message
    assert not is_running(process)


def test_what_is_asked_for_twice_is_computed_once(view):
    """Simultaneous requests share one computation; a cancelled request does not end it."""

    async def work(computing, pool):
        jobs = []
        run = pool.run

        async def counted(job, resource):
            jobs.append(job)
            return await run(job, resource)

        pool.run = counted
        tasks = [asyncio.create_task(computing.get(view, "overview")) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await computing.get(view, "overview")
        return jobs, found

    jobs, found = run(LIMITS, work)
    assert 1 == len(jobs)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1] == found[4]


def test_missing_and_broken_are_told_apart(view):
    """Missing resources give 404; other failures are reported as the server's."""

    async def work(computing, _):
        statuses = []
        for analysis, given in (
            ("example", {"parameters": {"name": "nonesuch"}}),
            ("comparison", {"suite": SUITE, "names": ["x", "y"]}),
            ("leaderboard", {"unknown": 1}),
        ):
            with pytest.raises(Refused) as refused:
                await computing.get(view, analysis, **given)
            statuses.append(refused.value.status)
        return statuses

    assert [404, 404, 503] == run(LIMITS, work)
