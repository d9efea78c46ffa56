# SPDX-License-Identifier: Apache-2.0
"""Starts and ends of judging processes: killed, by themselves, with their parent."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgbench.children import child
from kgbench.errors import EvaluationError
from kgbench.execution import judging
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from tests.execution.judging.probing import (
    PATIENCE,
    PATIENT,
    PROBE,
    SMALL,
    TASKS,
    judge,
    requests,
    running,
    wait_until,
)


def test_the_child_stays_for_the_next_batch():
    """A thread's next batch uses the same process; with other limits it uses another one."""
    first, second = (judge_batch(requests("echo"), PATIENT)[0].infos["pid"] for _ in range(2))
    assert first == second
    assert judge_batch(requests("echo"), SMALL)[0].infos["pid"] != first


def test_a_child_has_the_classes_that_it_needs():
    """A child has the task class of its first batch; for another one, a child with all starts."""
    end_child()

    def classes_after(name):
        task = next(task for task in TASKS.values() if task.task_class == name)
        module = catalogue.module(name)
        (given,) = module.cases(task, "test", 0, 1)
        (verdict,) = judge_batch([JudgeRequest(given, (module.reference(given),))], PATIENT)
        assert verdict.outcome == Outcome.SCORED
        return judging._own.process, judging._own.process.setup.classes

    first, classes = classes_after("RdfFriendCount")
    assert classes == {"RdfFriendCount"}
    second, classes = classes_after("TurtleErrorsStatic")
    assert classes == catalogue.classes_with_code()
    assert not first.alive
    second.kill()
    third, classes = classes_after("RdfFriendCount")
    assert classes == catalogue.classes_with_code()
    assert classes_after("RdfSyntaxFixList") == (third, classes)
    end_child()
    judge_batch(requests("echo"), PATIENT)
    assert judging._own.process.setup.classes == catalogue.classes_with_code()  # a foreign class


@pytest.mark.parametrize(
    "how", ["signal-self SIGKILL", "signal-self SIGTERM", "leave 3", "leave 0"]
)
def test_a_child_that_ends_is_tried_twice(how):
    """A process that ends without a reason is a defect, reported after a second attempt."""
    verdict = judge(how)
    assert verdict.outcome == Outcome.EVALUATOR_ERROR
    assert how.split()[1] in verdict.infos["message"]
    assert verdict.scores == {}


def test_a_child_killed_from_outside_is_started_again(tmp_path):
    """After a process is killed, its current answer is judged again and the batch continues."""
    begun, leave = tmp_path / "begun", tmp_path / "leave"
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(judge_batch, requests("echo a", f"rest {tmp_path}", "echo b"), PATIENT)
        try:
            wait_until(lambda: list(begun.glob("*")))
            [pid] = [int(place.name) for place in begun.iterdir()]
            os.kill(pid, 9)
        finally:
            leave.mkdir()
        first, rest, last = batch.result()
    assert first.infos["pid"] == pid
    assert rest.outcome == Outcome.SCORED
    assert rest.infos["pid"] == last.infos["pid"]
    assert last.infos["argument"] == "b"
    assert last.infos["pid"] != pid


def test_a_child_killed_between_batches_is_started_again():
    """A batch whose process was killed before gets a new one and its usual verdict."""
    pid = judge_batch(requests("echo"), PATIENT)[0].infos["pid"]
    os.kill(pid, 9)
    [verdict] = judge_batch(requests("echo"), PATIENT)
    assert (verdict.outcome, verdict.infos["pid"] != pid) == (Outcome.SCORED, True)


def test_a_child_that_cannot_start_is_told():
    """A process that cannot start raises an error with the reason."""
    with pytest.raises(EvaluationError, match="no engine 'jena'"):
        judge_batch(requests("echo"), JudgeLimits(engine="jena"))


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("echo there is no library >&2; exit 3", "ended with exit status 3: there is no library"),
        ("exec sleep 600", "it is not ready after"),
    ],
)
def test_a_child_that_is_never_ready_is_told(tmp_path, monkeypatch, does, why):
    """A process that ends at once, or never becomes ready, raises an error and is ended."""
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\n{does}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setattr(child, "_START_LIMIT", PATIENCE if "exit" in does else 0.3)
    with pytest.raises(EvaluationError, match=f"no judging process could be started: .*{why}"):
        judging.Process(judging.Setup(judging.JudgeLimits(memory_bytes=1 << 30), frozenset()))
    if "exit" in does:
        assert not running(int((tmp_path / "pid").read_text()))


def test_threads_have_their_own_children():
    """Batches of several threads use separate processes, which end with their threads."""
    barrier = threading.Barrier(3)

    def work(name):
        barrier.wait()
        verdicts = judge_batch(requests(*[f"echo {name}"] * 50), PATIENT)
        barrier.wait()
        assert {v.infos["argument"] for v in verdicts} == {str(name)}
        return verdicts[0].infos["pid"]

    with ThreadPoolExecutor(3) as pool:
        pids = list(pool.map(work, range(3)))
    assert len(set(pids)) == 3
    for pid in pids:
        wait_until(lambda pid=pid: not running(pid))


def test_children_end_with_their_parent(repository):
    """If the parent is killed, its child process ends, even within an endless query."""
    code = f"""
        import sys, threading
        sys.path[:0] = [{PROBE!r}, {str(repository)!r}]
        from kgbench.execution import judging
        from tests.execution.judging.probing import *
        pid = judge_batch(requests("echo"), PATIENT)[0].infos["pid"]
        child = judging._own.process
        def tell():
            wait_until(lambda: child.query is not None)
            print(pid, flush=True)
        threading.Thread(target=tell).start()
        judge_batch(requests("query " + ENDLESS), PATIENT)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        child = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not running(child))
