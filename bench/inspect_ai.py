# SPDX-License-Identifier: Apache-2.0
"""``kgbench run`` compared with Inspect AI: instant models, the same number of samples.

Inspect AI is installed into a separate environment in the user's cache folder, unless
``KGBENCH_BENCH_INSPECT`` names the Python of such an environment. Both sides get
``KGBENCH_BENCH_SAMPLES`` samples (default 1,000), in turn, in one run. The outputs of Inspect AI's
mock model contain usage, so that it counts no tokens; it writes full logs. Its ``eval()`` is timed
alone, and so is our ``run_plan()``, including the start of judging children. Both whole processes
are timed from start to end: imports, configuration, leaderboard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.harness import LEAST, Result, Timing
from bench.running import DIALOGUES, LABELS, MODEL, measured_run
from kgbench.rdf import canonical_json, digest

PACKAGES = ("inspect_ai>=0.3.285,<0.4", "openai")
#: Options that were tried to make it faster; all keep full logs.
CONFIGURATIONS = {
    "as it comes": {},
    "buffered": {"log_buffer": 1000, "log_realtime": False, "max_samples": 100},
    "many at once": {
        "log_buffer": 1000,
        "log_realtime": False,
        "max_samples": 1000,
        "max_connections": 1000,
    },
}
_EVAL = """
import json, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

samples, length, folder, options = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

def outputs():
    while True:
        output = ModelOutput.from_content("mockllm/model", "http://example.org/people/person-4")
        output.usage = ModelUsage(input_tokens=240, output_tokens=10, total_tokens=250)
        yield output

asked = [Sample(input=f"{k} " + "x" * length, target="person-4") for k in range(samples)]
task = Task(dataset=MemoryDataset(asked), solver=generate(), scorer=match())
model = get_model("mockllm/model", custom_outputs=outputs())
begin = time.perf_counter()
(log,) = eval(task, model=model, display="none", log_dir=folder, **json.loads(options))
seconds = time.perf_counter() - begin
assert log.status == "success" and log.results.completed_samples == samples, log.status
print(json.dumps({"seconds": seconds}))
"""
_RUN_PLAN = """
import asyncio, json, sys, time
from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.store import open_store

folder, model, dialogues, *labels = sys.argv[1:]
plan = config.quick_start(
    models=[model], tasks=labels, iterations=int(dialogues) // len(labels)
)
with open_store(folder) as store:
    begin = time.perf_counter()
    done = asyncio.run(run_plan(store, plan, Settings()))
    seconds = time.perf_counter() - begin
assert done.complete == int(dialogues), done
print(json.dumps({"seconds": seconds}))
"""
_PROMPT = 1000  # characters, about as many as our prompts have


class Seconds(NamedTuple):
    """Return seconds of one evaluation alone, and of its whole process."""

    alone: float
    process: float


class Timings(NamedTuple):
    """The same for several evaluations."""

    alone: Timing
    process: Timing


def run() -> list[Result]:
    """Return dialogues and samples per second, and ratios to Inspect AI's best configuration."""
    samples = int(os.environ.get("KGBENCH_BENCH_SAMPLES", DIALOGUES))
    python = _python()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ours: list[Seconds] = []
        peer: dict[str, list[Seconds]] = {name: [] for name in CONFIGURATIONS}
        for turn in range(LEAST):
            whole = measured_run(folder / f"store{turn}", samples)["process"]
            ours.append(Seconds(_run_plan(folder / f"alone{turn}", samples), whole))
            for name, options in CONFIGURATIONS.items():
                peer[name].append(_eval(python, folder / "logs", samples, options))
    own, timings = _timings(ours), {name: _timings(each) for name, each in peer.items()}
    best = min(timings, key=lambda name: timings[name].alone.median)
    note = f"{_version(python)}, {samples:,} samples, medians of {LEAST}; its best is '{best}'"

    def rate(what: str, unit: str, timing: Timing) -> Result:
        return Result(what, samples / timing.median, unit, note=_spread(timing))

    def ratio(what: str, against: str, timing: Timing, reference: Timing) -> Result:
        return Result(what, reference.median / timing.median, "x", against, "5", note)

    return [
        *(rate(f"Inspect AI, {n}", "samples/s", each.alone) for n, each in timings.items()),
        rate(f"Inspect AI, {best}, whole process", "samples/s", timings[best].process),
        rate("run_plan() alone", "dialogues/s", own.alone),
        rate("run, whole process", "dialogues/s", own.process),
        ratio("run_plan()", "eval() of Inspect AI", own.alone, timings[best].alone),
        ratio("run", "whole process of Inspect AI", own.process, timings[best].process),
        ratio("run, whole process", "eval() alone", own.process, timings[best].alone),
    ]


def _timings(seconds: Sequence[Seconds]) -> Timings:
    return Timings(
        Timing(tuple(each.alone for each in seconds)),
        Timing(tuple(each.process for each in seconds)),
    )


def _run_plan(store: Path, samples: int) -> float:
    command = [sys.executable, "-c", _RUN_PLAN, str(store), MODEL, str(samples), *LABELS]
    process = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    seconds: float = json.loads(process.stdout.splitlines()[-1])["seconds"]
    return seconds


def _spread(timing: Timing) -> str:
    return f"median of {len(timing.seconds)}, spread {timing.spread:.0%}"


def _python() -> str:
    """Return the Python of an environment with Inspect AI, which is created once and kept."""
    configured = os.environ.get("KGBENCH_BENCH_INSPECT")
    if configured:
        return configured
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    fingerprint = digest(canonical_json([*PACKAGES, sys.version]))[:12]
    environment = cache / "kgbench" / f"inspect-ai-{fingerprint}"
    python, complete = str(environment / "bin" / "python"), environment / "complete"
    if not complete.is_file():  # missing or incomplete
        venv.create(environment, with_pip=True, clear=True)
        process = subprocess.run(  # noqa: S603 - fixed command
            [python, "-m", "pip", "install", "--quiet", *PACKAGES],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode != 0:
            raise RuntimeError(f"cannot install Inspect AI in {environment}:\n{process.stderr}")
        complete.touch()
    return python


def _version(python: str) -> str:
    code = "from importlib.metadata import version; print('Inspect AI', version('inspect_ai'))"
    process = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return process.stdout.strip()


def _eval(python: str, folder: Path, samples: int, options: Mapping[str, object]) -> Seconds:
    arguments = [str(samples), str(_PROMPT), str(folder), json.dumps(options)]
    begin = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - fixed command
        [python, "-c", _EVAL, *arguments], capture_output=True, text=True, check=False
    )
    process = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return Seconds(float(json.loads(done.stdout.splitlines()[-1])["seconds"]), process)
