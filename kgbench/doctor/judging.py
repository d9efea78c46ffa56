# SPDX-License-Identifier: Apache-2.0
"""Whether answers can be judged here: in a child with limits, which can open nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

from kgbench.doctor.conditions import Condition, State
from kgbench.errors import KgbenchError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.execution.process import environment
from kgbench.model import Outcome
from kgbench.tasks import catalogue, sealed_classes

_CLASS = "RdfFriendCount"
_MEMORY = 512 << 20
_LIMIT = 60.0  # seconds
#: What a locked process reports, and what that means where it is false.
PROBED = {
    "sockets": "it can open sockets: what a model writes could reach the network",
    "files": "it can open files: what a model writes could read or change them",
    "memory": "its memory has no limit here: a greedy answer could take that of the machine",
}


def task_classes() -> Iterator[Condition]:
    """Yield the task classes that can be used, and those of other packages that cannot."""
    there = catalogue.task_classes()
    labels = catalogue.labelled_tasks()
    for name, why in catalogue.unusable().items():
        advice = "repair or remove the package that brings it"
        yield Condition("judging", name, State.BROKEN, f"cannot be used: {why}", advice)
    for name in there:
        if sealed := sealed_classes.why_sealed(name):
            yield Condition("judging", name, State.NOTE, f"sealed: {sealed}")
    words = f"{len(there)} task classes with {len(labels)} tasks"
    facts = {"classes": sorted(there), "tasks": len(labels)}
    yield Condition("judging", "task classes", State.OK, words, None, facts)


def lockdown() -> Iterator[Condition]:
    """Yield what a process can still do once it is locked down as the judging ones are."""
    command = [sys.executable, "-P", "-m", "kgbench.doctor.probe", str(_MEMORY)]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            command, capture_output=True, text=True, check=False, timeout=_LIMIT, env=environment()
        )
        refused = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        words = f"a process cannot be locked down: {error}"
        yield Condition("judging", "lockdown", State.BROKEN, words)
        return
    for name, meaning in PROBED.items():
        if refused.get(name) is True:
            continue
        # macOS takes no notice of limits of memory; everything else is a hole.
        known = name == "memory" and sys.platform != "linux"
        yield Condition("judging", name, State.NOTE if known else State.BROKEN, meaning)
    if all(refused.get(name) is True for name in PROBED):
        words = "a locked process opens no socket and no file, and its memory is limited"
        yield Condition("judging", "lockdown", State.OK, words, None, refused)


def judging() -> Iterator[Condition]:
    """Yield a reference answer through a real child, and one that is given no time at all."""
    task = next(one for one in catalogue.task_class(_CLASS).tasks)
    module = catalogue.module(_CLASS)
    (case,) = module.cases(task, "doctor", 0, 1)
    request = JudgeRequest(case, (module.reference(case),))
    begin = time.perf_counter()
    try:
        (judged,) = judge_batch([request], JudgeLimits())
        took = time.perf_counter() - begin
        (ended,) = judge_batch([request], JudgeLimits(seconds=0.0))
    except KgbenchError as error:
        yield Condition("judging", "answers", State.BROKEN, f"no child can be started: {error}")
        return
    finally:
        end_child()
    score = judged.scores.get(catalogue.task_class(_CLASS).main_metric)
    if judged.outcome is not Outcome.SCORED or score != 1.0:
        said = judged.infos.get("message", judged.outcome.value)
        words = f"the reference answer of {task.label} is not judged right: {said}"
        yield Condition("judging", "answers", State.BROKEN, words)
    elif ended.outcome is not Outcome.TIMEOUT:
        words = "a child that exceeds its time is not ended"
        yield Condition("judging", "answers", State.BROKEN, words)
    else:
        words = f"judged in a child of its own ({took:.1f} s with its start), ended in time"
        yield Condition("judging", "answers", State.OK, words, None, {"seconds": round(took, 3)})
