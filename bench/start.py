# SPDX-License-Identifier: Apache-2.0
"""Start-up times of the command line and of a run, compared with a bare Python start.

``--help`` is timed as a whole process. A plan of 10,000 cases is timed until its first request,
from the start of the process and from the end of reading the plan.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.harness import Result, Timing, measure_pair

REPEAT = 7
RUNS = 5
HELP = [str(Path(sys.executable).with_name("kgbench")), "--help"]
BARE = [sys.executable, "-c", "pass"]
CASES = 10_000
MODELS = ("baseline:oracle", "baseline:silent")
PLANS = {
    "10,000 cases of one task": ("RdfFriendCount-turtle-1",),
    "10,000 cases of each generated task": ("RdfFriendCount-*", "*World-*"),
}
_INTERRUPTED = 130
# Records when the plan is read and the first request made, and then interrupts the run.
_FIRST = """
import json, os, signal, sys, time
from kgbench.cli import main
from kgbench.connectors.baseline import Baseline
from kgbench.engine import plans
begin, path = float(sys.argv[1]), sys.argv[2]
plan_of, ask, seen = plans.plan_of, Baseline.ask, {}
def read(*args, **kwargs):
    plan = plan_of(*args, **kwargs)
    seen["read"] = time.monotonic() - begin
    return plan
async def first(self, request):
    if "asked" not in seen:
        seen["asked"] = time.monotonic() - begin
        os.kill(os.getpid(), signal.SIGINT)
    return await ask(self, request)
plans.plan_of, Baseline.ask = read, first
sys.argv = ["kgbench", "run", *sys.argv[3:]]
try:
    main()
finally:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(seen, file)
"""


def run() -> list[Result]:
    """Return seconds until ``--help`` is printed and until the first request, and their ratios."""
    help_, bare = measure_pair(lambda: _start(HELP), lambda: _start(BARE), repeat=REPEAT)
    results = [
        Result("kgbench --help", help_.median, "s", goal="under 0.15 s", note=_note(help_)),
        Result("kgbench --help", help_.median / bare.median, "x", against="a bare Python start"),
    ]
    for what, tasks in PLANS.items():
        results += _first_dialogue(what, tasks)
    return results


def _first_dialogue(what: str, tasks: Sequence[str]) -> list[Result]:
    """Return the first request of a plan: in a store with earlier runs, and in a new one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        first_asked(folder / "store", tasks)
        known, new, bare = [], [], []
        for number in range(RUNS):
            known.append(first_asked(folder / "store", tasks))
            new.append(first_asked(folder / f"new{number}", tasks))
            bare.append(_start(BARE))
    asked, start = Timing(tuple(asked for _, asked in known)), Timing(tuple(bare))
    waited = Timing(tuple(asked - read for read, asked in known))
    new_waited = Timing(tuple(asked - read for read, asked in new))
    return [
        Result(
            f"first dialogue of {what}, once the plan is read",
            waited.median,
            "s",
            goal="under 0.5 s",
            note=_note(waited),
        ),
        Result(
            f"first dialogue of {what}, once the plan is read, in a new store",
            new_waited.median,
            "s",
            note=_note(new_waited),
        ),
        Result(
            f"first dialogue of {what}, from the start of the process",
            asked.median / start.median,
            "x",
            against="a bare Python start",
            note=f"{asked.median:.2f} s, {_note(asked)}",
        ),
    ]


def first_asked(
    store: Path, tasks: Sequence[str], models: Sequence[str] = MODELS, cases: int = CASES
) -> tuple[float, float]:
    """Return seconds from the start of ``kgbench run`` to its plan and to its first request.

    The run is then interrupted. Raises :class:`RuntimeError` with the output if it ends otherwise.
    """
    words = ["--new", "--store", str(store), "--iterations", str(cases)]
    words += [word for task in tasks for word in ("--task", task)]
    words += [word for model in models for word in ("--model", model)]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        command = [sys.executable, "-c", _FIRST, str(time.monotonic()), file.name, *words]
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: PLW1510, S603 - ours
        text = file.read()
    if done.returncode != _INTERRUPTED or "asked" not in text:
        raise RuntimeError(done.stdout + done.stderr)
    times = json.loads(text)
    return times["read"], times["asked"]


def _note(timing: Timing) -> str:
    return f"median of {len(timing.seconds)}, spread {timing.spread:.0%}"


def _start(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command
    return time.perf_counter() - begin
