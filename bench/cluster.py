# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation and audits of tool calls on local Dask clusters: scaling, and lost workers.

All workers share the cores of one machine, so more workers than cores bring no speed-up. Needs
Dask; re-evaluation also needs the published data in the folder named by KGBENCH_EXTERNAL_DATA.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from bench.growth import published
from bench.harness import Result
from bench.running import measured as measured_run
from bench.tool_dialogues import TOOLS
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor, workers
from kgbench.plugins.dask.pool import DaskPool
from kgbench.record import reading
from kgbench.reevaluation import passes as reevaluation
from kgbench.reevaluation.tool_audit import audit
from kgbench.store import open_reader
from kgbench.store.protocol import Store

DIALOGUES = 1_000
WITH_TOOLS = 600  # dialogues with about three calls each
WORKERS = (1, 2, 4, 8)
STOPPED = 5.0  # seconds for which the slow worker is stopped
_NOTHING: Callable[[Any, int], None] = lambda _, __: None  # noqa: E731 - does nothing


class Done(NamedTuple):
    """One measurement: dialogues or calls, seconds, and processor seconds of all processes."""

    items: int
    seconds: float
    cpu: float


def run() -> list[Result]:
    """Throughput by number of workers, with a slow and a lost one."""
    if find_spec("distributed") is None:
        return [Result("cluster", 0, "", note="not run: needs Dask")]
    results = audits()
    if "KGBENCH_EXTERNAL_DATA" not in os.environ:
        note = "not run: KGBENCH_EXTERNAL_DATA is not set"
        return [*results, Result("re-evaluation on a cluster", 0, "", note=note)]
    with published(DIALOGUES) as store:
        return [*results, *_results(store)]


def audits() -> list[Result]:
    """Throughput of audits by number of workers, and with a lost one."""
    model, label = TOOLS
    options = ["--model", model, "--task", label, "--iterations", str(WITH_TOOLS)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "store"
        measured_run(location, WITH_TOOLS, options)
        with open_reader(str(location)) as store:
            for number in WORKERS:
                with _cluster(number) as (cluster, pool):
                    done = _audit(store, pool, cluster)
                results.append(_result(f"audit, {number} workers", done, "calls"))
            with _cluster(4) as (cluster, pool):
                done = _audit(store, pool, cluster, _kill)
            results.append(_result("audit, 4 workers, one killed", done, "calls"))
    return results


def _audit(
    store: Store, pool: DaskPool, cluster: Any, then: Callable[[Any, int], None] = _NOTHING
) -> Done:
    """Audit all tool calls; call ``then`` after a third. Children are started before the clock."""
    limits = JudgeLimits()
    third = audit(store, pool, limits).calls // 3

    def watch(done: int) -> None:
        if done == third:
            then(cluster, done)

    cpu, begin = _cpu(), time.perf_counter()
    found = audit(store, pool, limits, watch=watch)
    done = Done(found.calls, time.perf_counter() - begin, _cpu() - cpu)
    if found.agree != found.calls:
        raise RuntimeError(f"{len(found.differ)} calls have another result than recorded")
    return done


def _results(store: Store) -> Iterator[Result]:
    for number in WORKERS:
        with _cluster(number) as (cluster, pool):
            yield _result(f"{number} workers", _judge(store, pool, cluster))
    with _cluster(4) as (cluster, pool):
        yield _result("4 workers, one stopped for 5 s", _judge(store, pool, cluster, _stop))
    with _cluster(4) as (cluster, pool):
        yield _result("4 workers, one killed", _judge(store, pool, cluster, _kill))
    with _cluster(1) as (cluster, pool):
        # Few batches are queued, and Dask adds workers if the queue would take longer than this.
        cluster.adapt(minimum=1, maximum=4, interval="500ms", target_duration="200ms")
        most: list[int] = []
        done = _judge(store, pool, cluster, lambda _, __: most.append(workers(pool)), every=True)
        yield _result(f"adaptive, 1 to {max(most)} workers", done)


def _result(what: str, done: Done, items: str = "dialogues") -> Result:
    note = f"{done.cpu / done.items * 1e3:.2f} ms of CPU per {items[:-1]}, all processes"
    rate = f"{done.items:,} {items} in {done.seconds:.1f} s; {note}"
    return Result(what, done.items / done.seconds, f"{items}/s", note=rate)


def _judge(
    store: Store,
    pool: DaskPool,
    cluster: Any,
    then: Callable[[Any, int], None] = _NOTHING,
    *,
    every: bool = False,
) -> Done:
    """Judge all runs; call ``then`` after a third of the dialogues, or after ``every`` one.

    Children are started before the clock.
    """
    limits = JudgeLimits()
    todo = [(run, None) for run in reading.runs(store)]
    list(reevaluation.reevaluate_each(store, todo[:1], pool, limits, explain=False))
    called = False

    def watch(done: int) -> None:
        nonlocal called
        if every or (not called and done >= DIALOGUES // 3):
            called = True
            then(cluster, done)

    cpu, begin = _cpu(), time.perf_counter()
    passes = list(
        reevaluation.reevaluate_each(store, todo, pool, limits, explain=False, watch=watch)
    )
    seconds, cpu = time.perf_counter() - begin, _cpu() - cpu
    return Done(sum(each.comparison.dialogues for each in passes), seconds, cpu)


@contextmanager
def _cluster(number: int) -> Iterator[tuple[Any, DaskPool]]:
    import dask
    from distributed import LocalCluster

    # Dask's profiler keeps frames of other threads, and with them objects of the engine that only
    # the thread that made them may free; the engine complains on standard error.
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=number, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        executor(f"dask:{cluster.scheduler_address}") as pool,
    ):
        assert isinstance(pool, DaskPool)
        yield cluster, pool


def _pid(cluster: Any) -> int:
    """Return the process ID of a worker."""
    return int(next(iter(cluster.workers.values())).pid)


def _stop(cluster: Any, _: int) -> None:
    pid = _pid(cluster)
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(STOPPED, os.kill, (pid, signal.SIGCONT)).start()


def _kill(cluster: Any, _: int) -> None:
    os.kill(_pid(cluster), signal.SIGKILL)


def _cpu() -> float:
    """Processor seconds of this process and its running descendants."""
    import psutil  # type: ignore[import-untyped] # installed with Dask

    total = 0.0
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total
