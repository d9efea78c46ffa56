# SPDX-License-Identifier: Apache-2.0
"""Attacks and faults in large numbers, with their effects in one table.

``python -m tests.attacks [PART...]`` carries out all parts, or the named ones, and prints a row for
each attack or fault: number of tries, number survived, losses, leaks, and the maximal time and
memory. The exit code is 1 if anything was lost, leaked or not survived. ``make attacks`` does the
same in the environment of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """The result of one attack: ``survived`` of ``tries``; maximal seconds and MB, if measured."""

    attack: str
    tries: int
    survived: int
    lost: int
    leaked: int
    seconds: float | None
    megabytes: int | None


class Scale(NamedTuple):
    """The size of each part."""

    damages: int
    kills: int
    full_disks: int
    answers: int
    megabytes: int
    requests: int
    fuzz_seconds: int


FULL = Scale(
    damages=200,
    kills=100,
    full_disks=20,
    answers=10_000,
    megabytes=1024,
    requests=20_000,
    fuzz_seconds=300,
)
_AT_ONCE = 1.0  # seconds within which a text that could freeze a server must be answered or refused


def _damages(scale: Scale) -> Iterator[Row]:
    from tests.attacks import damage

    with tempfile.TemporaryDirectory() as folder:
        attack = damage.Attack(Path(folder), iterations=6)
        for number in range(scale.damages):
            attack.attempt(number, 25)
    found = attack.tally
    failed = {line.partition("(")[0].partition(":")[2] for line in found.failures}
    lost = sum(line.startswith(("recovery", "false sound")) for line in found.failures)
    yield Row(
        "random damage to a store",
        found.tries,
        found.tries - len(failed),
        lost,
        0,
        found.seconds,
        found.memory >> 20,
    )


def _kills(scale: Scale) -> Iterator[Row]:
    from bench import attack_kills

    for name, kills, disks in (("SIGKILL", scale.kills, 0), ("full disk", 0, scale.full_disks)):
        with tempfile.TemporaryDirectory() as folder:
            dialogues = 20 * (kills + disks)
            attack = attack_kills.Attack(Path(folder), dialogues, 1, 0.25)
            found = attack.carry_out(kills, disks)
        sys.stderr.write(f"{attack_kills.table(found)}\n")
        tries, faults = kills + disks, len(found.faults)
        survived = tries - min(faults, tries)
        yield Row(f"{name} in a run", tries, survived, found.bad, 0, None, None)


def _answers(scale: Scale) -> Iterator[Row]:
    from tests.attacks import answers

    found = answers.attack(scale.answers)
    survived = found.answers - found.without - found.outcomes["evaluator-error"]
    visits = int(found.visited)
    yield Row(
        "hostile answers to all tasks",
        found.answers,
        survived,
        found.without,
        visits,
        None,
        found.megabytes,
    )


def _servers(scale: Scale) -> Iterator[Row]:
    from tests.attacks import misbehaving

    for family, found in misbehaving.attempts(scale.megabytes << 20, most=2):
        wrong = [one for one in found.values() if one.said.startswith(("HANGS", "TRACEBACK"))]
        for (client, attack), one in found.items():
            if one.leaked or one in wrong:
                sys.stderr.write(f"{attack}: {client}: {one}\n")
        yield Row(
            f"servers: {family}",
            len(found),
            len(found) - len(wrong),
            0,
            sum(one.leaked for one in found.values()),
            max(one.seconds for one in found.values()),
            max(one.megabytes for one in found.values()),
        )


def _days(scale: Scale) -> Iterator[Row]:
    from tests.attacks import day

    with tempfile.TemporaryDirectory() as folder:
        found = day.spend(Path(folder), scale.requests)
    broken = sum(n for said, n in found.statuses.items() if said.endswith(("500", "nothing")))
    tries = found.statuses.total()
    sys.stderr.write(f"a day: {found.before} before, {found.after} after\n{found.said}")
    leaked = sum(found.leaked.values())
    yield Row(
        "mixed requests to a server, in minutes",
        tries,
        tries - broken - bool(found.said),
        0,
        leaked,
        None,
        found.megabytes,
    )


def _freezing(scale: Scale) -> Iterator[Row]:
    del scale  # each text has 1 MiB
    from bench import siege
    from bench.serving import ours, serving

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "results"
        siege.results(store, iterations=1)
        with serving(ours(store)) as url:
            texts, healthy = asyncio.run(siege.freeze(url))
    for name, times in (("texts of 1 MiB", texts), ("/health beside them", healthy)):
        survived = sum(seconds <= _AT_ONCE for seconds in times)
        yield Row(f"the freeze family: {name}", len(times), survived, 0, 0, max(times), None)


def _clocks(scale: Scale) -> Iterator[Row]:
    del scale  # two minutes and ten years ahead
    root = Path(__file__).parent.parent.parent
    words = [sys.executable, "-m", "pytest", "-q", "-m", "", "tests/store/test_clocks.py"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [*words, f"--junit-xml={report}"], cwd=root, capture_output=True, check=False
        )
        (suite,) = ET.parse(report).getroot()
    tries = int(suite.attrib["tests"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    yield Row(
        "clocks two minutes and ten years ahead", tries, tries - failed, failed, 0, None, None
    )


def _mutations(scale: Scale) -> Iterator[Row]:
    from tests.fuzz import fuzzing

    tries = broken = 0
    for name in fuzzing.TARGETS:
        try:
            tries += fuzzing.attack(name, scale.fuzz_seconds / len(fuzzing.TARGETS))
        except Exception as error:  # noqa: BLE001 - any exception is a finding
            sys.stderr.write(f"mutated input for {name}: {error!r}\n")
            tries, broken = tries + 1, broken + 1
    yield Row("mutated inputs", tries, tries - broken, 0, 0, None, None)


PARTS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "damages": _damages,
    "kills": _kills,
    "answers": _answers,
    "servers": _servers,
    "day": _days,
    "freezing": _freezing,
    "clocks": _clocks,
    "mutations": _mutations,
}
HEADINGS = ("attack or fault", "tries", "survived", "lost", "leaked", "worst s", "worst MB")


def main(arguments: list[str]) -> int:
    """Print the table; return 0 if every attack was survived without loss or leak, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    for name, number in FULL._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=number)
    chosen = vars(parser.parse_args(arguments))
    parts = chosen.pop("parts") or list(PARTS)
    scale = Scale(**chosen)
    bad = 0
    _line(HEADINGS)
    _line(["---", *["---:"] * (len(HEADINGS) - 1)])
    for part in parts:
        for row in PARTS[part](scale):
            seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
            _line([*row[:5], seconds, "" if row.megabytes is None else row.megabytes])
            bad += row.tries - row.survived + row.lost + row.leaked
    return 1 if bad else 0


def _line(cells: object) -> None:
    assert isinstance(cells, list | tuple)
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
