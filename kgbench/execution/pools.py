# SPDX-License-Identifier: Apache-2.0
"""Executors for judging: threads of this process, each with a child, or one of a plug-in.

All are a ``concurrent.futures.Executor``; use ``submit(judge_batch, batch, limits)``. A plug-in
names a function ``open(address)`` in the group ``kgbench.executors``; the property ``workers`` of
its executor is the number of batches that are judged in parallel.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor

from kgbench import entry_points
from kgbench.errors import ConfigurationError, Finding
from kgbench.execution.judging import JudgeLimits, start_child

_GROUP = "kgbench.executors"
_LOCAL = "local"
_EARLY = 2  # children that are started before the first answer


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


def unusable(spec: str, reason: str) -> ConfigurationError:
    """Return the error of an executor that cannot be used."""
    return ConfigurationError([Finding("--executor", "", f"'{spec}' cannot be used: {reason}")])
