# SPDX-License-Identifier: Apache-2.0
"""How soon the command line answers: ``kgbench --help`` against a bare Python start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.harness import Result, measure_pair

HELP = [str(Path(sys.executable).with_name("kgbench")), "--help"]
BARE = [sys.executable, "-c", "pass"]


def run() -> list[Result]:
    """Seconds until ``--help`` is printed, and the ratio to starting Python alone."""
    answer, bare = measure_pair(lambda: _start(HELP), lambda: _start(BARE), repeat=7)
    note = f"median of {len(answer.seconds)}, spread {answer.spread:.0%}"
    return [
        Result("kgbench --help", answer.median, "s", goal="under 0.15 s", note=note),
        Result("kgbench --help", answer.median / bare.median, "x", against="a bare Python start"),
    ]


def _start(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed words
