# SPDX-License-Identifier: Apache-2.0
"""A Dask cluster on the loopback interface: a scheduler and workers, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 120.0  # seconds: three interpreters load Dask at the same time


class Cluster:
    """A running cluster: the ``address`` of its scheduler, and its ``workers`` as processes."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._logs: list[Path] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        noted = folder / "scheduler.json"
        self._start(
            "dask_scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"),
            *("--scheduler-file", str(noted)),
        )
        self._wait(lambda: noted.exists() and noted.stat().st_size)  # it is created empty
        self.address: str = json.loads(noted.read_text(encoding="utf-8"))["address"]
        self.scheduler = self._processes[0]
        self.workers: list[subprocess.Popen[bytes]] = []
        self.add(workers)

    def add(self, workers: int) -> None:
        """Start more workers and return when they are registered at the scheduler."""
        first = len(self._logs)
        self.workers += [
            self._start(
                "dask_worker",
                *(self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"),
                *("--no-dashboard", "--local-directory", str(self._folder / f"worker{number}")),
            )
            for number in range(first, first + workers)
        ]
        logs = range(first, len(self._logs))
        self._wait(lambda: all("Registered to" in self._log(number) for number in logs), first)

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{len(self._logs)}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=self._folder,
            )
        self._logs.append(log)
        self._processes.append(process)
        return process

    def _log(self, number: int) -> str:
        return self._logs[number].read_text(encoding="utf-8", errors="replace")

    def _wait(self, ready: object, first: int = 0) -> None:
        assert callable(ready)
        until = time.monotonic() + _PATIENCE
        while not ready():
            started = enumerate(self._processes[first:], first)
            ended = [number for number, one in started if one.poll() is not None]
            assert not ended, self._log(ended[0])
            assert time.monotonic() < until, "the cluster does not start"
            time.sleep(0.02)

    def stop(self) -> None:
        """Terminate all processes that still run."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Yield a cluster with ``workers``, which keeps its files in ``folder``; stop it at the end."""
    running = Cluster(folder, workers)
    try:
        yield running
    finally:
        running.stop()
