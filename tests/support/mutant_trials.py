# SPDX-License-Identifier: Apache-2.0
"""The tests of a room against mutants of it, in a copy of the tree: see ``tests/mutant_rates.py``.

``python -m tests.support.mutant_trials ROOM NUMBER SEED TIER SECONDS`` changes the files of the
room, so it must not run in the tree itself. It leaves what it finds in ``../ROOM.json``.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import takewhile
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import costs
from tests.support import code_mutants
from tests.support.code_mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 4 << 30  # bytes of data in a process; an endless loop of a mutant may allocate memory
PATIENCE = (8.0, 5)  # seconds, and multiples of the usual duration, that a test may take
CASES = 3  # of each test, which are measured before the others
#: The parts of the time by which tests are measured and mutants tried, for each choice of tests.
PHASES = {
    "quick": {"quick": (0.5, 1.0)},
    "all": {"all": (0.5, 1.0)},
    "both": {"quick": (0.3, 0.6), "wide": (0.8, 1.0)},
}
_LIBC = ctypes.CDLL(None)
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # of prctl


def sample(sources: Mapping[str, str], number: int, seed: str) -> list[Mutant]:
    """Return ``number`` mutants of modules, given by path: the same for the same sources and seed.

    If there are fewer, all are returned.
    """
    mutants = [
        mutant for path in sorted(sources) for mutant in code_mutants.found(sources[path], path)
    ]
    return random.Random(seed).sample(mutants, min(number, len(mutants)))


class Part:
    """The seconds of a test or of a fixture that tests share, and the mutants that it reaches."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.reached: set[int] = set()


class Ran(NamedTuple):
    """A test that has run.

    ``seconds`` are those if it runs alone; ``reached`` are the mutants whose places it reaches;
    ``modules`` have been imported in its fork.
    """

    passed: bool
    seconds: float
    reached: frozenset[int]
    modules: tuple[str, ...]


class TimeIsUp(Exception):
    """The room has used the time of a phase."""


class Trials:
    """A pytest plugin that tries mutants instead of running the tests once."""

    def __init__(self, name: str, mutants: Sequence[Mutant], tier: str, seconds: float) -> None:
        self.name, self.mutants, self.tier = name, mutants, tier
        self.began, self.seconds = time.monotonic(), seconds
        self.file = Path(f"{ROOT}.switch")
        self.file.write_bytes(bytes(2 * len(mutants)))
        with self.file.open("r+b") as file:
            self.memory = mmap(file.fileno(), 0)
        self.parts: dict[Any, Part] = {}
        self.part, self.since, self.used, self.failed = Part(), 0.0, set[Any](), False
        self.until = 0.0  # when the current phase ends
        self.sound: set[str] = set()  # tests that pass without a mutant, alone in a fork
        self.broken: set[str] = set()
        self.imported: set[int] = set()  # mutants whose place imports reach

    # In the process of the room

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Measure the tests, then try the mutants, phase by phase."""
        if session.testsfailed:  # the import of a file fails
            return None
        _LIBC.prctl(_SUBREAPER, 1)
        found: dict[str, Any] = {"tests": {}, "unmeasured": {}, "times": {}}
        found["collecting"] = self.spent()
        fates: list[dict[str, str]] = [{} for _ in self.mutants]
        reached: dict[str, set[int]] = {}
        for phase, (measuring, trying) in PHASES[self.tier].items():
            items = [item for item in session.items if phase in ("all", tier(item))]
            self.until = self.began + self.seconds * measuring
            tests = self.measure(in_order(items))
            found["tests"][phase] = len(tests)
            found["unmeasured"][phase] = len(items) - len(tests)
            reached[phase] = set().union(*(ran.reached for ran in tests.values()))
            self.until = self.began + self.seconds * trying
            measured = self.spent()
            self.try_all(phase, tests, fates)
            found["times"][phase] = [measured, self.spent()]  # after measuring and trying
        found |= {
            "seconds": self.spent(),
            "broken": sorted(self.broken),
            "imported": 0,
            "mutants": [],
        }
        imported = self.imported | self.reached()
        for number, (mutant, fate) in enumerate(zip(self.mutants, fates, strict=True)):
            by = [phase for phase in reached if number in reached[phase]]
            if number in imported and not by:
                found["imported"] += 1
            else:
                found["mutants"].append(mutant._asdict() | {"reached": by, "noticed": fate})
        Path(f"{ROOT}.json").write_text(json.dumps(found), encoding="utf-8")
        return True

    def try_all(
        self, phase: str, tests: Mapping[pytest.Item, Ran], fates: Sequence[dict[str, str]]
    ) -> None:
        """Note for each mutant which test notices it; nothing if the time does not suffice.

        A later phase tries what an earlier one did not notice.
        """
        first = phase == next(iter(PHASES[self.tier]))
        for number, fate in enumerate(fates):
            if first or list(fate.values()) == [""]:
                try:
                    fate[phase] = self.noticed(number, tests)
                except TimeIsUp:
                    if first:  # those that no test reaches must not be more frequent in the sample
                        return

    def measure(self, items: Iterable[pytest.Item]) -> dict[pytest.Item, Ran]:
        """Run tests without a mutant, those of a file in one fork; return those that pass."""
        waiting, passed = list(items), dict[pytest.Item, Ran]()
        with suppress(TimeIsUp):
            while waiting:
                file = waiting[0].path
                group = list(takewhile(partial(_is_in, file), waiting))
                modules: tuple[str, ...] = ()
                for item, ran in self.run(group):
                    waiting.remove(item)
                    if ran is not None and ran.passed:
                        passed[item] = ran
                    else:
                        self.broken.add(item.nodeid)
                    modules = modules if ran is None else ran.modules
                self.load(modules)
        return passed

    def load(self, modules: Iterable[str]) -> None:
        """Import what tests have imported, so that forks need not; but no module of the room."""
        for name in modules:
            if not f"{name}.".startswith(f"kgbench.{self.name}."):
                with suppress(Exception):
                    importlib.import_module(name)
        gc.freeze()
        self.imported |= self.reached()

    def noticed(self, number: int, tests: Mapping[pytest.Item, Ran]) -> str:
        """Return the first test that notices a mutant, or nothing."""
        chosen = sorted(
            (item for item, ran in tests.items() if number in ran.reached),
            key=lambda item: tests[item].seconds,
        )
        while True:
            chosen = [item for item in chosen if item.nodeid not in self.broken]
            item = self.first_failure(chosen, tests, number)
            if item is None:
                return ""
            if item.nodeid not in self.sound and self.first_failure([item], tests) is not None:
                self.broken.add(item.nodeid)
                continue
            self.sound.add(item.nodeid)
            return item.nodeid

    def first_failure(
        self,
        items: Sequence[pytest.Item],
        tests: Mapping[pytest.Item, Ran],
        number: int | None = None,
    ) -> pytest.Item | None:
        """Return the first test that fails, with a mutant or without."""
        with closing(self.run(items, tests, number)) as running:
            return next((item for item, ran in running if ran is None or not ran.passed), None)

    def run(
        self,
        items: Sequence[pytest.Item],
        usual: Mapping[pytest.Item, Ran] | None = None,
        number: int | None = None,
    ) -> Generator[tuple[pytest.Item, Ran | None], None, None]:
        """Run tests in a fork, with a mutant; ``None`` stands for a crash or a time out.

        The fork ends with the first test that crashes or that takes too long.
        """
        if not items:
            return
        if time.monotonic() >= self.until:
            raise TimeIsUp
        if number is not None:
            self.memory[number] = 1
        receiving, sending = Pipe(duplex=False)
        child = os.fork()
        if not child:
            try:
                self.run_here(items, number, sending)
            finally:
                os._exit(0)
        sending.close()
        try:
            for item in items:
                rest = self.until - time.monotonic()
                limit = PATIENCE[0] + PATIENCE[1] * usual[item].seconds if usual else rest
                ran = None
                with suppress(EOFError):
                    if receiving.poll(max(0, min(limit, rest))):
                        ran = Ran(*receiving.recv())
                if ran is None and time.monotonic() >= self.until:
                    raise TimeIsUp
                yield item, ran
                if ran is None:
                    return
        finally:
            receiving.close()
            self.end(child, number)

    def end(self, child: int, number: int | None) -> None:
        """End a fork and all its descendants, and remove what they left."""
        left = [child]
        while left:
            for process in left:
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
            left = costs._children(os.getpid())
        if number is not None:
            self.memory[number] = 0
        for path in Path(tempfile.gettempdir()).iterdir():
            shutil.rmtree(path, ignore_errors=True)
        Path(os.environ["XDG_STATE_HOME"]).mkdir(parents=True)

    def spent(self) -> float:
        """Return the seconds since the start."""
        return round(time.monotonic() - self.began, 1)

    def reached(self) -> set[int]:
        """Return the mutants whose place was reached since the last call."""
        count = len(self.mutants)
        found = {number for number, byte in enumerate(self.memory[count:]) if byte}
        self.memory[count:] = bytes(count)
        return found

    # In a fork

    def run_here(
        self, items: Sequence[pytest.Item], number: int | None, sending: Connection
    ) -> None:
        """Run tests and send what they do, in a session that signals do not leave."""
        os.setsid()
        _LIBC.prctl(_DEATH_SIGNAL, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
        if number is not None:
            code_mutants.set_default(self.mutants[number], ROOT)
        before = set(sys.modules)
        for item, following in zip(items, [*items[1:], None], strict=True):
            forget(f"kgbench.{self.name}")
            self.reached()
            self.failed, own, self.since = False, Part(), time.monotonic()
            self.part = own
            self.used = set(_shared(item))
            # With its module as the next item, the last test leaves what tests share as it is.
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following or item.parent)
            self.turn(Part())
            parts = [own, *(self.parts[each] for each in self.used & self.parts.keys())]
            reached = frozenset[int]().union(*(part.reached for part in parts))
            seconds = sum(part.seconds for part in parts)
            modules = tuple(name for name in sys.modules if name not in before and _lasts(name))
            sending.send((not self.failed, seconds, reached, modules))

    def turn(self, part: Part) -> Part:
        """Count what follows for another part; return the one until now."""
        now, old = time.monotonic(), self.part
        old.seconds += now - self.since
        old.reached |= self.reached()
        self.part, self.since = part, now
        return old

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Measure the setup of a fixture that tests share."""
        if fixturedef.scope == "function":
            return (yield)
        self.used.add(fixturedef)
        outer = self.turn(self.parts.setdefault(fixturedef, Part()))
        try:
            return (yield)
        finally:
            self.turn(outer)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test fails."""
        self.failed |= report.failed


def _is_in(file: Path, item: pytest.Item) -> bool:
    return item.path == file


def tier(item: pytest.Item) -> str:
    """Return whether a test is quick or wide; those with servers or a browser are wide."""
    programs = any(item.get_closest_marker(mark) for mark in costs.PROGRAMS)
    return "wide" if programs or item.nodeid in costs.wide_tests() else "quick"


def in_order(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return quick tests by file, some cases of each before all; then the wide ones by duration."""
    wide = costs.by_node(costs.listed()["wide"])
    cases: Counter[str] = Counter()
    order = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        order.append((wide.get(item.nodeid, 0.0), cases[test] >= CASES))
        cases[test] += 1
    return [item for _, item in sorted(zip(order, items, strict=True), key=itemgetter(0))]


def _shared(item: pytest.Item) -> Iterator[Any]:
    for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009
        yield from (each for each in definitions if each.scope != "function")


def _lasts(module: str) -> bool:
    """Return whether a module is one of kgbench or of an installed package."""
    file = getattr(sys.modules[module], "__file__", None) or ""
    return file.startswith((f"{ROOT}/kgbench", sys.prefix))


def forget(package: str) -> None:
    """Clear the caches of a package's functions, so that each test reaches what it needs."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_clear") and getattr(value, "__module__", None) == name:
                value.cache_clear()


def main(room: str, number: str, seed: str, tier: str, seconds: str) -> None:
    """Change the room and start pytest."""
    _LIBC.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    families = ["tasks"] if room == "families" else []  # code and tests in one folder
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in (f"kgbench/{room}", *families)
        for path in (ROOT / folder).rglob("*.py")
        if not path.name.startswith("test_")
    }
    mutants = sample(sources, int(number), f"{seed} {room}")
    trials = Trials(room, mutants, tier, float(seconds))
    for name, source in sources.items():
        if chosen := {n: mutant for n, mutant in enumerate(mutants) if mutant.path == name}:
            path = ROOT / name
            path.unlink()  # the file may be a link
            path.write_text(code_mutants.woven(source, chosen), encoding="utf-8")
    switch = ROOT / "kgbench" / f"{code_mutants.MODULE}.py"
    switch.write_text(code_mutants.switch(trials.file, len(mutants)), encoding="utf-8")
    again = "-Wignore:Module already imported:pytest.PytestAssertRewriteWarning"  # tests.costs
    options = (again, "--tier=all", "--hypothesis-profile=ci", "-pno:randomly", "-otimeout=0", "-q")
    pytest.main([f"tests/{room}", *families, *options], plugins=[trials])


if __name__ == "__main__":
    main(*sys.argv[1:])
