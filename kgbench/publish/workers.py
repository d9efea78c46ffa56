# SPDX-License-Identifier: Apache-2.0
"""Work in this process, or in a pool of processes that end with this one."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property
from typing import Any, Generic, TypeVar

from kgbench.children.lockdown import die_with_parent
from kgbench.errors import PublicationRefused

_FEW = 300  # dialogues; starting processes does not pay off for fewer
_OBJECTS = 100_000  # new objects between two searches for unreachable cycles

Progress = Callable[[int, int, str], None]
"""Is called with the numbers of what is done and of all, and with what it is."""

W = TypeVar("W")
R = TypeVar("R")


class Pool(Generic[W]):
    """Calls methods of a worker when their results are requested.

    ``make`` makes the worker from the name of its process.
    """

    def __init__(self, make: Callable[[str], W]) -> None:
        self._make = make

    @cached_property
    def _worker(self) -> W:
        return self._make("here")

    def submit(self, method: Callable[..., R], *arguments: Any, **options: Any) -> Callable[[], R]:
        """Return a function that waits for the result of a method of the worker's class."""
        return lambda: method(self._worker, *arguments, **options)


class _ProcessPool(Pool[W]):
    """Calls methods of workers in processes, one worker in each."""

    def __init__(self, make: Callable[[str], W], executor: ProcessPoolExecutor) -> None:
        super().__init__(make)
        self._executor = executor

    def submit(self, method: Callable[..., R], *arguments: Any, **options: Any) -> Callable[[], R]:
        with _sigint_blocked():
            return self._executor.submit(_call, method, arguments, options).result


@contextlib.contextmanager
def workers(make: Callable[[str], W], processes: int, dialogues: int) -> Iterator[Pool[W]]:
    """Provide workers for this many dialogues; their processes end with the context."""
    if processes <= 1 or dialogues <= _FEW:
        threshold = gc.get_threshold()
        _collect_rarely()
        try:
            yield Pool(make)
        finally:
            gc.set_threshold(*threshold)
        return
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(make,),
    )
    try:
        yield _ProcessPool(make, executor)
    except BrokenProcessPool as error:
        raise PublicationRefused(
            "a worker process was killed (out of memory?): publish again with --processes 1"
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Delay Ctrl-C, and start worker processes with SIGINT blocked.

    A worker process that receives SIGINT before it ignores the signal, or while it is sent a task,
    ends with a traceback.
    """
    # Only the main thread receives signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if received:
            signal.raise_signal(signal.SIGINT)


def _collect_rarely() -> None:
    """Let Python search for unreachable cycles rarely.

    A run consists of many small objects without cycles, and the searches took 6 % of the time.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


_WORKER: dict[str, Any] = {}


def _start(make: Callable[[str], Any]) -> None:
    """Initialise a worker process, which ends with its parent; Ctrl-C is handled by its parent."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    assert parent.pid is not None
    die_with_parent(parent.pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _collect_rarely()
    _WORKER["this"] = make(f"process-{os.getpid()}")


def _call(method: Callable[..., R], arguments: tuple[Any, ...], options: dict[str, Any]) -> R:
    """Call a method in a worker process."""
    return method(_WORKER["this"], *arguments, **options)
