# SPDX-License-Identifier: Apache-2.0
"""Runs against a server with a hidden limit of parallel requests: the share of it that is used.

The server refuses requests above the limit (429, with ``Retry-After``) and takes a fixed time for
the others, so long that the limit, not the processor, is the bottleneck.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from bench.harness import Result
from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.store import open_store
from tests.support.servers.loopback import Running, running

#: Hidden limit, seconds per request, requests.
LOADS = ((1, 0.2, 80), (8, 0.4, 320), (64, 2.5, 768))
MOST = 128
LABEL = "RdfConnectionExplainStatic-turtle"


def run() -> list[Result]:
    """Measure the share of the allowed throughput that a run reaches."""
    return [_share(*load) for load in LOADS]


def _share(parallel: int, delay: float, requests: int) -> Result:
    os.environ.setdefault("OPENAI_API_KEY", "sk-loopback")
    options = ("--parallel", str(parallel), "--delay", str(delay))
    with running("openai_server", *options) as server, tempfile.TemporaryDirectory() as folder:
        _run(server, requests, Path(folder))
        ledger = server.ledger()
    answers = [entry for entry in ledger if entry.acknowledged is not None]
    seconds = max(e.acknowledged or 0.0 for e in answers) - min(e.started for e in ledger)
    share = len(answers) / seconds / (parallel / delay)
    note = f"{len(answers)} answers, {len(ledger) - len(answers)} refusals, {seconds:.1f} s"
    return Result(
        f"limit of {parallel}: throughput", share, "x", f"{parallel / delay:g}/s", ">= 0.9", note
    )


def _run(server: Running, requests: int, folder: Path) -> None:
    spec = f"openai:limited@{server.url}"
    plan = config.quick_start(tasks=[LABEL], models=[spec], iterations=requests)
    plan = replace(plan, concurrency=MOST)
    with open_store(str(folder / "store")) as store:
        done = asyncio.run(run_plan(store, plan, Settings()))
    if not done.finished:
        raise RuntimeError(f"{done.complete} of {requests} complete: {done.failures}")
