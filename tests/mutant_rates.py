# SPDX-License-Identifier: Apache-2.0
"""How many small changes of each room its quick tests notice: ``make mutant-rates``.

A sample of the mutants of the room's functions is woven into a copy of the tree
(``tests/support/code_mutants.py``). One process per room collects the tests of the room
(``tests/support/mutant_trials.py``). It forks for each mutant, turns it on in the fork and in the
children of the fork, and runs the tests that reach its place, the fastest first, until one fails,
crashes or takes several times as long as without the mutant. The wide tests only run against
mutants that the quick ones did not notice. Tests with servers or a browser count as wide.

Each test that notices a mutant also runs without one, alone in a fork. If it fails there, or when
the tests are measured at first, it is left out and named.

The minutes are shared among the rooms; a room whose time is up reports what it has tried. If not
all mutants could be tried with the wide tests, the number that they notice is estimated from the
others. Mutants that are reached by imports alone are left out, because the modules have been
imported before a fork. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from tests import costs

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "mutant-rates"
TREE = FOLDER / "tree"
LEFT_OUT = (".git", ".venv*", ".*_cache", ".hypothesis", "build", "dist", "shared")
VALIDATORS = ".venv-validators"
GOAL = 0.85
WORKERS = 2
GRACE = 120  # seconds after which a room whose time is up is ended
COLUMNS = ("room", "mutants", "quick", "wide", "all", "quick/all", "untried", "tests", "seconds")
LEGEND = f"""
mutants: tried, of those chosen; quick, wide: noticed by these tests; all: ~ is an estimate, because
"untried" mutants were not tried with wide tests that reach them; tests: passed, of all, without a
mutant; goal of quick/all: {GOAL:.0%}.
"""


class Rate(NamedTuple):
    """What the tests of a room notice.

    ``all`` is estimated if ``untried`` mutants, which wide tests reach, were not tried with them.
    """

    tried: int
    quick: int
    wide: int
    untried: int
    all: float | None

    @property
    def ratio(self) -> float | None:
        """The part of the noticed mutants that quick tests notice."""
        return self.quick / self.all if self.all else None


def rate(mutants: Iterable[Mapping[str, Any]], tier: str) -> Rate:
    """Return the rate of a room from its mutants with the tests that reach and notice them."""
    first = "all" if tier == "all" else "quick"
    tried = [mutant for mutant in mutants if first in mutant["noticed"]]
    noticed = sum(1 for mutant in tried if mutant["noticed"][first])
    if tier != "both":
        every = float(noticed) if tier == "all" else None
        return Rate(len(tried), 0 if tier == "all" else noticed, 0, 0, every)
    left = [m for m in tried if not m["noticed"][first] and "wide" in m["reached"]]
    fates = [mutant["noticed"]["wide"] for mutant in left if "wide" in mutant["noticed"]]
    wide, untried = sum(map(bool, fates)), len(left) - len(fates)
    every = noticed + wide + untried * wide / len(fates) if fates else float(noticed)
    return Rate(len(tried), noticed, wide, untried, every)


def rooms() -> list[str]:
    """Return the rooms of ``kgbench/`` that have tests of their own."""
    return sorted(
        path.name
        for path in (ROOT / "kgbench").iterdir()
        if any(path.rglob("*.py")) and any((ROOT / "tests" / path.name).rglob("test_*.py"))
    )


def wide_seconds() -> Callable[[str], float]:
    """Return a function that gives the time of a room's wide tests."""
    seconds: dict[str, float] = defaultdict(float)
    for test, each in costs.by_node(costs.listed()["wide"]).items():
        seconds[costs.room_of(test)] += each
    return lambda room: seconds[room]


def copy_tree() -> None:
    """Copy the tree as it is now, so that all rooms are tried with the same tests."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(ROOT, TREE, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    if (ROOT / VALIDATORS).exists():
        (TREE / VALIDATORS).symlink_to(ROOT / VALIDATORS)


class Shares:
    """The time of the rooms: what one leaves goes to those that start later."""

    def __init__(self, seconds: float, number: int) -> None:
        self.end, self.waiting = time.monotonic() + seconds, number

    def next(self) -> float:
        """Return the seconds of the next room."""
        left, starting = self.end - time.monotonic(), self.waiting
        self.waiting -= 1
        return max(left, 0.0) * WORKERS / (starting + WORKERS - 1)


def try_room(shares: Shares, options: argparse.Namespace, room: str) -> dict[str, Any]:
    """Try the mutants of a room in a copy of its own; return what was found."""
    seconds, copy = shares.next(), FOLDER / room
    shutil.copytree(TREE, copy, symlinks=True, copy_function=os.link)
    words = (room, options.number, options.seed, options.tier, seconds)
    command = [sys.executable, "-m", "tests.support.mutant_trials", *map(str, words)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        paths = {
            "PYTHONPATH": str(copy),
            "TMPDIR": temporary,
            "GIT_CEILING_DIRECTORIES": str(FOLDER),
        }
        settings = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "0"}
        with (FOLDER / f"{room}.log").open("w", encoding="utf-8") as log:
            try:
                subprocess.run(
                    command,
                    cwd=copy,
                    env=os.environ | settings | paths,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    timeout=seconds + GRACE,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                log.write("the time is up")
    shutil.rmtree(copy)
    results = FOLDER / f"{room}.json"
    found: dict[str, Any] = {"room": room, "mutants": [], "error": f"see {room}.log"}
    if results.exists():
        found = {"room": room, **json.loads(results.read_text(encoding="utf-8"))}
    found["rate"] = rate(found["mutants"], options.tier)._asdict()
    sys.stderr.write(f"{room}: {found['rate']} {found.get('seconds')} s\n")
    return found


def row(found: Mapping[str, Any]) -> str:
    """Return the row of a room in the table."""
    if "error" in found:
        return f"| {found['room']} | {found['error']} |" + " |" * (len(COLUMNS) - 2)
    noticed = Rate(**found["rate"])
    passed = sum(found["tests"].values())
    tests = passed + sum(found["unmeasured"].values())
    cells = (
        found["room"],
        f"{noticed.tried} of {len(found['mutants'])}",
        noticed.quick,
        noticed.wide,
        "" if noticed.all is None else f"{'~' * bool(noticed.untried)}{noticed.all:.0f}",
        "" if noticed.ratio is None else f"{noticed.ratio:.0%}{' !' * (noticed.ratio < GOAL)}",
        noticed.untried,
        f"{passed} of {tests}",
        f"{found['seconds']:.0f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def table(results: Iterable[Mapping[str, Any]]) -> str:
    """Return the table, and the tests that fail without any mutant."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}", *map(row, results)]
    broken = [f"left out: {test}" for found in results for test in found.get("broken", ())]
    return "\n".join([*lines, LEGEND, *broken])


def main(arguments: list[str] | None = None) -> None:
    """Try the rooms and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutant_rates")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="default: all with tests")
    parser.add_argument("--number", type=int, default=200, help="mutants per room")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=60.0, help="for all rooms together")
    parser.add_argument("--tier", choices=("quick", "all", "both"), default="both")
    parser.add_argument("--json", type=Path, help="where to write each mutant's fate")
    options = parser.parse_args(arguments)
    known = rooms()
    unknown = set(options.rooms) - set(known)
    if unknown:
        parser.error(f"not a room with tests: {', '.join(sorted(unknown))}")
    chosen = sorted(options.rooms or known, key=wide_seconds())  # what they leave goes to others
    copy_tree()
    shares = Shares(60 * options.minutes, len(chosen))
    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(lambda room: try_room(shares, options, room), chosen))
    results.sort(key=itemgetter("room"))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{table(results)}\n")


if __name__ == "__main__":
    main()
