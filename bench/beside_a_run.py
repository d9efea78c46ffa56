# SPDX-License-Identifier: Apache-2.0
"""Requests while a run of an instant model writes: into the store that is served, or another one.

The run keeps the processor as busy in both cases, and a new snapshot comes every two seconds or
so; only where it is the store that is served, the server has to open it. So the one case beside the
other tells what a change of snapshots costs. Peers are measured beside a run into another store.
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
READERS = 4  # connections that ask for pages
ITERATIONS = 20_000  # of each task: more than any measurement lasts for
_PATIENCE = 120.0  # seconds


@contextlib.contextmanager
def running(store: Path) -> Iterator[None]:
    """A run that writes into a store from the beginning to the end of this context.

    Raises :class:`TimeoutError` where nothing comes from it, and :class:`RuntimeError` where it
    ended by itself.
    """
    words = [sys.executable, "-m", "kgbench", "run", "--new", "--store", str(store)]
    words += ["--model", "baseline:oracle", "--task", "RdfFriendCount-*"]
    words += ["--iterations", str(ITERATIONS)]
    before = snapshots.newest(store / "snapshots")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        end = time.monotonic() + _PATIENCE
        for _ in range(2):  # the first snapshot has the plan alone
            while snapshots.newest(store / "snapshots") == before:
                if time.monotonic() > end or process.poll() is not None:
                    raise TimeoutError("the run that should write does not")
                time.sleep(0.1)
            before = snapshots.newest(store / "snapshots")
        yield
        if process.poll() is not None:
            raise RuntimeError(f"the run ended too early, with status {process.returncode}")
    finally:
        process.terminate()
        try:
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure(
    name: str, url: str, lookups: Sequence[str], beside: str, root: str | None = None
) -> list[Result]:
    """Rates and times of a server, whose run is called ``beside``; ``root`` is that of our own."""
    found: list[Result] = []
    asked = {"look-ups": lookups, "small aggregates": list(islice(aggregates(), 6_000))}
    for kind, queries in asked.items():
        what = f"{name}, {kind}, {CONNECTIONS} connections beside {beside}"
        found += _watched(what, url, requests(url, queries), CONNECTIONS, root)
    return found


def measure_pages(
    name: str, root: str, paths: Mapping[str, Sequence[str]], beside: str
) -> list[Result]:
    """Times of the pages of each kind, asked for one after the other without a pause."""
    found: list[Result] = []
    for kind, some in paths.items():
        what = f"{name}, pages: {kind}, {READERS} connections beside {beside}"
        found += _watched(what, root, gets(root, some), READERS, root)
    return found


def _watched(
    what: str, url: str, asked: Sequence[bytes], connections: int, root: str | None
) -> list[Result]:
    try:
        watched = watch(url, asked, connections, SECONDS, root=root)
    except (TimeoutError, Refused, ConnectionError) as error:
        return [failed(what, error)]
    note = f"{watched.refused} refused"
    note += "" if root is None else f", {watched.snapshots} snapshots were served"
    return results(what, watched.rate, note)
