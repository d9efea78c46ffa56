# SPDX-License-Identifier: Apache-2.0
"""``kgbench run`` against Inspect AI, each with an instant model on as many samples, in turn.

Inspect AI is installed into an environment of its own, kept in the user's cache folder for the
next time (or found by ``KGBENCH_BENCH_INSPECT``, the Python of such an environment). Both sides
get ``KGBENCH_BENCH_SAMPLES`` samples (else 1,000), in turn, in one run. Its mock model gets
outputs with usage set, so that it counts no tokens by itself; its logs are full. Its ``eval()`` is
timed alone, and so is our ``run_plan()``, the start of judging children included; beside it stands
the whole command: start, imports, configuration, leaderboard.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

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


def run() -> list[Result]:
    """Dialogues and samples per second, and the ratio to Inspect AI's best configuration."""
    samples = int(os.environ.get("KGBENCH_BENCH_SAMPLES", DIALOGUES))
    python = _python()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours: list[float] = []
        alone: list[float] = []
        theirs: dict[str, list[float]] = {name: [] for name in CONFIGURATIONS}
        for turn in range(LEAST):
            ours.append(measured_run(place / f"store{turn}", samples)["seconds"])
            alone.append(_run_plan(place / f"alone{turn}", samples))
            for name, options in CONFIGURATIONS.items():
                theirs[name].append(_eval(python, place / "logs", samples, options))
    mine, engine = Timing(tuple(ours)), Timing(tuple(alone))
    timings = {name: Timing(tuple(seconds)) for name, seconds in theirs.items()}
    best = min(timings, key=lambda name: timings[name].median)
    note = f"{_version(python)}, {samples:,} samples, medians of {LEAST}; its best is '{best}'"
    results = [
        Result(f"Inspect AI, {name}", samples / one.median, "samples/s", note=_spread(one))
        for name, one in timings.items()
    ]
    for what, one in (("run, whole command", mine), ("run_plan() alone", engine)):
        results.append(Result(what, samples / one.median, "dialogues/s", note=_spread(one)))
    whole = timings[best].median / mine.median
    ratio = timings[best].median / engine.median
    return [
        *results,
        Result("whole command", whole, "x", "eval() of Inspect AI", note=note),
        Result("run_plan()", ratio, "x", "eval() of Inspect AI", "5", note),
    ]


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


def _eval(python: str, folder: Path, samples: int, options: Mapping[str, object]) -> float:
    arguments = [str(samples), str(_PROMPT), str(folder), json.dumps(options)]
    done = subprocess.run(  # noqa: S603 - fixed words
        [python, "-c", _EVAL, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])
