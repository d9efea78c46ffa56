# SPDX-License-Identifier: Apache-2.0
"""Judging of answers: task classes, the lockdown of judging processes, and a test of both."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from functools import partial

from kgbench.children import one_task
from kgbench.children.endings import ChildTimeout
from kgbench.doctor import Condition, State
from kgbench.errors import KgbenchError
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue, texts

_CLASS = "RdfFriendCount"
_MEMORY = 512 << 20
_LIMIT = 60.0  # seconds
_condition = partial(Condition, "judging")
_PROBED = ("sockets", "files", "memory")


def task_classes() -> Iterator[Condition]:
    """Yield the usable task classes, and the unusable ones of other packages."""
    usable = catalogue.task_classes()
    labels = catalogue.labelled_tasks()
    for name, reason in catalogue.unusable().items():
        words = f"cannot be used: {reason}"
        yield _condition(name, State.BROKEN, words, "repair or remove its package")
    for name in usable:
        if sealed := texts.missing_key(name):
            yield _condition(name, State.NOTE, f"sealed: {sealed}")
    words = f"{len(usable)} task classes with {len(labels)} tasks"
    facts = {"classes": sorted(usable), "tasks": len(labels)}
    yield _condition("task classes", State.OK, words, None, facts)


def lockdown() -> Iterator[Condition]:
    """Yield what a process can still do after the lockdown of judging processes."""
    try:
        child = one_task.run("kgbench.doctor.probe", str(_MEMORY), seconds=_LIMIT)
        refused = json.loads(child.out)
    except (OSError, ChildTimeout, ValueError) as error:
        yield _condition("lockdown", State.BROKEN, f"a process cannot be locked down: {error}")
        return
    open_ = [name for name in _PROBED if refused.get(name) is not True]
    if not open_:
        words = "a locked process opens no socket and no file, and its memory is limited"
        yield _condition("lockdown", State.OK, words, None, refused)
        return
    # macOS ignores memory limits; everything else is a hole in the lockdown.
    known = open_ == ["memory"] and sys.platform != "linux"
    words = f"the answer of a model could use {', '.join(open_)} of this machine"
    yield _condition("lockdown", State.NOTE if known else State.BROKEN, words, None, refused)


def judging() -> Iterator[Condition]:
    """Yield the result of judging a reference answer, and of judging with a timeout of zero."""
    task = next(iter(catalogue.task_class(_CLASS).tasks))
    module = catalogue.module(_CLASS)
    (case,) = module.cases(task, "doctor", 0, 1)
    request = JudgeRequest(case, (module.reference(case),))
    start = time.perf_counter()
    try:
        (judged,) = judge_batch([request], JudgeLimits())
        took = time.perf_counter() - start
        (timed_out,) = judge_batch([request], JudgeLimits(seconds=0.0))
    except KgbenchError as error:
        yield _condition("answers", State.BROKEN, f"answers cannot be judged: {error}")
        return
    finally:
        end_child()
    score = judged.scores.get(catalogue.task_class(_CLASS).main_metric)
    if judged.outcome is not Outcome.SCORED or score != 1.0:
        reason = judged.infos.get("message", judged.outcome.value)
        words = f"the reference answer of {task.label} is not judged correct: {reason}"
        yield _condition("answers", State.BROKEN, words)
    elif timed_out.outcome is not Outcome.TIMEOUT:
        words = "a judging process that exceeds its time limit is not stopped"
        yield _condition("answers", State.BROKEN, words)
    else:
        words = f"judged in a child process ({took:.1f} s including its start), stopped in time"
        yield _condition("answers", State.OK, words, None, {"seconds": round(took, 3)})
