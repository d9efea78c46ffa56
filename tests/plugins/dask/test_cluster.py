# SPDX-License-Identifier: Apache-2.0
"""A Dask cluster gives the same evaluations as this machine, and loses none with a worker."""

from __future__ import annotations

import re
import threading

import pytest

from kgbench import config
from kgbench.errors import EvaluationError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import executor, workers
from kgbench.model import Outcome
from kgbench.record import reading
from kgbench.store import open_store
from kgbench.store.copying import copy
from kgbench.tasks import catalogue
from tests.store.servers import Oxigraph
from tests.support.reevaluating import reevaluate
from tests.support.runs import hold
from tests.support.servers.dask_cluster import cluster

pytestmark = pytest.mark.servers

OF_THE_WORK = re.compile(r"prov#(wasAssociatedWith|startedAtTime|endedAtTime)>")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Yield a cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


def recorded(store):
    """Record a run of all task classes, with right and wrong answers, in ``store``; return it."""
    plan = config.quick_start(models=["baseline:noisy?rate=0.4&seed=7"], iterations=2)
    hold(store, plan)
    (run,) = reading.runs(store)
    return run


def judged(store, run, spec):
    """Return the evaluations of a new pass as sorted N-Triples without agents and times."""
    with executor(spec) as pool:
        found = reevaluate(store, run, pool, JudgeLimits())
    graph = next(p.graph for p in reading.passes(store, run) if p.iri == found.evaluation_pass)
    number = found.evaluation_pass.rpartition("/")[2]
    triples = store.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
    lines = {f"{triple} .".replace(number, "PASS") for triple in triples}
    return sorted(line for line in lines if not OF_THE_WORK.search(line)), found


def test_cluster_judges_a_remote_store_as_this_machine_does(running, tmp_path):
    """Scores and infos are the same from this machine and from a cluster with a remote store."""
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


def batches_of_answers(number, of=20):
    """Return this number of batches of right answers to the same 20 cases."""
    name = "RdfFriendCount"
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    cases = catalogue.module(name).cases(task, "kgbench-1", 0, 20)
    batch = [JudgeRequest(case, (catalogue.module(name).reference(case),)) for case in cases]
    return [batch * of for _ in range(number)]


def test_nothing_is_lost_with_a_worker(running):
    """Batches on a worker that is killed are judged by another one."""
    batches = batches_of_answers(30)
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


def test_workers_come_and_go(tmp_path):
    """A worker that joins later gets missing cases, and judges after the first has left."""
    batches = batches_of_answers(4)
    with cluster(tmp_path, workers=1) as started, executor(f"dask:{started.address}") as pool:
        assert workers(pool) == 1
        first = [pool.submit(judge_batch, batch, JudgeLimits()).result(120) for batch in batches]
        started.add(1)
        started.workers[0].kill()
        then = [pool.submit(judge_batch, batch, JudgeLimits()).result(120) for batch in batches]
    assert then == first
    assert {verdict.scores["f1"] for verdicts in then for verdict in verdicts} == {1.0}


def test_the_scheduler_ends_in_the_middle(tmp_path):
    """If the scheduler ends, the error is reported; the same command succeeds afterwards."""
    with open_store(str(tmp_path / "store")) as store:
        run = recorded(store)
        before = sorted(store.graphs())
        (tmp_path / "first").mkdir()
        with cluster(tmp_path / "first") as started:
            ending = threading.Event()

            def end(_):
                if not ending.is_set():
                    ending.set()
                    started.scheduler.kill()
                    started.scheduler.wait()

            with executor(f"dask:{started.address}") as pool:
                with pytest.raises(EvaluationError, match="has given up what it was to judge"):
                    reevaluate(store, run, pool, JudgeLimits(), watch=end)
                with pytest.raises(EvaluationError, match="repeat the command"):
                    pool.submit(judge_batch, batches_of_answers(1)[0], JudgeLimits())
        assert ending.is_set()
        assert sorted(store.graphs()) == before
        (tmp_path / "second").mkdir()
        with (
            cluster(tmp_path / "second", workers=1) as started,
            executor(f"dask:{started.address}") as pool,
        ):
            found = reevaluate(store, run, pool, JudgeLimits())
    assert found.comparison.dialogues > 0
    assert not found.comparison.differing
