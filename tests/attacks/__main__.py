# SPDX-License-Identifier: Apache-2.0
"""Attacks and faults in large numbers, with their effects in one table.

``python -m tests.attacks [PART...]`` carries out all parts, or the named ones, and prints a row for
each attack or fault: number of tries, number survived, losses, leaks, and the maximal time and
memory, as soon as it is known. The exit code is 1 if anything was lost, leaked or not survived.
``make attacks`` does the same in the environment of the tests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
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
    imports: int
    megabytes: int


FULL = Scale(damages=200, kills=100, full_disks=20, imports=25, megabytes=1024)
_WORKERS = 2


def _damages(scale: Scale) -> Iterator[Row]:
    share = -(-scale.damages // _WORKERS)
    command = (sys.executable, "-m", "tests.attacks.damage")
    commands = [
        (*command, "--first", str(first), "--tries", str(min(share, scale.damages - first)))
        for first in range(0, scale.damages, share)
    ]
    with ThreadPoolExecutor(_WORKERS) as pool:
        done = pool.map(lambda words: subprocess.run(words, stdout=PIPE, check=False), commands)
        found = [json.loads(one.stdout) for one in done]
    tries = sum(one["tries"] for one in found)
    yield Row(
        "random damage to a store",
        tries,
        tries - sum(one["tries with a failure"] for one in found),
        sum(one["wrong recoveries"] + one["false sound"] for one in found),
        0,
        max(one["worst seconds"] for one in found),
        max(one["worst memory in MiB"] for one in found),
    )


def _kills(scale: Scale) -> Iterator[Row]:
    from bench import attack_kills

    tries = scale.kills + scale.full_disks
    with tempfile.TemporaryDirectory() as folder:
        attack = attack_kills.Attack(Path(folder), 10 * tries, 1, 0.25)
        found = attack.carry_out(scale.kills, scale.full_disks)
    sys.stderr.write(f"{attack_kills.table(found)}\n")
    survived = tries - min(len(found.faults), tries)
    what = f"{scale.kills} SIGKILLs and {scale.full_disks} full disks in a run"
    yield Row(what, tries, survived, found.bad, 0, None, None)


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


def _imports(scale: Scale) -> Iterator[Row]:
    from tests.attacks import imports

    for name in imports.IMPORTERS:
        command = (sys.executable, "-m", "tests.attacks.imports", name, str(scale.imports))
        done = subprocess.run(command, stdout=PIPE, check=True)
        tries, survived, written, seconds, megabytes = json.loads(done.stdout)
        what = f"hostile files for `import {name}`"
        yield Row(what, tries, survived, written, 0, seconds, megabytes)


def _stores(scale: Scale) -> Iterator[Row]:
    from tests.attacks import misbehaving

    found = misbehaving.attempts(scale.megabytes << 20)
    for one in found:
        if one.leaked or not one.survived:
            sys.stderr.write(f"{one}\n")
    yield Row(
        "lying servers as stores",
        len(found),
        sum(one.survived for one in found),
        0,
        sum(one.leaked for one in found),
        max(one.seconds for one in found),
        max(one.megabytes for one in found),
    )


PARTS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "damages": _damages,
    "kills": _kills,
    "clocks": _clocks,
    "imports": _imports,
    "stores": _stores,
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
