# SPDX-License-Identifier: Apache-2.0
"""The processes that make runs and their executions."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from kgbench.errors import PublicationRefused
from kgbench.publish.executions import Done, Maker, Setup
from kgbench.publish.held import MOST_DIALOGUES, Recorded
from kgbench.publish.manifest import Unit
from kgbench.publish.parts import RunPart, dialogues_in
from kgbench.publish.running import MadeRun, Making, Workers, make_run

_FEW = 300  # dialogues; for fewer it does not pay to start processes


class _Here:
    """Makes runs and executions in this process, when they are waited for."""

    def __init__(self, setup: Setup, recorded: Recorded) -> None:
        self._maker = Maker(setup, "here", recorded)

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        return lambda: self._maker.make(execution, name)

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], MadeRun]:
        return lambda: make_run(self._maker, part, key, earlier)


class _Apart:
    """Makes runs and executions in processes of their own."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        with _uninterrupted():
            future: Future[Done] = self._pool.submit(_make, execution, name)
        return future.result

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], MadeRun]:
        with _uninterrupted():
            future: Future[MadeRun] = self._pool.submit(_make_run, part, key, earlier)
        return future.result


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until this is over, and a process that is begun here never hears it.

    It would otherwise reach one that has not yet come to ignore it, or come in the middle of
    telling one what to do; both end with a traceback of that process.
    """
    if threading.current_thread() is not threading.main_thread():  # no signal is handled there
        yield
        return
    waiting: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if waiting:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def workers(setup: Setup, processes: int, dialogues: int, recorded: Recorded) -> Iterator[Workers]:
    """Workers for this many dialogues; none of them outlives the context.

    ``recorded`` gives the statements of a graph to this process; others read the snapshot.
    """
    if processes <= 1 or dialogues <= _FEW:
        yield _Here(setup, recorded)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(setup,),
    )
    try:
        yield _Apart(pool)
    except BrokenProcessPool as error:
        raise PublicationRefused(
            "a process that makes pages was ended from outside (out of memory?): publish again "
            "with --processes 1"
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def make_runs(
    at_work: Workers,
    making: Making,
    todo: Iterable[tuple[RunPart, str, Unit | None]],
    told: Callable[[int], None],
) -> dict[str, Unit]:
    """Make runs, given with their keys and what was made of them before: their units by name.

    ``told`` hears of the dialogues that were made.
    """
    large, waiting, units = [], [], {}
    for part, key, earlier in todo:
        dialogues = dialogues_in(making.database, part.graph)
        if dialogues > MOST_DIALOGUES:
            large.append((part, key, earlier))
        else:
            waiting.append((part, dialogues, at_work.submit_run(part, key, earlier)))
    for part, key, earlier in large:
        units[part.name] = making.run(part, key, earlier, told)
    for part, dialogues, result in waiting:
        unit, changed = result()
        units[part.name] = unit
        making.folder.keep(unit.files)
        making.folder.changed += changed
        told(dialogues)
    return units


_MAKER: dict[str, Maker] = {}


def _start(setup: Setup) -> None:
    """Begin a process: open what it reads once. Ctrl-C is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _MAKER["this"] = Maker(setup, f"process-{os.getpid()}")


def _make(execution: str, name: str) -> Done:
    """One execution, as a process is asked for it."""
    return _MAKER["this"].make(execution, name)


def _make_run(part: RunPart, key: str, earlier: Unit | None) -> MadeRun:
    """One run, as a process is asked for it."""
    return make_run(_MAKER["this"], part, key, earlier)
