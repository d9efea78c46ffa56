# SPDX-License-Identifier: Apache-2.0
"""``kgbench run`` with an instant model: dialogues per second, memory, and a lower bound.

Every dialogue is judged in a child process, and is durable with all its provenance when it is
counted. The lower bound is the time to write the same triples turn by turn into a plain store.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox

from bench.harness import LEAST, Result, Timing

DIALOGUES = 1000
LARGE = (10_000, 20_000, 50_000)
MODEL = "baseline:oracle"
LABELS = ("RdfFriendCount-turtle-1", "RdfConnectionExplainStatic-turtle")
_RUN = """
import json, resource, sys, time
sys.argv = ["kgbench", "run", *sys.argv[1:]]
from kgbench.cli import main
begin = time.perf_counter()
try:
    main()
except SystemExit as end:
    code = end.code or 0
print(json.dumps({
    "seconds": time.perf_counter() - begin,
    "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "code": code,
}))
"""


def run() -> list[Result]:
    """Throughput at 1,000 dialogues as a median, and memory at 1,000 to 50,000."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        small = [measured_run(folder / f"small{k}", DIALOGUES) for k in range(LEAST)]
        floor = Timing(tuple(_floor(folder / "small0", folder / f"floor{k}") for k in range(LEAST)))
        large = {size: measured_run(folder / str(size), size) for size in LARGE}
    work = Timing(tuple(report["seconds"] for report in small))
    rate, floor_rate = DIALOGUES / work.median, DIALOGUES / floor.median
    note = f"median of {LEAST}, spread {work.spread:.0%}, start of the process included"
    results = [
        Result("run, instant model", rate, "dialogues/s", note=note),
        Result("floor: the same turns written, nothing else", floor_rate, "dialogues/s"),
        Result("run", rate / floor_rate, "x", against="the floor of writing"),
        Result(f"peak memory at {DIALOGUES:,} dialogues", small[0]["megabytes"], "MB"),
    ]
    for size, report in large.items():
        growth = report["megabytes"] / small[0]["megabytes"]
        results += [
            Result(f"run of {size:,}", size / report["seconds"], "dialogues/s"),
            Result(f"peak memory at {size:,} dialogues", report["megabytes"], "MB"),
            Result("memory growth", growth, "x", f"{DIALOGUES:,} dialogues", "flat"),
        ]
    return results


def measured_run(store: Path, dialogues: int) -> dict[str, float]:
    """Measure ``kgbench run`` with an instant model; the values are those of :func:`measured`."""
    iterations = dialogues // len(LABELS)
    options = ["--model", MODEL, "--iterations", str(iterations)]
    for label in LABELS:
        options += ["--task", label]
    return measured(store, dialogues, options)


def measured(store: Path, dialogues: int, options: Sequence[str]) -> dict[str, float]:
    """Run with ``options``; return seconds, process seconds, peak megabytes and exit code.

    The options plan so many dialogues. Raises :class:`RuntimeError` with the output if the run does
    not complete them.
    """
    command = [sys.executable, "-c", _RUN, "--store", str(store), *options]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: PLW1510, S603 - ours
    process = time.perf_counter() - begin
    report: dict[str, float] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    complete = rf"\b{dialogues:,} of {dialogues:,} dialogues complete"
    if report.get("code") != 0 or not re.search(complete, done.stdout):
        raise RuntimeError(done.stdout + done.stderr)
    return {**report, "process": process}


def _floor(store: Path, copy: Path) -> float:
    """Return seconds to write all dialogues of ``store`` into an empty one, each as two updates."""
    source = ox.Store.read_only(str(max((store / "snapshots").glob("*[0-9]"))))
    turns: dict[str, list[str]] = {}
    for quad in source.quads_for_pattern(None, None, None, None):
        graph = str(quad.graph_name)
        match = re.match(r".*/(?:run|pass)/[^/]+/([^/]+/[^/]+/\d+-[0-9a-f]{8})", str(quad.subject))
        if match is not None and "/graph/" in graph:
            key = f"{graph} {match[1]}"
            turns.setdefault(key, []).append(f"{quad.subject} {quad.predicate} {quad.object} .")
    target = ox.Store(str(copy))
    begin = time.perf_counter()
    for key, triples in turns.items():
        target.update(f"INSERT DATA {{ GRAPH {key.split()[0]} {{ {' '.join(triples)} }} }}")
    return time.perf_counter() - begin
