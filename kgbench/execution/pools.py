# SPDX-License-Identifier: Apache-2.0
"""Where judging happens: in threads of this process, each with a child, or on a Dask cluster.

Both are a ``concurrent.futures.Executor``; batches go in by ``submit(judge_batch, batch, limits)``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from kgbench.errors import ConfigurationError, Finding
from kgbench.execution.judging import JudgeLimits, ready

P = ParamSpec("P")
T = TypeVar("T")

_LOCAL = "local"
_DASK = "dask:"
_EARLY = 2  # children that are started before there is something to judge


def executor(spec: str) -> Executor:
    """The executor that ``spec`` names; shut it down to end its children.

    ``local`` and ``local:N`` judge in N threads (by default one per processor), each with a child
    process; ``dask:tcp://host:port`` on the workers of a running Dask cluster.
    :class:`~kgbench.errors.ConfigurationError` for anything else.
    """
    if spec.startswith(_DASK):
        return DaskPool(spec.removeprefix(_DASK))
    name, _, number = spec.partition(":")
    if name != _LOCAL or not (number == "" or (number.isdecimal() and int(number) > 0)):
        raise _unusable(spec, "it is neither local, local:N nor dask:tcp://host:port")
    workers = int(number) if number else os.cpu_count() or 1
    # A thread that ends takes its child along: the child is a value of the thread's own.
    return ThreadPoolExecutor(workers, thread_name_prefix="kgbench-judge")


def workers(pool: Executor) -> int:
    """How many batches an executor judges at a time."""
    found: int = getattr(pool, "_max_workers", 2)
    return found


def begin(pool: Executor, limits: JudgeLimits) -> None:
    """Start the first children now, not when there are answers to judge; waits for none.

    More are started by batches that find the first ones busy. A child that cannot be started is
    told of by the batch that needs it.
    """
    for _ in range(min(workers(pool), _EARLY)):
        pool.submit(ready, limits)


class DaskPool(Executor):
    """Judges on the Dask cluster at ``address``, whose workers have kgbench installed."""

    def __init__(self, address: str) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError:
            raise _unusable(
                f"dask:{address}", "Dask is not installed: pip install 'kgbench[dask]'"
            ) from None
        try:
            self._client = distributed.Client(address, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise _unusable(f"dask:{address}", str(error)) from error
        self._executor = self._client.get_executor(pure=False)
        self._waiting: set[Future[Any]] = set()
        self._max_workers = max(len(self._client.scheduler_info()["workers"]), 1)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` on a worker."""
        future: Future[T] = self._executor.submit(fn, *args, **kwargs)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the cluster, which goes on running."""
        if cancel_futures:  # which the executor of a Dask client cannot do by itself
            for future in tuple(self._waiting):
                future.cancel()
        self._executor.shutdown(wait=wait)
        self._client.close()


def _unusable(spec: str, why: str) -> ConfigurationError:
    return ConfigurationError([Finding("--executor", "", f"'{spec}' cannot be used: {why}")])
