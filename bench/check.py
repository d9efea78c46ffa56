# SPDX-License-Identifier: Apache-2.0
"""Hot paths compared with a calibration loop in the same process: ``make bench-check``, part of CI.

Paths and loop alternate and are measured in processor time, so that other work on the machine
matters little and its speed not at all. ``expected.ttl`` declares the expected ratios. A path whose
median ratio exceeds the expected one by more than the tolerance is measured once more. If it still
does, the check fails and prints the profile of the path.
"""

from __future__ import annotations

import cProfile
import gc
import hashlib
import io
import json
import pstats
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from bench.harness import Result
from bench.hot_paths import Work, hot_paths
from kgbench.rdf.declared import Declared
from kgbench.vocab import RDFS, SCHEMA, SKOS

EXPECTED = Path(__file__).with_name("expected.ttl")
PROFILES = Path(__file__).parents[1] / "build" / "bench-check"
REPEAT = 5
_FUNCTIONS = 20  # shown of a profile, in each of two orders
_ROUNDS = 10_000
_TRIPLES = 20_000
_QUERY = "SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s <urn:p> ?o } GROUP BY ?o ORDER BY ?n ?o"

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected time of a path, as a ratio to that of the calibration loop."""

    name: str
    label: str
    ratio: float


def expected(path: Path = EXPECTED) -> tuple[dict[str, Expected], float]:
    """Return the declared ratios by name of the path, and the tolerance as a factor."""
    declared = Declared(path)
    paths = [
        Expected(
            declared.required(node, SKOS.notation),
            declared.required(node, RDFS.label),
            declared.required_as(node, SCHEMA.value, float),
        )
        for node in declared.instances(SCHEMA.PropertyValue)
    ]
    tolerance = declared.required_as(declared.only(SCHEMA.QuantitativeValue), SCHEMA.value, float)
    return {item.name: item for item in paths}, tolerance


def calibrate() -> None:
    """Do the reference work: Python and Oxigraph in about equal parts."""
    seen: dict[str, int] = {}
    for number in range(_ROUNDS):
        text = json.dumps({"number": number, "text": f"word-{number % 97} " * 5}, sort_keys=True)
        for word in re.findall(r"\w+", text):
            seen[word] = seen.get(word, 0) + 1
        seen[hashlib.sha256(text.encode()).hexdigest()] = number
    lines = "\n".join(f'<urn:s{n}> <urn:p> "value {n % 89}" .' for n in range(_TRIPLES))
    store = ox.Store()
    store.load(lines.encode(), ox.RdfFormat.N_TRIPLES)
    rows = list(store.query(_QUERY))  # type: ignore[arg-type]
    assert len(rows) == 89  # noqa: PLR2004 - the modulus above


def ratios(
    paths: Mapping[str, Work],
    *,
    clock: Clock = time.process_time,
    loop: Work = calibrate,
    repeat: int = REPEAT,
) -> dict[str, float]:
    """Return the median ratio of each path to the ``loop``, which is measured before and after it.

    Loop and paths run once before, unmeasured, so that caches are filled.
    """
    measured: dict[str, list[float]] = {name: [] for name in paths}
    for work in (loop, *paths.values()):
        work()
    for _ in range(repeat):
        before = _seconds(loop, clock)
        for name, work in paths.items():
            seconds = _seconds(work, clock)
            after = _seconds(loop, clock)
            measured[name].append(seconds / statistics.mean((before, after)))
            before = after
    return {name: statistics.median(values) for name, values in measured.items()}


def _seconds(work: Work, clock: Clock) -> float:
    gc.collect()
    begun = clock()
    work()
    return clock() - begun


def too_slow(
    measured: Mapping[str, float], declared: Mapping[str, Expected], tolerance: float
) -> list[str]:
    """Return the names of the paths that exceed ``tolerance`` times their ``declared`` ratio."""
    return [name for name, ratio in measured.items() if ratio > tolerance * declared[name].ratio]


def checked(
    paths: Mapping[str, Work],
    declared: Mapping[str, Expected],
    tolerance: float,
    measure: Callable[[Mapping[str, Work]], Mapping[str, float]] = ratios,
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the ratios of all paths, and the profiles of those that were too slow twice.

    Raises :class:`ValueError` if the declared names differ from those of the paths.
    """
    if paths.keys() != declared.keys():
        differing = ", ".join(sorted(paths.keys() ^ declared.keys()))
        raise ValueError(f"paths and expected ratios differ in {differing}")
    measured = dict(measure(paths))
    again = {name: paths[name] for name in too_slow(measured, declared, tolerance)}
    if again:
        measured |= measure(again)
    slow = too_slow({name: measured[name] for name in again}, declared, tolerance)
    return measured, {name: profiled(paths[name]) for name in slow}


def profiled(work: Work) -> str:
    """Return a profile of ``work``: the slowest functions, with and without their callees."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    for order in ("cumulative", "tottime"):
        pstats.Stats(profile, stream=text).sort_stats(order).print_stats(_FUNCTIONS)
    return text.getvalue()


def line(name: str, ratio: float, declared: Expected, tolerance: float) -> str:
    """Return a line of output: the measured, expected and maximal ratio of a path."""
    goal = f"expected {declared.ratio:.2f}, at most {tolerance * declared.ratio:.2f}"
    return f"{name}: {ratio:.2f} x, {goal} ({declared.label})"


def _measured() -> tuple[dict[str, float], dict[str, str]]:
    declared, tolerance = expected()
    with tempfile.TemporaryDirectory() as scratch, hot_paths(Path(scratch)) as paths:
        return checked(paths, declared, tolerance)


def run() -> list[Result]:
    """Return the ratio of each path to the calibration loop, with its maximum."""
    declared, tolerance = expected()
    measured, _ = _measured()
    return [
        Result(
            declared[name].label,
            ratio,
            "x",
            against="the calibration loop",
            goal=f"at most {tolerance * declared[name].ratio:.2f}",
            note=f"processor time, median of {REPEAT}",
        )
        for name, ratio in measured.items()
    ]


def main() -> int:
    """Check and print all paths; return 1 if one is too slow, with its profile in a file."""
    declared, tolerance = expected()
    measured, slow = _measured()
    for name, ratio in measured.items():
        print(line(name, ratio, declared[name], tolerance))
    for name, profile in slow.items():
        PROFILES.mkdir(parents=True, exist_ok=True)
        path = PROFILES / f"{name}.txt"
        path.write_text(profile, encoding="utf-8")
        summary = line(name, measured[name], declared[name], tolerance)
        print(f"\ntoo slow in two measurements: {summary}\nprofile, also in {path}:\n{profile}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
