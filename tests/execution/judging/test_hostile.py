# SPDX-License-Identifier: Apache-2.0
"""Three hundred hostile answers have the outcomes of their kinds.

The probe processes them as task classes do, checking and running queries and parsing documents;
task classes that ship with kgbench judge some directly.
"""

import contextlib
import os
import random
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Outcome, Verdict
from kgbench.tasks import catalogue
from tests.execution.judging.hostile import Hostile
from tests.execution.judging.hostile_answers import hostile_answers
from tests.execution.judging.hostile_documents import hostile_documents
from tests.execution.judging.hostile_queries import hostile_queries
from tests.execution.judging.probing import PATIENCE, TASKS, case, listener, nobody_came

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
#: Enough for answers that never end anyway.
HASTY = JudgeLimits(0.5, memory_bytes=PATIENT.memory_bytes)


@pytest.fixture
def elsewhere():
    """Yield a listener that must receive no connection."""
    with listener() as server:
        yield server


def question(kind: Hostile, number: int) -> Case:
    """Return the case for an answer of this kind."""
    if kind.task == "Probe":
        return case(number % 7)
    task = TASKS[kind.task]
    return catalogue.module(task.task_class).cases(task, "kgbench-1", 0, 1)[0]


def wrong(kind: Hostile, verdict: Verdict) -> str | None:
    """Return the unexpected part of a verdict, or ``None``."""
    if verdict.outcome not in kind.outcomes:
        return f"{verdict.outcome} {dict(verdict.infos)}"
    if verdict.outcome == Outcome.TIMEOUT and verdict.infos["limit"] not in kind.limits:
        return f"limit: {dict(verdict.infos)}"
    for name, value in kind.infos.items():
        if verdict.infos.get(name, value) != value:
            return f"{name}: {dict(verdict.infos)}"
    return None


def judged(kinds: dict[str, Hostile], limits: JudgeLimits) -> list[tuple[str, str, Verdict]]:
    """Return kind, answer and verdict of all answers, judged in mixed order by two processes."""
    answers = [(name, answer) for name, kind in kinds.items() for answer in kind.answers]
    random.Random(7).shuffle(answers)
    batch = [
        JudgeRequest(question(kinds[name], number), (answer,))
        for number, (name, answer) in enumerate(answers)
    ]
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(judge_batch, (batch[::2], batch[1::2]), (limits, limits))
        verdicts = dict(enumerate(halves))
    return [
        (name, answer, verdicts[number % 2][number // 2])
        for number, (name, answer) in enumerate(answers)
    ]


@contextlib.contextmanager
def peak_of_children():
    """Yield a list that gets the peak memory, in bytes, of each child during the block.

    Unlike the operating system's total, it excludes the children of other tests.
    """
    peaks = {}
    found = []
    done = threading.Event()

    def watch():
        mine = f"PPid:\t{os.getpid()}\n"
        while not done.wait(0.05):
            for place in Path("/proc").glob("[0-9]*"):
                # Before exec, a child shows the memory of its parent.
                if "kgbench.execution.child" not in _read(place / "cmdline"):
                    continue
                status = _read(place / "status")
                mark = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
                if mark is not None and mine in status:
                    peaks[place.name] = max(peaks.get(place.name, 0), int(mark[1]) * 1024)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found.extend(peaks.values())


def _read(path):
    """Return the text of a file of a process; empty if the process has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def test_every_hostile_answer_has_its_outcome(elsewhere: socket.socket):
    """Every batch ends, each answer has an expected outcome, no connection, bounded memory."""
    port = elsewhere.getsockname()[1]
    kinds = dict((*hostile_queries(port), *hostile_documents(port), *hostile_answers(port)))
    endless = {name: kind for name, kind in kinds.items() if kind.limits == ("time",)}
    with peak_of_children() as peak:
        results = judged(endless, HASTY)
        results += judged({n: kind for n, kind in kinds.items() if n not in endless}, PATIENT)

    assert len(kinds) >= 20
    assert len(results) >= 300
    unexpected = [
        f"{name}: {answer[:80]!r} -> {complaint}"[:600]
        for name, answer, verdict in results
        if (complaint := wrong(kinds[name], verdict)) is not None
    ]
    assert not unexpected, "\n".join(unexpected)
    assert nobody_came(elsewhere)
    assert 0 < max(peak) < PATIENT.memory_bytes
