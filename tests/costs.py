# SPDX-License-Identifier: Apache-2.0
"""Tiers of tests by measured processor time: a pytest plugin, and ``make costs``.

``tests/costs.json`` lists the tests that took :data:`WIDE` seconds of processor time or more when
they were last measured, and the commit at which all tests were measured. These tests are *wide*;
the others are *quick*, and so are new ones. ``--tier`` selects:

* ``quick`` (``make test``): the quick tests that need neither servers nor a browser.
* ``change`` (``.ci/run``): all quick tests, and of the wide ones those of :data:`GUARDS`, of the
  rooms that changed since that commit, of those that import them, and one eighth of the others,
  another after each commit, up to :data:`BUDGET`. Without git or that commit, all have changed.
* ``all`` (``make test-all``): everything.

A test that is named by its node id runs in any case. Every run measures its tests and leaves the
result in ``build/costs.json``; at its end, quick tests that took longer are named. No test fails
for its time. ``make costs`` moves them (``python -m tests.costs``).

The processor time of a test is that of the test process and of all processes that it started. What
a fixture of a wider scope takes is divided equally among the quick tests that use it, which all
become wide if that is too much. A test that waits costs at least a tenth of its duration, because
it keeps others from running.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Container, Generator, Mapping
from contextlib import suppress
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
LISTED = Path(__file__).with_suffix(".json")
MEASURED = ROOT / "build" / "costs.json"
WIDE = 0.5  # seconds of processor time
NOTED = 0.05  # least seconds of a fixture that are divided
WAITING = 0.1  # seconds that a second of waiting costs
BUDGET = 300.0  # seconds of processor time for the wide tests of a change
PARTS = 8  # changes that together run all wide tests
NAMED = 10  # most tests that a run names
PROGRAMS = ("servers", "browser")
#: Rooms that read files of a top-level folder of another name.
READERS = {
    "queries": "analysis",
    "shapes": "validation",
    "bench": "repository",
}
GUARDS = ("golden",)  # rooms of tests that run after every change
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_time() -> float:
    """Return the seconds of this process and of all its descendants, ended or not.

    Where there is no ``/proc``, descendants that have not ended are left out.
    """
    times = os.times()
    return sum(times[:4]) + sum(map(_times_of, _children(os.getpid())))


def _children(process: int) -> list[int]:
    with suppress(OSError, ValueError):
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(n) for task in tasks for n in (task / "children").read_text().split()]
    return []


def _times_of(process: int) -> float:
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / _TICKS  # its own and its ended children's
        return own + sum(map(_times_of, _children(process)))
    return 0.0


class Run(NamedTuple):
    """What a run measured: seconds of tests, and of shared fixtures with the tests that use them.

    ``commit`` is that of the checkout if the run had all tests.
    """

    tests: dict[str, float]
    fixtures: dict[str, tuple[float, list[str]]]
    skipped: list[str]
    commit: str | None

    def joined(self, other: Run) -> Run:
        """Return what two processes of a run measured."""
        fixtures = dict(self.fixtures)
        for name, (seconds, users) in other.fixtures.items():
            mine, known = fixtures.get(name, (0.0, []))
            fixtures[name] = (mine + seconds, [*known, *users])
        skipped = sorted({*self.skipped, *other.skipped})
        return Run(self.tests | other.tests, fixtures, skipped, self.commit)

    def costs(self, left: Container[str] = ()) -> dict[str, float]:
        """Return the seconds of tests with their parts of fixtures, in a run without ``left``."""
        costs = {test: seconds for test, seconds in self.tests.items() if test not in left}
        for seconds, users in self.fixtures.values():
            present = [test for test in users if test in costs]
            for test in present:
                costs[test] += seconds / len(present)
        return costs

    def wide(self) -> dict[str, float]:
        """Return the tests that take too long beside the quick ones, with their seconds."""
        found: dict[str, float] = {}
        while new := {test: s for test, s in self.costs(found.keys()).items() if s >= WIDE}:
            found |= new
        return {test: round(seconds, 2) for test, seconds in found.items()}


class Meter:
    """Measures the tests and the shared fixtures of one process."""

    def __init__(self) -> None:
        self.tests: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, float] = defaultdict(float)
        self.users: dict[str, set[str]] = defaultdict(set)
        self.skipped: set[str] = set()
        self._nested = [0.0]

    def run(self) -> Run:
        """Return what was measured; tests that skipped are left out."""
        tests = {t: round(s, 2) for t, s in self.tests.items() if t not in self.skipped}
        fixtures = {
            name: (round(seconds, 2), sorted(self.users[name] & tests.keys()))
            for name, seconds in self.fixtures.items()
            if seconds >= NOTED
        }
        return Run(tests, fixtures, sorted(self.skipped), None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure one test from its setup to its teardown, without shared fixtures."""
        before, began, self._nested = processor_time(), time.monotonic(), [0.0]
        for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009
            for definition in definitions:
                self.users[_name(definition)].add(item.nodeid)
        try:
            return (yield)
        finally:
            used = processor_time() - before - self._nested[0]
            self.tests[item.nodeid] += max(used, WAITING * (time.monotonic() - began))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests skip."""
        if report.skipped:
            self.skipped.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Measure the setup of a fixture that tests share."""
        if fixturedef.scope == "function":
            return (yield)
        before = processor_time()
        self._nested.append(0.0)
        try:
            return (yield)
        finally:
            total = max(processor_time() - before, 0.0)
            self.fixtures[_name(fixturedef)] += total - self._nested.pop()
            self._nested[-1] += total


def _name(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


class Tiers:
    """Selects tests, and reports in the process that distributes them what ran."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.meter = Meter()
        self.tier: str = config.getoption("tier")
        self.selected: Counter[str] = Counter()
        self.run = Run({}, {}, [], None)
        config.pluginmanager.register(self.meter, "kgbench-meter")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect what does not belong to the tier."""
        named = tuple(argument for argument in self.config.args if "::" in argument)
        wide = wide_tests()
        chosen = wide_of_change() if self.tier == "change" else frozenset()
        kept: list[pytest.Item] = []
        left: list[pytest.Item] = []
        for item in items:
            programs = any(item.get_closest_marker(mark) for mark in PROGRAMS)
            kind = "wide" if item.nodeid in wide else "with servers or browser" if programs else ""
            if item.nodeid.startswith(named) and named:
                runs = True
            elif self.tier == "quick":
                runs = not kind
            elif self.tier == "change" and kind == "wide":
                runs = item.nodeid in chosen
            else:
                runs = True
            (kept if runs else left).append(item)
            self.selected[f"{'run' if runs else 'left'} {kind}".strip()] += 1
        if left:
            items[:] = kept
            self.config.hook.pytest_deselected(items=left)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the measurements to the process that distributes tests, or keep them there."""
        worker = getattr(session.config, "workeroutput", None)
        if worker is not None:
            worker["run"], worker["selected"] = list(self.meter.run()), dict(self.selected)
        else:
            self.run = self.run.joined(self.meter.run())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the measurements of a worker."""
        output = getattr(node, "workeroutput", {})
        if "run" in output:
            self.run = self.run.joined(Run(*output["run"]))
        self.selected = Counter(output.get("selected", self.selected))

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Say what ran, what was left, and which quick tests have become wide; keep the times."""
        if self.config.rootpath != ROOT or not self.run.tests:
            return
        whole = self.tier == "all" and exitstatus in (0, 1) and not _narrowed(self.config)
        self.run = self.run._replace(commit=git("rev-parse", "HEAD") if whole else None)
        MEASURED.parent.mkdir(exist_ok=True)
        MEASURED.write_text(json.dumps(self.run._asdict()), encoding="utf-8")
        costs = self.run.costs()
        say = terminalreporter.write_line
        say("")
        seconds = sum(costs.values())
        say(f"{seconds:.0f} s of processor time in {len(costs)} tests; {self._left()}")
        if self.tier == "change":
            rooms, part = changes()
            eighth = "" if part is None else f", part {part + 1} of {PARTS} of the others"
            say(f"wide: {', '.join(sorted(rooms)) or 'no room'}{eighth}, at most {BUDGET:g} s")
        became = {test: s for test, s in self.run.wide().items() if test not in wide_tests()}
        if became:
            say(f"{len(became)} quick tests took {WIDE:g} s or more; `make costs` moves them:")
            for test in sorted(became, key=lambda each: -became[each])[:NAMED]:
                say(f"  {became[test]:6.1f} s  {test}")

    def _left(self) -> str:
        kinds = sorted(kind for kind in self.selected if kind.startswith("left"))
        counted = [f"{self.selected[k]} {k.removeprefix('left').strip() or 'quick'}" for k in kinds]
        return f"left for other tiers: {', '.join(counted)}" if counted else "none left"


def _narrowed(config: pytest.Config) -> bool:
    """Return whether the command line asks for a part of the tests."""
    return bool(
        config.option.keyword
        or config.option.markexpr
        or any(argument not in config.getini("testpaths") for argument in config.args)
    )


@cache
def listed() -> Mapping[str, Any]:
    """Return the content of ``tests/costs.json``; an empty list if there is none."""
    if not LISTED.exists():
        return {"commit": None, "wide": {}}
    found: Mapping[str, Any] = json.loads(LISTED.read_text(encoding="utf-8"))
    return found


def by_node(wide: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the seconds of listed tests by node id."""
    return {f"{file}::{test}": s for file, tests in wide.items() for test, s in tests.items()}


@cache
def wide_tests() -> frozenset[str]:
    """Return the node ids of the listed tests."""
    return frozenset(by_node(listed()["wide"]))


def room_of(path: str) -> str:
    """Return the room of a file of the repository, or of a node id.

    >>> room_of("tests/store/test_leases.py::test_a_lease"), room_of("tests/test_clock.py")
    ('store', 'clock')
    >>> room_of("kgbench/rdf/quads.py"), room_of("queries/turns.rq"), room_of("pyproject.toml")
    ('rdf', 'analysis', 'repository')
    """
    first, *rest = path.partition("::")[0].split("/")
    if not rest:
        return "repository"
    if first in ("kgbench", "tests"):
        return rest[0].removesuffix(".py").removeprefix("test_")
    return READERS.get(first, first)


def part_of(test: str) -> int:
    """Return in which of :data:`PARTS` parts of the wide tests a test is."""
    return zlib.crc32(test.encode()) % PARTS


@cache
def changes() -> tuple[frozenset[str], int | None]:
    """Return the rooms that a change affects, and the part of the other wide tests that runs.

    The rooms are :data:`GUARDS`, those with files that differ from the listed commit, and those
    that import them; without that commit, all.
    """
    commit = listed()["commit"]
    differing = git("diff", "--name-only", commit, "--") if commit else None
    distance = git("rev-list", "--count", f"{commit}..HEAD") if commit else None
    imports = room_imports()
    if differing is None or distance is None:
        return frozenset((*imports, *map(room_of, wide_tests()))), None
    changed = {room_of(path) for path in differing.splitlines()}
    importing = {room for room, imported in imports.items() if imported & changed}
    return frozenset(changed | importing | set(GUARDS)), int(distance) % PARTS


@cache
def wide_of_change() -> frozenset[str]:
    """Return the wide tests of a change within the budget: guards first, then changed rooms."""
    rooms, part = changes()
    cost = by_node(listed()["wide"])
    rank = {test: (room_of(test) not in GUARDS, room_of(test) not in rooms) for test in cost}
    wanted = [test for test in cost if not rank[test][1] or part_of(test) == part]
    wanted.sort(key=lambda test: (rank[test], (part_of(test) - (part or 0)) % PARTS))
    ends = accumulate(cost[test] for test in wanted)
    return frozenset(test for test, end in zip(wanted, ends, strict=True) if end <= BUDGET)


def room_imports() -> dict[str, set[str]]:
    """Return the rooms of ``kgbench/``, and ``tasks``, with the rooms that they import."""
    from docs.reference_pages.house import own_imports

    imports: dict[str, set[str]] = defaultdict(set)
    for path in chain((ROOT / "kgbench").rglob("*.py"), (ROOT / "tasks").rglob("*.py")):
        imports[room_of(path.relative_to(ROOT).as_posix())].update(own_imports(path))
    return imports


def git(*words: str) -> str | None:
    """Return what git prints about the checkout; ``None`` if it fails or is not there."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tier``."""
    parser.addoption(
        "--tier",
        choices=("quick", "change", "all"),
        default="quick",
        help="which tests run: see tests/costs.py",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the selection and the measurement."""
    config.pluginmanager.register(Tiers(config), "kgbench-tiers")


def moved(old: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Return the content of ``tests/costs.json`` after a run.

    Unmeasured tests of existing files stay listed; after a run of all tests, only skipped ones.
    """
    known = by_node({f: of for f, of in old["wide"].items() if (ROOT / f).is_file()})
    kept = known.keys() & set(run.skipped) if run.commit else known.keys() - run.tests.keys()
    new = {test: known[test] for test in kept} | run.wide()
    wide: dict[str, dict[str, float]] = {}
    for node in sorted(new):
        file, _, test = node.partition("::")
        wide.setdefault(file, {})[test] = new[node]
    return {"commit": run.commit or old["commit"], "wide": wide}


def main() -> None:
    """Update ``tests/costs.json`` from the last run."""
    new = moved(listed(), Run(**json.loads(MEASURED.read_text(encoding="utf-8"))))
    LISTED.write_text(json.dumps(new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seconds = [each for tests in new["wide"].values() for each in tests.values()]
    sys.stdout.write(f"{LISTED}: {len(seconds)} wide tests of {sum(seconds):.0f} s\n")


if __name__ == "__main__":
    main()
