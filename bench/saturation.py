# SPDX-License-Identifier: Apache-2.0
"""How many cores one process keeps busy with judging, with real and with simulated children.

Real children judge alignments, which are slow to judge, and published dialogues, which are quick to
judge: as many children as the machine has other cores for, at most fifteen.

In the simulation, a re-evaluation reads, compares and writes as usual, but a batch goes through the
same frames, and its verdicts, which were recorded before, arrive after the time that so many
children would need. So the parent's own work is the limit, also on a machine of few cores.
Published dialogues need the data in the folder named by KGBENCH_EXTERNAL_DATA.
"""

from __future__ import annotations

import heapq
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from bench.growth import published
from bench.harness import Result
from bench.running import measured as measured_run
from kgbench.execution import frames
from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.execution.pools import executor, processors
from kgbench.model import Verdict
from kgbench.record import reading
from kgbench.reevaluation import passes as reevaluation
from kgbench.store import open_store
from kgbench.store.protocol import Store

DIALOGUES = 1_000  # simulated
PUBLISHED = 5_000
ALIGNMENTS = 192  # of each labelled task: three batches
REAL = (1, 2, 4, 8, 15)
CHILDREN = (1, 4, 16)
SECONDS = (0.005, 0.02)  # per answer, in addition to the measured time


def run() -> list[Result]:
    """Return dialogues per second and busy cores, by number of children and time per answer."""
    results = list(alignments())
    if "KGBENCH_EXTERNAL_DATA" not in os.environ:
        note = "not run: KGBENCH_EXTERNAL_DATA is not set"
        return [*results, Result("saturation with published dialogues", 0, "", note=note)]
    with published(PUBLISHED) as store:
        results += real(store, "published dialogues")
    with published(DIALOGUES) as store:
        return [*results, *_results(store)]


def alignments() -> Iterator[Result]:
    """Judge generated alignments, which take tens of milliseconds each, in real children."""
    labels = [f"AlignmentWorld-{kind}-{n}" for kind in ("natural", "opaque") for n in range(1, 6)]
    options = ["--model", "baseline:oracle", "--iterations", str(ALIGNMENTS)]
    options += [word for label in labels for word in ("--task", label)]
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "store"
        measured_run(location, ALIGNMENTS * len(labels), options)
        with open_store(str(location)) as store:
            yield from real(store, "alignments")


def real(store: Store, what: str) -> Iterator[Result]:
    """Judge all dialogues in 1 to 15 child processes, whose start is included."""
    for number in [number for number in REAL if number == 1 or number < processors()]:
        before = _cpu_of_children()
        begin = time.perf_counter()
        with executor(f"local:{number}") as pool:
            dialogues, _, own, _ = _judge(store, pool)
        elapsed, cpu = time.perf_counter() - begin, _cpu_of_children() - before
        note = (
            f"{dialogues:,} dialogues in {elapsed:.1f} s; children keep {cpu / elapsed:.1f} cores "
            f"busy, the parent {own / elapsed:.1f}; {cpu / dialogues * 1e3:.2f} and "
            f"{own / dialogues * 1e3:.2f} ms of CPU per dialogue"
        )
        children = f"{number} {'child' if number == 1 else 'children'}"
        yield Result(f"{what}, {children}", dialogues / elapsed, "dialogues/s", note=note)


def _cpu_of_children() -> float:
    """Return processor seconds of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _results(store: Store) -> Iterator[Result]:
    known: dict[tuple[str, tuple[str, ...]], bytes] = {}
    before = _cpu_of_children()
    with executor("local:2") as pool:
        _judge(store, _Recording(pool, known))
    cpu = _cpu_of_children() - before
    dialogues, _, _, answers = _judge(store, _Children(1, 0.0, known))
    measured = cpu / answers  # including the start of the children
    yield Result("an answer in a child", measured * 1e3, "ms", note="of CPU, including the start")
    for seconds in (measured, *SECONDS):
        for number in CHILDREN:
            dialogues, elapsed, own, answers = _judge(store, _Children(number, seconds, known))
            busy = answers * seconds / elapsed
            note = (
                f"{busy:.1f} cores kept busy, {answers * seconds / own:.1f} on an otherwise idle "
                f"machine; parent {own / dialogues * 1e3:.2f} ms of CPU per dialogue"
            )
            what = f"{number} children of {seconds * 1e3:.1f} ms an answer"
            yield Result(what, dialogues / elapsed, "dialogues/s", note=note)


def _judge(store: Store, pool: Executor) -> tuple[int, float, float, int]:
    """Judge all runs; return dialogues, seconds, processor seconds of this process, answers."""
    todo = [(run, None) for run in reading.runs(store)]
    cpu, begin = time.process_time(), time.perf_counter()
    done = reevaluation.reevaluate_each(store, todo, pool, JudgeLimits(), explain=False)
    dialogues = sum(each.comparison.dialogues for each in done)
    elapsed, own = time.perf_counter() - begin, time.process_time() - cpu
    answers = pool.answers if isinstance(pool, _Children) else 0
    if isinstance(pool, _Children):
        pool.shutdown()
    return dialogues, elapsed, own, answers


def _key(request: JudgeRequest) -> tuple[str, tuple[str, ...]]:
    return request.case.iri, request.answers


class _Recording(Executor):
    """An executor that delegates to another and records verdicts as a child sends them."""

    def __init__(self, pool: Executor, known: dict[tuple[str, tuple[str, ...]], bytes]) -> None:
        self._pool = pool
        self._known = known

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if fn is not judge_batch:
            return self._pool.submit(fn, *args, **kwargs)
        return self._pool.submit(self._recorded, *args)

    def _recorded(self, batch: Sequence[JudgeRequest], limits: JudgeLimits) -> list[Verdict]:
        verdicts = judge_batch(batch, limits)
        for request, verdict in zip(batch, verdicts, strict=True):
            self._known[_key(request)] = frames.encode({"verdict": frames.verdict_to_json(verdict)})
        return verdicts


class _Children(Executor):
    """An executor that simulates ``number`` children, which need ``seconds`` per answer."""

    def __init__(
        self, number: int, seconds: float, known: dict[tuple[str, tuple[str, ...]], bytes]
    ) -> None:
        self._max_workers = number  # read to determine the window of batches
        self.answers = 0
        self._seconds = seconds
        self._known = known
        self._free = [0.0] * number  # when each child becomes idle
        self._due: list[tuple[float, int, Sequence[JudgeRequest], Future[Any]]] = []
        self._waiting = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if fn is not judge_batch:  # the start of a child
            future.set_result(None)
            return future
        batch = args[0]
        for request in batch:
            frames.encode({"expired": {}, "answers": request.answers, "number": 0})
        with self._waiting:
            begin = max(heapq.heappop(self._free), time.monotonic())
            until = begin + len(batch) * self._seconds
            heapq.heappush(self._free, until)
            self.answers += len(batch)
            heapq.heappush(self._due, (until, self.answers, batch, future))
            self._waiting.notify()
        return future

    def _answer(self) -> None:
        while True:
            with self._waiting:
                while not self._ended and (not self._due or self._due[0][0] > time.monotonic()):
                    left = self._due[0][0] - time.monotonic() if self._due else None
                    self._waiting.wait(left)
                if self._ended:
                    return
                _, _, batch, future = heapq.heappop(self._due)
            sent = (frames.decode(self._known[_key(request)]) for request in batch)
            future.set_result([frames.verdict_from_json(part["verdict"]) for part in sent])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        with self._waiting:
            self._ended = True
            self._waiting.notify()
        self._thread.join()
