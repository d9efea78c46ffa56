# SPDX-License-Identifier: Apache-2.0
"""Requests during a run with an instant model that writes to the served store, or to another one.

The run loads the processor equally in both cases and makes a new snapshot about every two seconds.
The server opens only snapshots of the served store, so the difference is the cost of changing the
snapshot. Peers are measured during a run into another store.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from bench.clients import Refused, gets, requests, watch
from bench.crowds import failed, results
from bench.harness import Result
from bench.questions import aggregates
from kgbench.store import snapshots

CONNECTIONS = 64
SECONDS = 12.0
READERS = 4  # connections that request pages
ITERATIONS = 20_000  # per task: more than complete during any measurement
_TIMEOUT = 120.0  # seconds


@contextlib.contextmanager
def running(store: Path) -> Iterator[None]:
    """Run into a store for the duration of the context.

    Raises :class:`TimeoutError` if the run writes no snapshots, and :class:`RuntimeError` if it
    ends early.
    """
    command = [sys.executable, "-m", "kgbench", "run", "--new", "--store", str(store)]
    command += ["--model", "baseline:oracle", "--task", "RdfFriendCount-*"]
    command += ["--iterations", str(ITERATIONS)]
    before = snapshots.newest(store / "snapshots")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        deadline = time.monotonic() + _TIMEOUT
        for _ in range(2):  # the first snapshot has only the plan
            while snapshots.newest(store / "snapshots") == before:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise TimeoutError("the run writes no snapshots")
                time.sleep(0.1)
            before = snapshots.newest(store / "snapshots")
        yield
        if process.poll() is not None:
            raise RuntimeError(f"the run ended too early, with status {process.returncode}")
    finally:
        process.terminate()
        try:
            process.wait(timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure(
    name: str, url: str, lookups: Sequence[str], beside: str, root: str | None = None
) -> list[Result]:
    """Measure a server during the run ``beside``; ``root`` is the URL of our server."""
    measured: list[Result] = []
    queries = {"look-ups": lookups, "small aggregates": list(islice(aggregates(), 6_000))}
    for kind, texts in queries.items():
        what = f"{name}, {kind}, {CONNECTIONS} connections beside {beside}"
        measured += _measured(what, url, requests(url, texts), CONNECTIONS, root)
    return measured


def measure_pages(
    name: str, root: str, paths: Mapping[str, Sequence[str]], beside: str
) -> list[Result]:
    """Return times of the pages of each kind, requested in turn without pauses."""
    measured: list[Result] = []
    for kind, pages in paths.items():
        what = f"{name}, pages: {kind}, {READERS} connections beside {beside}"
        measured += _measured(what, root, gets(root, pages), READERS, root)
    return measured


def _measured(
    what: str, url: str, messages: Sequence[bytes], connections: int, root: str | None
) -> list[Result]:
    try:
        watched = watch(url, messages, connections, SECONDS, root=root)
    except (TimeoutError, Refused, ConnectionError) as error:
        return [failed(what, error)]
    note = f"{watched.refused} refused"
    note += "" if root is None else f", {watched.snapshots} snapshots were served"
    return results(what, watched.rate, note)
