# SPDX-License-Identifier: Apache-2.0
"""Executors for judging: threads of this process, each with a child, or one of a plug-in.

All are a ``concurrent.futures.Executor``; use ``submit(judge_batch, batch, limits)``. A plug-in
names a function ``open(address)`` in the group ``kgbench.executors``; the property ``workers`` of
its executor is the number of batches that are judged in parallel. Of many batches, a window is
under way ahead of the consumer of their results (:func:`in_order`).
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from kgbench import entry_points
from kgbench.errors import ConfigurationError, Finding
from kgbench.execution.judging import JudgeLimits, start_child

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
