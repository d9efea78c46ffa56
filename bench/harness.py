# SPDX-License-Identifier: Apache-2.0
"""Timing: medians of at least three repetitions, and ratios of them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LEAST = 3
PACKAGES = ("kgbench", "pyoxigraph", "rdflib", "openai")


@dataclass(frozen=True)
class Timing:
    """The seconds of each repetition, in order."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest minus fastest, as a share of the median; at least 0."""
        return (max(self.seconds) - min(self.seconds)) / self.median


@dataclass(frozen=True)
class Result:
    """One line of the report.

    ``value`` is in ``unit``. A ratio is a value with the unit "x"; ``against`` names the
    denominator, and ``goal`` the intended value. ``note`` has details, such as the number of
    repetitions and their spread.
    """

    what: str
    value: float
    unit: str
    against: str = ""
    goal: str = ""
    note: str = ""


def measure(work: Callable[[], object], *, repeat: int = LEAST, warm_up: bool = False) -> Timing:
    """Time ``work`` ``repeat`` times (at least three, else :class:`ValueError`).

    With ``warm_up`` it runs once more before the clock starts.
    """
    if repeat < LEAST:
        raise ValueError(f"a median needs at least {LEAST} repetitions, not {repeat}")
    if warm_up:
        work()
    return Timing(tuple(_seconds(work) for _ in range(repeat)))


def measure_pair(
    first: Callable[[], object], second: Callable[[], object], *, repeat: int = LEAST
) -> tuple[Timing, Timing]:
    """Time two functions in turn, so that a slow phase of the machine affects both."""
    if repeat < LEAST:
        raise ValueError(f"a median needs at least {LEAST} repetitions, not {repeat}")
    pairs = [(_seconds(first), _seconds(second)) for _ in range(repeat)]
    return Timing(tuple(a for a, _ in pairs)), Timing(tuple(b for _, b in pairs))


def machine() -> dict[str, str]:
    """Describe the environment: processor, cores, system, Python and package versions."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if _is_linux() else os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    return facts | {name: version for name in PACKAGES if (version := _version(name))}


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _is_linux() -> bool:
    return platform.system() == "Linux"


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
