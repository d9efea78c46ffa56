# SPDX-License-Identifier: Apache-2.0
"""Worker processes for runs, executions, results and figures."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property

from kgbench.errors import PublicationRefused
from kgbench.publish.executions import Done, Maker
from kgbench.publish.held import MOST_DIALOGUES
from kgbench.publish.manifest import Unit
from kgbench.publish.measured_runs import MeasuredRun, MeasuredRuns
from kgbench.publish.parts import RunPart, dialogues_in
from kgbench.publish.running import MadeRun, Making, Workers, make_run
from kgbench.publish.setup import Opened, Setup
from kgbench.publish.standing import Drawn, Measuring, Standing, figures

_FEW = 300  # dialogues; starting processes does not pay off for fewer


class _Worker:
    """The work of one process."""

    def __init__(self, maker: Maker) -> None:
        self._setup = maker.setup
        self._maker = maker

    def execution(self, execution: str, name: str) -> Done:
        return self._maker.make(execution, name)

    def run(self, part: RunPart, key: str, earlier: Unit | None) -> MadeRun:
        return make_run(self._maker, part, key, earlier)

    def result(self, run: str, counted: Mapping[str, int]) -> MeasuredRun:
        return self._runs.of_run(run, counted)

    def figures(self, standing: Standing, state: str) -> list[Drawn]:
        folder = self._maker.folder()
        try:
            work = folder.work("figures").parent
            return list(figures(standing, work, self._setup.addresses, state))
        finally:
            folder.close()

    @cached_property
    def _runs(self) -> MeasuredRuns:
        view, addresses = self._maker.view, self._setup.addresses
        measuring = Measuring(view, self._setup.parts, addresses, self._maker.outgoing)
        return MeasuredRuns(view, self._maker.renderer.site_graph, addresses, measuring)


class _InProcess:
    """Does all work in this process, when its result is requested."""

    def __init__(self, setup: Setup, opened: Opened) -> None:
        self._worker = _Worker(Maker(setup, "here", opened))

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        return lambda: self._worker.execution(execution, name)

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], MadeRun]:
        return lambda: self._worker.run(part, key, earlier)

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        return lambda: self._worker.result(run, counted)

    def submit_figures(self, standing: Standing, state: str) -> Callable[[], list[Drawn]]:
        return lambda: self._worker.figures(standing, state)


class _ProcessPool:
    """Does all work in a pool of processes."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        with _sigint_blocked():
            future: Future[Done] = self._pool.submit(_make, execution, name)
        return future.result

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], MadeRun]:
        with _sigint_blocked():
            future: Future[MadeRun] = self._pool.submit(_make_run, part, key, earlier)
        return future.result

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        with _sigint_blocked():
            future: Future[MeasuredRun] = self._pool.submit(_make_result, run, counted)
        return future.result

    def submit_figures(self, standing: Standing, state: str) -> Callable[[], list[Drawn]]:
        with _sigint_blocked():
            future: Future[list[Drawn]] = self._pool.submit(_make_figures, standing, state)
        return future.result


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


@contextlib.contextmanager
def workers(setup: Setup, processes: int, dialogues: int, opened: Opened) -> Iterator[Workers]:
    """Provide workers for this many dialogues; their processes end with the context.

    ``opened`` has the resources of this process; worker processes open the snapshot themselves.
    """
    if processes <= 1 or dialogues <= _FEW:
        yield _InProcess(setup, opened)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(setup,),
    )
    try:
        yield _ProcessPool(pool)
    except BrokenProcessPool as error:
        raise PublicationRefused(
            "a worker process was killed (out of memory?): publish again with --processes 1"
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def make_runs(
    pool: Workers,
    making: Making,
    todo: Iterable[tuple[RunPart, str, Unit | None]],
    progress: Callable[[int], None],
) -> dict[str, Unit]:
    """Make runs, given with their keys and earlier units; return their units by name.

    ``progress`` is called with the number of dialogues made.
    """
    large, waiting, units = [], [], {}
    for part, key, earlier in todo:
        dialogues = dialogues_in(making.database, part.graph)
        if dialogues > MOST_DIALOGUES:
            large.append((part, key, earlier))
        else:
            waiting.append((part, dialogues, pool.submit_run(part, key, earlier)))
    for part, key, earlier in large:
        units[part.name] = making.run(part, key, earlier, progress)
    for part, dialogues, result in waiting:
        unit, changed = result()
        units[part.name] = unit
        making.folder.keep(unit.files)
        making.folder.changed += changed
        progress(dialogues)
    return units


_WORKER: dict[str, _Worker] = {}


def _start(setup: Setup) -> None:
    """Initialise a worker process; Ctrl-C is handled by its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _WORKER["this"] = _Worker(Maker(setup, f"process-{os.getpid()}"))


def _make(execution: str, name: str) -> Done:
    """Make one execution in a worker process."""
    return _WORKER["this"].execution(execution, name)


def _make_run(part: RunPart, key: str, earlier: Unit | None) -> MadeRun:
    """Make one run in a worker process."""
    return _WORKER["this"].run(part, key, earlier)


def _make_result(run: str, counted: Mapping[str, int]) -> MeasuredRun:
    """Compute the results of one run in a worker process."""
    return _WORKER["this"].result(run, counted)


def _make_figures(standing: Standing, state: str) -> list[Drawn]:
    """Draw the figures of a suite in a worker process."""
    return _WORKER["this"].figures(standing, state)
