# SPDX-License-Identifier: Apache-2.0
"""Hot paths against a calibration loop of the same process: ``make bench-check``, a part of CI.

Both are measured in processor time, in turn, so that other work on the machine counts little, and a
faster machine not at all. What is expected stands in ``expected.ttl``. A path whose median ratio
exceeds that by more than the tolerance is measured once more; where it does again, the check fails,
with the profile of the path beside it.
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
_FUNCTIONS = 20  # of a profile that are shown, by each of two orders
_ROUNDS = 10_000
_TRIPLES = 20_000
_QUERY = "SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s <urn:p> ?o } GROUP BY ?o ORDER BY ?n ?o"

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a path is expected to take, as a ratio to the calibration loop."""

    name: str
    label: str
    ratio: float


def expected(path: Path = EXPECTED) -> tuple[dict[str, Expected], float]:
    """The declared ratios by the name of the path, and how many times as much is too much."""
    declared = Declared(path)
    found = [
        Expected(
            declared.required(node, SKOS.notation),
            declared.required(node, RDFS.label),
            declared.needed(node, SCHEMA.value, float),
        )
        for node in declared.instances(SCHEMA.PropertyValue)
    ]
    tolerance = declared.needed(declared.only(SCHEMA.QuantitativeValue), SCHEMA.value, float)
    return {one.name: one for one in found}, tolerance


def calibrate() -> None:
    """The work that all others are compared with: Python and Oxigraph in about equal parts."""
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
    assert len(rows) == 89  # noqa: PLR2004 - as written above


def ratios(
    paths: Mapping[str, Work],
    *,
    clock: Clock = time.process_time,
    loop: Work = calibrate,
    repeat: int = REPEAT,
) -> dict[str, float]:
    """The median ratio of each path to the ``loop``, which is measured before and after it.

    Everything is done once before, unmeasured, so that what is kept in caches is there.
    """
    found: dict[str, list[float]] = {name: [] for name in paths}
    for work in (loop, *paths.values()):
        work()
    for _ in range(repeat):
        before = _taken(loop, clock)
        for name, work in paths.items():
            taken = _taken(work, clock)
            after = _taken(loop, clock)
            found[name].append(taken / statistics.mean((before, after)))
            before = after
    return {name: statistics.median(values) for name, values in found.items()}


def _taken(work: Work, clock: Clock) -> float:
    gc.collect()
    begin = clock()
    work()
    return clock() - begin


def too_slow(
    measured: Mapping[str, float], declared: Mapping[str, Expected], tolerance: float
) -> list[str]:
    """The names of the paths that took more than ``tolerance`` times what is ``declared``."""
    return [name for name, ratio in measured.items() if ratio > tolerance * declared[name].ratio]


def checked(
    paths: Mapping[str, Work],
    declared: Mapping[str, Expected],
    tolerance: float,
    measure: Callable[[Mapping[str, Work]], Mapping[str, float]] = ratios,
) -> tuple[dict[str, float], dict[str, str]]:
    """The ratios of all paths, and the profiles of those that were too slow twice.

    Raises :class:`ValueError` where what is declared is not what there is.
    """
    if paths.keys() != declared.keys():
        differing = ", ".join(sorted(paths.keys() ^ declared.keys()))
        raise ValueError(f"paths and expected ratios differ in {differing}")
    found = dict(measure(paths))
    again = {name: paths[name] for name in too_slow(found, declared, tolerance)}
    if again:
        found |= measure(again)
    slow = too_slow({name: found[name] for name in again}, declared, tolerance)
    return found, {name: profiled(paths[name]) for name in slow}


def profiled(work: Work) -> str:
    """Where the time of ``work`` goes: the functions that take most, with and without callees."""
    profile = cProfile.Profile()
    profile.runcall(work)
    text = io.StringIO()
    for order in ("cumulative", "tottime"):
        pstats.Stats(profile, stream=text).sort_stats(order).print_stats(_FUNCTIONS)
    return text.getvalue()


def line(name: str, ratio: float, of: Expected, tolerance: float) -> str:
    """One path as it is shown: what it took, what was expected, and what is allowed."""
    most = tolerance * of.ratio
    return f"{name}: {ratio:.2f} x, expected {of.ratio:.2f}, at most {most:.2f} ({of.label})"


def _measured() -> tuple[dict[str, float], dict[str, str]]:
    declared, tolerance = expected()
    with tempfile.TemporaryDirectory() as scratch, hot_paths(Path(scratch)) as paths:
        return checked(paths, declared, tolerance)


def run() -> list[Result]:
    """The ratio of each path to the calibration loop, with what it may be."""
    declared, tolerance = expected()
    found, _ = _measured()
    return [
        Result(
            declared[name].label,
            ratio,
            "x",
            against="the calibration loop",
            goal=f"at most {tolerance * declared[name].ratio:.2f}",
            note=f"processor time, median of {REPEAT}",
        )
        for name, ratio in found.items()
    ]


def main() -> int:
    """Check all paths and print them; 1 where one is too slow, its profile in :data:`PROFILES`."""
    declared, tolerance = expected()
    found, slow = _measured()
    for name, ratio in found.items():
        print(line(name, ratio, declared[name], tolerance))
    for name, profile in slow.items():
        PROFILES.mkdir(parents=True, exist_ok=True)
        place = PROFILES / f"{name}.txt"
        place.write_text(profile, encoding="utf-8")
        told = line(name, found[name], declared[name], tolerance)
        print(f"\ntoo slow, measured twice: {told}\nprofile, also in {place}:\n{profile}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
