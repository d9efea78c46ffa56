# SPDX-License-Identifier: Apache-2.0
"""The executor ``dask:tcp://host:port``: judging on the workers of a running Dask cluster."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from kgbench.api import EvaluationError, pip_install
from kgbench.execution.pools import unusable

P = ParamSpec("P")
T = TypeVar("T")

_RECOUNT = 2.0  # seconds after which the workers of a cluster are counted again
_LOOK = 0.2  # seconds between two checks of the connection to a scheduler


class DaskPool(Executor):
    """An executor on the Dask cluster at ``address``, whose workers have kgbench installed.

    If the cluster abandons a batch because its scheduler is gone, the future raises
    :class:`~kgbench.errors.EvaluationError`.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError:
            raise unusable(
                f"dask:{address}", f"Dask is not installed: {pip_install('kgbench[dask]')}"
            ) from None
        try:
            self._client = distributed.Client(address, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise unusable(f"dask:{address}", str(error)) from error
        self._address = address
        self._executor = self._client.get_executor(pure=False)
        self._waiting: set[Future[Any]] = set()
        self._unanswered: set[Future[Any]] = set()
        self._is_lost = False
        self._max_workers = 0
        self._counted = -math.inf
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="kgbench-dask", daemon=True).start()

    @property
    def workers(self) -> int:
        """The number of batches judged in parallel; it changes as workers join and leave."""
        now = time.monotonic()
        if now - self._counted > _RECOUNT:
            self._counted = now
            with suppress(OSError, TimeoutError):  # batches report a lost scheduler
                self._max_workers = sum(self._client.nthreads().values())
        return max(self._max_workers, 1)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` on a worker."""
        if self._is_lost:
            raise self._lost()
        outer: Future[T] = Future()
        self._unanswered.add(outer)
        outer.add_done_callback(self._unanswered.discard)
        inner: Future[T] = self._executor.submit(fn, *args, **kwargs)
        self._waiting.add(inner)
        inner.add_done_callback(self._waiting.discard)
        inner.add_done_callback(lambda _: self._copy_outcome(inner, outer))
        outer.add_done_callback(lambda _: inner.cancel() if outer.cancelled() else None)
        return outer

    def _copy_outcome(self, inner: Future[T], outer: Future[T]) -> None:
        with suppress(InvalidStateError):  # already cancelled or failed because the cluster is lost
            if inner.cancelled() and self._ended.is_set():
                outer.cancel()
            elif inner.cancelled():
                outer.set_exception(self._lost())
            elif (error := inner.exception()) is not None:
                outer.set_exception(error)
            else:
                outer.set_result(inner.result())

    def _watch(self) -> None:
        """Fail all waiting futures when the scheduler is gone.

        The scheduler forgets the tasks of a client when their connection ends, and Dask never
        completes a future whose result was being transferred at that moment.
        """
        while not self._ended.wait(_LOOK):
            if self._client.status == "running":
                continue
            self._is_lost = True
            for future in tuple(self._unanswered):
                with suppress(InvalidStateError):
                    future.set_exception(self._lost())
            return

    def _lost(self) -> EvaluationError:
        return EvaluationError(
            f"the Dask cluster at {self._address} has given up what it was to judge: its scheduler "
            "has ended or cannot be reached; what was written before is there: start the cluster "
            "again and repeat the command"
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster, which keeps running."""
        if cancel_futures or not wait:
            self._ended.set()
        if cancel_futures:  # not supported by the executor of a Dask client
            for future in tuple(self._waiting):
                future.cancel()
        if not self._is_lost:  # else Dask would wait forever
            self._executor.shutdown(wait=wait)
        self._ended.set()
        with suppress(*([OSError, TimeoutError] if self._is_lost else [])):
            self._client.close()
