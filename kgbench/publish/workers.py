# SPDX-License-Identifier: Apache-2.0
"""Worker processes for runs, executions, results and figures."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property
from pathlib import Path

from kgbench.children.lockdown import die_with_parent
from kgbench.errors import PublicationRefused
from kgbench.publish.drawings import Figure, figures
from kgbench.publish.execution_pages import ExecutionBuilder, ExecutionResult
from kgbench.publish.manifest import Unit
from kgbench.publish.measured_runs import MeasuredRun, MeasuredRuns
from kgbench.publish.run_cache import MOST_DIALOGUES
from kgbench.publish.run_pages import BuiltRun, RunBuilder, Workers, make_run
from kgbench.publish.selection import RunPart
from kgbench.publish.suite_results import ResultsBuilder, SuiteResults
from kgbench.publish.worker_setup import OpenResources, WorkerSetup
from kgbench.rdf import digest

_FEW = 300  # dialogues; starting processes does not pay off for fewer
_OBJECTS = 100_000  # new objects between two searches for unreachable cycles


class _Worker:
    """The work of one process."""

    def __init__(self, maker: ExecutionBuilder) -> None:
        self._setup = maker.setup
        self._maker = maker

    def execution(self, execution: str, name: str) -> ExecutionResult:
        return self._maker.make(execution, name)

    def run(self, part: RunPart, key: str, earlier: Unit | None) -> BuiltRun:
        return make_run(self._maker, part, key, earlier)

    def standing(self, suite: str) -> SuiteResults | None:
        return self._measuring.standing(suite)

    def result(self, run: str, counted: Mapping[str, int]) -> MeasuredRun:
        return self._runs.of_run(run, counted)

    def figures(self, standing: SuiteResults, state: str) -> list[Figure]:
        work = self.work_file("figures").parent
        return list(figures(standing, work, self._setup.addresses, state))

    def work_file(self, name: str) -> Path:
        """Return the path of a work file of the publication."""
        folder = self._maker.folder()
        try:
            return folder.work(name)
        finally:
            folder.close()

    @cached_property
    def _measuring(self) -> ResultsBuilder:
        setup = self._setup
        return ResultsBuilder(self._maker.view, setup.parts, setup.addresses, self._maker.outgoing)

    @cached_property
    def _runs(self) -> MeasuredRuns:
        site_graph, addresses = self._maker.renderer.site_graph, self._setup.addresses
        return MeasuredRuns(self._maker.view, site_graph, addresses, self._measuring)


class _InProcess:
    """Does all work in this process, when its result is requested."""

    def __init__(self, setup: WorkerSetup, opened: OpenResources) -> None:
        self._worker = _Worker(ExecutionBuilder(setup, "here", opened))

    def submit(self, execution: str, name: str) -> Callable[[], ExecutionResult]:
        return lambda: self._worker.execution(execution, name)

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], BuiltRun]:
        return lambda: self._worker.run(part, key, earlier)

    def submit_standing(self, suite: str) -> Callable[[], SuiteResults | None]:
        return lambda: self._worker.standing(suite)

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        return lambda: self._worker.result(run, counted)

    def submit_figures(self, standing: SuiteResults, state: str) -> Callable[[], list[Figure]]:
        return lambda: self._worker.figures(standing, state)


class _ProcessPool:
    """Does all work in a pool of processes."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, execution: str, name: str) -> Callable[[], ExecutionResult]:
        with _sigint_blocked():
            future: Future[ExecutionResult] = self._pool.submit(_make, execution, name)
        return future.result

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], BuiltRun]:
        with _sigint_blocked():
            future: Future[BuiltRun] = self._pool.submit(_make_run, part, key, earlier)
        return future.result

    def submit_standing(self, suite: str) -> Callable[[], SuiteResults | None]:
        with _sigint_blocked():
            future: Future[SuiteResults | None] = self._pool.submit(_make_standing, suite)
        return future.result

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        with _sigint_blocked():
            future = self._pool.submit(_make_result, run, counted)
        return lambda: _read_back(future.result())

    def submit_figures(self, standing: SuiteResults, state: str) -> Callable[[], list[Figure]]:
        with _sigint_blocked():
            future: Future[list[Figure]] = self._pool.submit(_make_figures, standing, state)
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


def _collect_rarely() -> None:
    """Let Python search for unreachable cycles rarely.

    A run consists of many small objects without cycles, and the searches took 6 % of the time.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


@contextlib.contextmanager
def workers(
    setup: WorkerSetup, processes: int, dialogues: int, opened: OpenResources
) -> Iterator[Workers]:
    """Provide workers for this many dialogues; their processes end with the context.

    ``opened`` has the resources of this process; worker processes open the snapshot themselves.
    """
    if processes <= 1 or dialogues <= _FEW:
        threshold = gc.get_threshold()
        _collect_rarely()
        try:
            yield _InProcess(setup, opened)
        finally:
            gc.set_threshold(*threshold)
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
    making: RunBuilder,
    parts: Iterable[tuple[RunPart, int, str, Unit | None]],
    progress: Callable[[int], None],
) -> dict[str, Unit]:
    """Make runs, given with numbers of dialogues, keys and earlier units; return units by name.

    ``progress`` is called with the number of dialogues made.
    """
    large, waiting, units = [], [], {}
    for part, dialogues, key, earlier in parts:
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


def _start(setup: WorkerSetup) -> None:
    """Initialise a worker process, which ends with its parent; Ctrl-C is handled by its parent."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    assert parent.pid is not None
    die_with_parent(parent.pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _collect_rarely()
    _WORKER["this"] = _Worker(ExecutionBuilder(setup, f"process-{os.getpid()}"))


def _make(execution: str, name: str) -> ExecutionResult:
    """Make one execution in a worker process."""
    return _WORKER["this"].execution(execution, name)


def _make_run(part: RunPart, key: str, earlier: Unit | None) -> BuiltRun:
    """Make one run in a worker process."""
    return _WORKER["this"].run(part, key, earlier)


def _make_standing(suite: str) -> SuiteResults | None:
    """Compute the results of one suite in a worker process."""
    return _WORKER["this"].standing(suite)


def _make_result(run: str, counted: Mapping[str, int]) -> Path:
    """Compute the results of one run in a worker process; return a work file with them.

    They wait in files, because all of a large publication would take a lot of memory.
    """
    worker = _WORKER["this"]
    path = worker.work_file(f"result-{digest(run)}")
    path.write_bytes(pickle.dumps(worker.result(run, counted)))
    return path


def _read_back(path: Path) -> MeasuredRun:
    """Return the results in a work file, and remove it."""
    found: MeasuredRun = pickle.loads(path.read_bytes())  # noqa: S301 - written by a worker
    path.unlink()
    return found


def _make_figures(standing: SuiteResults, state: str) -> list[Figure]:
    """Draw the figures of a suite in a worker process."""
    return _WORKER["this"].figures(standing, state)
