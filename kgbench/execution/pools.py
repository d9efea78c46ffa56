# SPDX-License-Identifier: Apache-2.0
"""Where judging happens: in threads of this process, each with a child, or on a Dask cluster.

Both are a ``concurrent.futures.Executor``; batches go in by ``submit(judge_batch, batch, limits)``.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, cast

from kgbench.errors import ConfigurationError, EvaluationError, Finding
from kgbench.execution.judging import Asked, JudgeLimits, answer_batch, judge_batch, ready
from kgbench.execution.parcels import Lacking, Sender, opened

P = ParamSpec("P")
T = TypeVar("T")

_LOCAL = "local"
_DASK = "dask:"
_RECOUNT = 2.0  # seconds after which the workers of a cluster are counted again
_LOOK = 0.2  # seconds between two looks at the connection to a scheduler
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
    if isinstance(pool, DaskPool):
        return pool.workers
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
    """Judges on the Dask cluster at ``address``, whose workers have kgbench installed.

    Cases go to each worker once (:mod:`kgbench.execution.parcels`). Where the cluster gives up a
    batch, because its scheduler is gone, the future raises
    :class:`~kgbench.errors.EvaluationError`.
    """

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
        self._address = address
        self._executor = self._client.get_executor(pure=False)
        self._waiting: set[Future[Any]] = set()
        self._sender = Sender()
        self._unanswered: set[Future[Any]] = set()
        self._is_lost = False
        self._max_workers = 0
        self._counted = -math.inf
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="kgbench-dask", daemon=True).start()

    @property
    def workers(self) -> int:
        """How many batches are judged at a time now: workers may come and go."""
        now = time.monotonic()
        if now - self._counted > _RECOUNT:
            self._counted = now
            with suppress(OSError, TimeoutError):  # a lost scheduler is told of by the batches
                self._max_workers = sum(self._client.nthreads().values())
        return max(self._max_workers, 1)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` on a worker."""
        if self._is_lost:
            raise self._lost()
        whole: Future[T] = Future()
        self._unanswered.add(whole)
        whole.add_done_callback(self._unanswered.discard)
        again: Callable[[Any], Future[Any] | None] = _never
        if fn in {judge_batch, answer_batch}:
            batch, limits = cast("tuple[Sequence[Asked], JudgeLimits]", args)

            def with_cases(result: Any) -> Future[Any] | None:
                if not isinstance(result, Lacking):
                    return None
                return self._sent(opened, fn, self._sender.parcel(batch, whole=True), limits)

            again = with_cases
            first = self._sent(opened, fn, self._sender.parcel(batch), limits)
        else:
            first = self._sent(fn, *args, **kwargs)
        first.add_done_callback(lambda future: self._hand_on(future, whole, again))
        whole.add_done_callback(lambda future: first.cancel() if future.cancelled() else None)
        return whole

    def _sent(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(fn, *args, **kwargs)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def _hand_on(
        self, future: Future[Any], whole: Future[Any], again: Callable[[Any], Future[Any] | None]
    ) -> None:
        """Give what came of ``future`` to ``whole``, unless it has to be asked ``again``."""
        with suppress(InvalidStateError):  # cancelled or told of the loss of the cluster
            try:
                if future.cancelled():
                    if self._ended.is_set():
                        whole.cancel()
                    else:
                        whole.set_exception(self._lost())
                elif (error := future.exception()) is not None:
                    whole.set_exception(error)
                elif (once_more := again(future.result())) is None:
                    whole.set_result(future.result())
                else:
                    once_more.add_done_callback(lambda last: self._hand_on(last, whole, _never))
            except InvalidStateError:
                raise
            except Exception as error:  # noqa: BLE001 - who waits has to learn of it
                whole.set_exception(error)

    def _watch(self) -> None:
        """Tell those who wait when the scheduler is gone.

        It forgets what a client has asked as soon as their connection ends, and Dask never ends a
        future whose result was on its way at that moment.
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
        """Let go of the cluster, which goes on running."""
        if cancel_futures or not wait:
            self._ended.set()
        if cancel_futures:  # which the executor of a Dask client cannot do by itself
            for future in tuple(self._waiting):
                future.cancel()
        if not self._is_lost:  # else Dask would wait for what never comes
            self._executor.shutdown(wait=wait)
        self._ended.set()
        with suppress(*([OSError, TimeoutError] if self._is_lost else [])):
            self._client.close()


def _never(_: Any) -> None:
    """Nothing has to be asked again."""


def _unusable(spec: str, why: str) -> ConfigurationError:
    return ConfigurationError([Finding("--executor", "", f"'{spec}' cannot be used: {why}")])
