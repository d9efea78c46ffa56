# SPDX-License-Identifier: Apache-2.0
"""The processes that make runs, their executions and results, and figures."""

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

_FEW = 300  # dialogues; for fewer it does not pay to start processes


class _Worker:
    """What one process makes."""

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


class _Here:
    """Makes everything in this process, when it is waited for."""

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


class _Apart:
    """Makes everything in processes of their own."""

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

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        with _uninterrupted():
            future: Future[MeasuredRun] = self._pool.submit(_make_result, run, counted)
        return future.result

    def submit_figures(self, standing: Standing, state: str) -> Callable[[], list[Drawn]]:
        with _uninterrupted():
            future: Future[list[Drawn]] = self._pool.submit(_make_figures, standing, state)
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
def workers(setup: Setup, processes: int, dialogues: int, opened: Opened) -> Iterator[Workers]:
    """Workers for this many dialogues; none of them outlives the context.

    ``opened`` is for this process; others open the snapshot themselves.
    """
    if processes <= 1 or dialogues <= _FEW:
        yield _Here(setup, opened)
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


_WORKER: dict[str, _Worker] = {}


def _start(setup: Setup) -> None:
    """Begin a process: open what it reads once. Ctrl-C is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _WORKER["this"] = _Worker(Maker(setup, f"process-{os.getpid()}"))


def _make(execution: str, name: str) -> Done:
    """One execution, as a process is asked for it."""
    return _WORKER["this"].execution(execution, name)


def _make_run(part: RunPart, key: str, earlier: Unit | None) -> MadeRun:
    """One run, as a process is asked for it."""
    return _WORKER["this"].run(part, key, earlier)


def _make_result(run: str, counted: Mapping[str, int]) -> MeasuredRun:
    """What a run reached, as a process is asked for it."""
    return _WORKER["this"].result(run, counted)


def _make_figures(standing: Standing, state: str) -> list[Drawn]:
    """The figures of a suite, as a process is asked for them."""
    return _WORKER["this"].figures(standing, state)
