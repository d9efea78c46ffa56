# SPDX-License-Identifier: Apache-2.0
"""Judging on a Dask cluster: the same evaluations as here, and none is lost with a worker."""

from __future__ import annotations

import asyncio
import re
import threading

import pytest

from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import executor
from kgbench.model import Outcome
from kgbench.record import reading
from kgbench.reevaluation import reevaluate
from kgbench.store import open_store
from kgbench.store.copying import copy
from kgbench.tasks import catalogue
from tests.servers.dask_cluster import cluster
from tests.store.servers import Oxigraph

pytest.importorskip("distributed")
pytestmark = pytest.mark.servers

OF_THE_WORK = re.compile(r"prov#(wasAssociatedWith|startedAtTime|endedAtTime)>")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


def recorded(store):
    """A run of all task classes with answers that are right and wrong, in ``store``."""
    plan = config.quick_start(models=["baseline:noisy?rate=0.4&seed=7"], iterations=2)
    asyncio.run(run_plan(store, plan, Settings()))
    (run,) = reading.runs(store)
    return run


def judged(store, run, spec):
    """The evaluations of a new pass as N-Triples, sorted, without what is of the work itself."""
    with executor(spec) as pool:
        found = reevaluate(store, run, pool, JudgeLimits())
    graph = next(p.graph for p in reading.passes(store, run) if p.iri == found.evaluation_pass)
    number = found.evaluation_pass.rpartition("/")[2]
    triples = store.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
    lines = {f"{triple} .".replace(number, "PASS") for triple in triples}
    return sorted(line for line in lines if not OF_THE_WORK.search(line)), found


def test_cluster_judges_a_remote_store_as_this_machine_does(running, tmp_path):
    """Every score and info is the same, judged here or by a cluster from a store on a server."""
    with Oxigraph(tmp_path / "server") as server:
        with open_store(str(tmp_path / "here")) as store:
            run = recorded(store)
            with open_store(server.url) as target:
                copy(store, target)
            mine, by_us = judged(store, run, "local:2")
        with open_store(server.url) as store:
            theirs, by_cluster = judged(store, run, f"dask:{running.address}")

    assert len(mine) > 1_000
    assert mine == theirs
    assert by_us.comparison.dialogues == by_cluster.comparison.dialogues > 0
    assert not by_cluster.comparison.differing


def test_nothing_is_lost_with_a_worker(running):
    """Batches on a worker that is killed are judged by another one."""
    name = "RdfFriendCount"
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    cases = catalogue.module(name).cases(task, "kgbench-1", 0, 20)
    batches = [
        [JudgeRequest(case, (catalogue.module(name).reference(case),)) for case in cases] * 20
        for _ in range(30)
    ]
    with executor(f"dask:{running.address}") as pool:
        futures = [pool.submit(judge_batch, batch, JudgeLimits()) for batch in batches]
        begun = threading.Event()
        futures[0].add_done_callback(lambda _: begun.set())
        assert begun.wait(60)
        running.workers[0].kill()
        verdicts = [verdict for future in futures for verdict in future.result(120)]

    assert running.workers[1].poll() is None
    assert {verdict.outcome for verdict in verdicts} == {Outcome.SCORED}
    assert {verdict.scores["f1"] for verdict in verdicts} == {1.0}
    assert len(verdicts) == sum(map(len, batches))
