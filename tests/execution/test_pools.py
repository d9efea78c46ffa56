# SPDX-License-Identifier: Apache-2.0
"""Executor pools for judging, by specification."""

import os
import sys

import pytest

from kgbench.errors import ConfigurationError, EvaluationError
from kgbench.execution import judging
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import executor, processors, start_children, workers
from kgbench.model import Outcome
from kgbench.tasks import catalogue


def friend_count():
    """Return a case of a task class of kgbench with its reference answer."""
    name = "RdfFriendCount"
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    [case] = catalogue.module(name).cases(task, "kgbench-1", 0, 1)
    return JudgeRequest(case, (catalogue.module(name).reference(case),))


pytestmark = pytest.mark.usefixtures("own_judges")


@pytest.mark.parametrize("spec", ["local:2", "local:1"])
def test_local_pools_judge(spec):
    """A local pool judges batches in the given number of threads and ends on shutdown."""
    request = friend_count()
    with executor(spec) as pool:
        batches = [pool.submit(judge_batch, [request] * 20, JudgeLimits()) for _ in range(4)]
        verdicts = [verdict for batch in batches for verdict in batch.result()]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.SCORED}
    assert {verdict.scores["f1"] for verdict in verdicts} == {1.0}
    assert len(verdicts) == 80


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_local_pools_count_only_the_processors_that_they_may_use():
    """A local pool has a thread per processor, and one if it is bound to one, as by taskset."""
    allowed = os.sched_getaffinity(0)
    with executor("local") as pool:
        assert workers(pool) == processors() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with executor("local") as pool:
            assert workers(pool) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_children_begin_before_there_is_something_to_judge():
    """A started pool has a child process that waits for the first batch."""
    with executor("local:1") as pool:
        start_children(pool, JudgeLimits(), {"RdfFriendCount"})
        assert pool.submit(lambda: judging._own.process.alive).result()


def test_what_cannot_begin_is_told_by_the_batch():
    """Starting raises nothing; the first batch raises why no child process could be started."""
    unknown = JudgeLimits(engine="nonesuch")
    with executor("local:1") as pool:
        start_children(pool, unknown, ())
        with pytest.raises(EvaluationError, match="no judging process could be started"):
            pool.submit(judge_batch, [friend_count()], unknown).result()


@pytest.mark.parametrize("spec", ["", "local:0", "local:-1", "local:x", "ray:1", "dask"])
def test_unknown_specifications_are_refused(spec):
    """An unknown specification is refused with the given and the possible values."""
    with pytest.raises(ConfigurationError, match=f"'{spec}' cannot be used: it is neither local"):
        executor(spec)
