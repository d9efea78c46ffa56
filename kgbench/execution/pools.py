# SPDX-License-Identifier: Apache-2.0
"""Executors for judging: threads of this process, each with a child, or one of a plug-in.

All are a ``concurrent.futures.Executor``; use ``submit(judge_batch, batch, limits)``. A plug-in
names a function ``open(address)`` in the group ``kgbench.executors``; the property ``workers`` of
its executor is the number of batches that are judged in parallel. Of many batches, or of whole
dialogues, a window is under way ahead of the consumer of their results (:func:`in_order`).
"""

from __future__ import annotations

import concurrent.futures
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeAlias, TypeVar

from kgbench import entry_points
from kgbench.errors import ConfigurationError, Finding
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch, start_child
from kgbench.model import Case, Dialogue, Verdict

_GROUP = "kgbench.executors"
_LOCAL = "local"
_EARLY = 2  # children that are started before the first answer
_BATCH = 64  # items that one call of an executor processes
_AHEAD = 8  # minimal number of batches under way ahead of the consumer
_EACH = 2  # batches per worker: one being processed, one waiting

Item = TypeVar("Item")
Label = TypeVar("Label")
Request = TypeVar("Request")
Answer = TypeVar("Answer")


Part: TypeAlias = Sequence[tuple[Dialogue, Case]]
Of = TypeVar("Of")


def executor(spec: str) -> Executor:
    """Return the executor that ``spec`` names; shut it down to end its children.

    ``local`` and ``local:N`` judge in N threads (by default one for each of :func:`processors`),
    each with a child process; ``NAME:ADDRESS`` is an executor of a plug-in, such as
    ``dask:tcp://host:port``. Raises :class:`~kgbench.errors.ConfigurationError` for other values.
    """
    name, separator, number = spec.partition(":")
    if separator and name in entry_points.names(_GROUP):
        plugged: Executor = entry_points.load(_GROUP, name)(number)
        return plugged
    if name != _LOCAL or not (number == "" or (number.isdecimal() and int(number) > 0)):
        others = " or ".join(f"{each}:ADDRESS" for each in entry_points.names(_GROUP))
        raise unusable(spec, f"it is neither local, local:N nor {others or 'of a plug-in'}")
    workers = int(number) if number else processors()
    # A child ends with its thread, because the thread's local storage owns it.
    return ThreadPoolExecutor(workers, thread_name_prefix="kgbench-judge")


def processors() -> int:
    """Return the number of processors that this process may use."""
    if sys.platform == "linux":  # fewer than the machine has under taskset, Slurm or a cpuset
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(pool: Executor) -> int:
    """Return how many batches an executor judges in parallel."""
    number: int = getattr(pool, "workers", getattr(pool, "_max_workers", 2))
    return number


def start_children(pool: Executor, limits: JudgeLimits, classes: Iterable[str]) -> None:
    """Start the first children for cases of ``classes``, without waiting for them.

    Later batches start more children if the first ones are busy. If a child cannot be started, the
    batch that needs it raises the error.
    """
    for _ in range(min(workers(pool), _EARLY)):
        pool.submit(start_child, limits, frozenset(classes))


def split_parts(items: Iterable[Item]) -> Iterator[Sequence[Item]]:
    """Split items into parts that one call of an executor processes."""
    remaining = iter(items)
    while part := list(islice(remaining, _BATCH)):
        yield part


def in_order(
    batches: Iterable[tuple[Label, Sequence[Request]]],
    executor: Executor,
    fn: Callable[[Sequence[Request], JudgeLimits], list[Answer]],
    limits: JudgeLimits,
) -> Iterator[tuple[Label, list[Answer]]]:
    """Yield the label of each batch with the results of ``fn`` for its requests, in order.

    Later batches are read and processed while the consumer uses an earlier one. Empty batches are
    passed on in their place. Batches that have not begun are cancelled if the consumer stops early.
    """
    waiting: deque[tuple[Label, Future[list[Answer]] | None]] = deque()
    try:
        for label, requests in batches:
            waiting.append((label, executor.submit(fn, requests, limits) if requests else None))
            if len(waiting) > max(_AHEAD, _EACH * workers(executor)):
                yield _completed(*waiting.popleft())
        while waiting:
            yield _completed(*waiting.popleft())
    finally:
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _completed(label: Label, future: Future[list[Answer]] | None) -> tuple[Label, list[Answer]]:
    return label, [] if future is None else future.result()


def unusable(spec: str, reason: str) -> ConfigurationError:
    """Return the error of an executor that cannot be used."""
    return ConfigurationError([Finding("--executor", "", f"'{spec}' cannot be used: {reason}")])


def judge_dialogues(
    dialogues: Iterable[tuple[Dialogue, Case]],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> Iterator[tuple[Dialogue, list[Verdict]]]:
    """Yield each dialogue with the verdicts on all judged answers, in order."""
    parts = ((None, part) for part in split_parts(dialogues))
    for _, part, verdicts in judge_parts(parts, executor, limits):
        for (dialogue, _), dialogue_verdicts in zip(part, verdicts, strict=True):
            yield dialogue, dialogue_verdicts


def judge_parts(
    parts: Iterable[tuple[Of, Part]], executor: concurrent.futures.Executor, limits: JudgeLimits
) -> Iterator[tuple[Of, Part, list[list[Verdict]]]]:
    """Yield each part with the verdicts on each answer of each dialogue, in order.

    Later parts are read and judged while the consumer uses an earlier one. Empty parts are passed
    on in their place.
    """

    def batches() -> Iterator[tuple[tuple[Of, Part, list[tuple[int, ...]]], list[JudgeRequest]]]:
        for of, part in parts:
            judged = [dialogue.judged for dialogue, _ in part]
            requests = [
                JudgeRequest.of(dialogue, case, k)
                for (dialogue, case), rounds in zip(part, judged, strict=True)
                for k in rounds
            ]
            yield (of, part, judged), requests

    for (of, part, judged), verdicts in in_order(batches(), executor, judge_batch, limits):
        remaining = iter(verdicts)
        yield of, part, [list(islice(remaining, len(rounds))) for rounds in judged]
