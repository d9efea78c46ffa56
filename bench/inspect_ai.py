# SPDX-License-Identifier: Apache-2.0
"""``kgbench run`` against Inspect AI, each with an instant model on as many samples, in turn.

Inspect AI is installed into an environment of its own, kept in the user's cache folder for the
next time (or found by ``KGBENCH_BENCH_INSPECT``, the Python of such an environment). Both sides
get ``KGBENCH_BENCH_SAMPLES`` samples (else 1,000), in turn, in one run. Its mock model gets
outputs with usage set, so that it counts no tokens by itself; its logs are full. Its ``eval()`` is
timed alone, and so is our ``run_plan()``, the start of judging children included. Both whole
processes are timed from outside, start to end: imports, configuration, leaderboard.
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
#: What was tried to make it fast; all keep full logs.
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
_PROMPT = 1000  # characters, about what our prompts have


class Seconds(NamedTuple):
    """How long one evaluation took by itself, and with the process around it."""

    alone: float
    process: float


class Timings(NamedTuple):
    """The same of several evaluations."""

    alone: Timing
    process: Timing


def run() -> list[Result]:
    """Dialogues and samples per second, and the ratios to Inspect AI's best configuration."""
    samples = int(os.environ.get("KGBENCH_BENCH_SAMPLES", DIALOGUES))
    python = _python()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours: list[Seconds] = []
        theirs: dict[str, list[Seconds]] = {name: [] for name in CONFIGURATIONS}
        for turn in range(LEAST):
            whole = measured_run(place / f"store{turn}", samples)["process"]
            ours.append(Seconds(_run_plan(place / f"alone{turn}", samples), whole))
            for name, options in CONFIGURATIONS.items():
                theirs[name].append(_eval(python, place / "logs", samples, options))
    mine, timings = _timings(ours), {name: _timings(each) for name, each in theirs.items()}
    best = min(timings, key=lambda name: timings[name].alone.median)
    note = f"{_version(python)}, {samples:,} samples, medians of {LEAST}; its best is '{best}'"

    def rate(what: str, unit: str, one: Timing) -> Result:
        return Result(what, samples / one.median, unit, note=_spread(one))

    def ratio(what: str, against: str, one: Timing, other: Timing) -> Result:
        return Result(what, other.median / one.median, "x", against, "5", note)

    return [
        *(rate(f"Inspect AI, {n}", "samples/s", each.alone) for n, each in timings.items()),
        rate(f"Inspect AI, {best}, whole process", "samples/s", timings[best].process),
        rate("run_plan() alone", "dialogues/s", mine.alone),
        rate("run, whole process", "dialogues/s", mine.process),
        ratio("run_plan()", "eval() of Inspect AI", mine.alone, timings[best].alone),
        ratio("run", "whole process of Inspect AI", mine.process, timings[best].process),
        ratio("run, whole process", "eval() alone", mine.process, timings[best].alone),
    ]


def _timings(seconds: Sequence[Seconds]) -> Timings:
    return Timings(
        Timing(tuple(each.alone for each in seconds)),
        Timing(tuple(each.process for each in seconds)),
    )


def _run_plan(store: Path, samples: int) -> float:
    words = [sys.executable, "-c", _RUN_PLAN, str(store), MODEL, str(samples), *LABELS]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    seconds: float = json.loads(done.stdout.splitlines()[-1])["seconds"]
    return seconds


def _spread(one: Timing) -> str:
    return f"median of {len(one.seconds)}, spread {one.spread:.0%}"


def _python() -> str:
    """The Python of an environment that has Inspect AI: made once, and kept."""
    given = os.environ.get("KGBENCH_BENCH_INSPECT")
    if given:
        return given
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made_of = digest(canonical_json([*PACKAGES, sys.version]))[:12]
    place = cache / "kgbench" / f"inspect-ai-{made_of}"
    python, whole = str(place / "bin" / "python"), place / "complete"
    if not whole.is_file():  # not made yet, or not to its end
        venv.create(place, with_pip=True, clear=True)
        done = subprocess.run(  # noqa: S603 - fixed words
            [python, "-m", "pip", "install", "--quiet", *PACKAGES],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"Inspect AI cannot be installed in {place}:\n{done.stderr}")
        whole.touch()
    return python


def _version(python: str) -> str:
    code = "from importlib.metadata import version; print('Inspect AI', version('inspect_ai'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def _eval(python: str, folder: Path, samples: int, options: Mapping[str, object]) -> Seconds:
    arguments = [str(samples), str(_PROMPT), str(folder), json.dumps(options)]
    begin = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - fixed words
        [python, "-c", _EVAL, *arguments], capture_output=True, text=True, check=False
    )
    process = time.perf_counter() - begin
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return Seconds(float(json.loads(done.stdout.splitlines()[-1])["seconds"]), process)
