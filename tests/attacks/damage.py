# SPDX-License-Identifier: Apache-2.0
"""Damages a store at random, many times, and counts how commands cope.

``python -m tests.attacks.damage --tries 200``. Each try copies a store, damages a file (a flipped
bit, a zeroed page, a truncated, removed or swapped file) in the owner's files or a snapshot, runs
reading commands, ``store check``, ``run`` and ``store recover``, and compares with the result of an
independent reader. ``--seed N`` repeats a series, ``--only N`` one try.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgbench import config
from tests.attacks.forks import Ran, kgbench

PAGE = 4096
CONFIGURATION = """\
name: damaged
iterations: {iterations}
tasks: [RdfFriendCount-turtle-1, RdfFriendCount-nt-2]
models: ["baseline:oracle", "baseline:noisy?rate=0.3&seed=7"]
"""
COUNT = "SELECT ?g ?p (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ?p"
DERIVED = re.compile(r"/graph/(catalogue>|aggregates/)")  # written anew, counts in fewer lists
DIALOGUE = "<https://w3id.org/kgbench/ns#Dialogue>"
# Reads a database without any code of kgbench and prints the quads that are readable.
READER = """
import resource, sys
import pyoxigraph as ox
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    database = ox.Store.read_only(sys.argv[1])
except Exception as error:
    sys.exit(f"DAMAGED {error}")
whole = True
def readable(quads):
    global whole
    quads, failures = iter(quads), 0
    while failures < 500:
        try:
            yield next(quads)
            failures = 0
        except StopIteration:
            return
        except Exception:
            whole, failures = False, failures + 1
first = set(readable(database))
predicates = {quad.predicate for quad in first}
by_predicate = {q for p in predicates for q in readable(database.quads_for_pattern(None, p, None))}
for quad in first | by_predicate:
    sys.stdout.write(f"{quad} .\\n")
sys.exit(0 if whole and first == by_predicate else "DAMAGED")
"""


@dataclass(slots=True)
class Tally:
    """The findings of a series; ``failures`` has one line per violation."""

    tries: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    harmless: int = 0
    found: int = 0
    recovered: int = 0
    asked_again: int = 0
    nothing_readable: int = 0
    seconds: float = 0.0
    memory: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> dict[str, Any]:
        """Return the figures by name."""
        kinds = Counter(line.partition(":")[0] for line in self.failures)
        return {
            "tries": self.tries,
            "damages": dict(self.kinds),
            "content unharmed": self.harmless,
            "damage named by check": self.found,
            "recovered": self.recovered,
            "dialogues asked again": self.asked_again,
            "nothing readable": self.nothing_readable,
            "worst seconds": round(self.seconds, 1),
            "worst memory in MiB": self.memory >> 20,
            "tracebacks": kinds["traceback"],
            "hangs": kinds["hang"],
            "false sound": kinds["false sound"],
            "wrong recoveries": kinds["recovery"],
            "tries with a failure": len({line.split(":")[1] for line in self.failures}),
        }


def made_store(folder: Path, iterations: int) -> Path:
    """Make a store with two sessions; its older snapshot lacks the second session."""
    place = folder / "store"
    configuration(folder, iterations)
    config.load(folder / "c.yaml")  # the forks need not read the catalogue of tasks again
    for number in (iterations // 2, iterations):
        configuration(folder, number)
        done = kgbench(folder, "run", "c.yaml", "--store", str(place))
        assert done.status == 0, done.err
    return place


def configuration(folder: Path, iterations: int) -> None:
    """Write the configuration of the runs."""
    (folder / "c.yaml").write_text(CONFIGURATION.format(iterations=iterations), encoding="utf-8")


def read(database: Path) -> tuple[set[str], bool]:
    """Return the quads that an independent reader can read, and whether they are all."""
    done = subprocess.run(
        [sys.executable, "-c", READER, str(database)], capture_output=True, text=True, check=False
    )
    return set(done.stdout.splitlines()), done.returncode == 0


def parts(place: Path) -> Iterator[Path]:
    """Return the folders of the owner's files and of the snapshots of a store."""
    yield place / "data"
    yield from sorted(p for p in (place / "snapshots").iterdir() if p.is_dir())


def damage(place: Path, chance: random.Random) -> str:
    """Damage one file of a store; return a description of the damage."""
    files = sorted(
        path
        for part in parts(place)
        for path in part.iterdir()
        if path.is_file() and path.stat().st_size
    )
    weights = [path.stat().st_size for path in files] if chance.random() < 0.7 else None
    (path,) = chance.choices(files, weights)
    kind = chance.choice(["flip", "flip", "zero", "truncate", "remove", "swap"])
    size = path.stat().st_size
    content = bytearray(path.read_bytes())
    if kind == "flip":
        content[chance.randrange(size)] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        start = chance.randrange(size) // PAGE * PAGE
        content[start : start + PAGE] = bytes(len(content[start : start + PAGE]))
    elif kind == "truncate":
        del content[chance.randrange(size) :]
    if kind == "remove":
        path.unlink()
    elif kind == "swap":
        other = chance.choice([one for one in files if one != path])
        before = other.read_bytes()
        _overwrite(other, bytes(content))
        _overwrite(path, before)
    else:
        _overwrite(path, bytes(content))
    return f"{kind} {path.relative_to(place)}"


def _overwrite(path: Path, content: bytes) -> None:
    """Change a file in place, and so in all parts that share it by hard links."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)


class Attack:
    """A series of tries on copies of one store."""

    def __init__(self, folder: Path, iterations: int) -> None:
        self.folder = folder
        self.planned = 4 * iterations  # two tasks, two models
        self.template = made_store(folder, iterations)
        self.whole = {part.name: read(part)[0] for part in parts(self.template)}
        self.tally = Tally()

    def attempt(self, number: int, seed: int) -> None:
        """Damage a copy of the store and try all commands on it."""
        chance = random.Random(f"{seed}/{number}")
        place = self.folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.template), str(place)], check=True)
        what = damage(place, chance)
        self.tally.tries += 1
        self.tally.kinds[what.partition(" ")[0]] += 1
        self.what = f"try {number} ({what})"
        readable = {part.name: read(part) for part in parts(place)}
        unharmed = all(
            whole and lines == self.whole[name] for name, (lines, whole) in readable.items()
        )
        self.tally.harmless += unharmed
        self._check(place, unharmed=unharmed)
        self._recover(place, {name: lines for name, (lines, _) in readable.items()})
        (self.folder / "q.rq").write_text(COUNT, encoding="utf-8")
        for command in ("status", "query q.rq", "analyze leaderboard", "run c.yaml"):
            self._given(*command.split(), "--store", str(place))

    def _given(self, *arguments: str) -> Ran:
        done = kgbench(self.folder, *arguments)
        self.tally.seconds = max(self.tally.seconds, done.seconds)
        self.tally.memory = max(self.tally.memory, done.memory)
        if done.fault is not None:
            self._failed(done.fault, done)
        elif done.status and "kgbench:" not in done.err and arguments[:2] != ("store", "check"):
            self._failed("no words", done)
        return done

    def _failed(self, kind: str, done: Ran, words: str = "") -> None:
        said = words or " ".join(done.err[-600:].split())
        self.tally.failures.append(f"{kind}: {self.what}: {done.command}: {said}")
        _say(self.tally.failures[-1])

    def _check(self, place: Path, *, unharmed: bool) -> None:
        done = self._given("store", "check", "--store", str(place))
        self.tally.found += done.status == 1
        if done.status == 0 and not unharmed:
            self._failed("false sound", done, done.out)

    def _recover(self, place: Path, by_part: dict[str, set[str]]) -> None:
        new = self.folder / "recovered"
        shutil.rmtree(new, ignore_errors=True)
        done = self._given("store", "recover", str(new), "--store", str(place), "--json")
        if done.status != 0:
            if any(f"#type> {DIALOGUE}" in line for lines in by_part.values() for line in lines):
                self._failed("recovery", done)
            self.tally.nothing_readable += 1
            return
        said = json.loads(done.out)
        # What recovery read, which may be more than the independent reader can read of it.
        number = said["source"].removeprefix("snapshot ")
        readable = by_part[f"{int(number):020}" if number.isdecimal() else "data"]
        missing = [one["dialogue"] for one in said["missing"]]
        gone = [iri.partition("/run/")[2].partition("/")[2] for iri in missing]
        got, _ = read(new / "data")
        results = {line for line in readable if not DERIVED.search(line)}
        kept = {line for line in results if not any(f"/{path}" in line for path in gone)}
        lost, made_up = kept - got, {line for line in got if not DERIVED.search(line)}
        lost = {line for line in lost if "/text/" not in line.split(" ")[0]}  # of missing dialogues
        made_up -= self.whole["data"]
        dialogues = {line.split(" ")[0] for line in got if f"#type> {DIALOGUE}" in line}
        there = {line.split(" ")[0] for line in readable if f"#type> {DIALOGUE}" in line}
        if lost or made_up or not dialogues >= there - {f"<{one}>" for one in missing}:
            words = f"{len(lost)} readable quads lost, {len(made_up)} made up, "
            words += f"{len(dialogues)} dialogues: {[*lost, *made_up][:2]}"
            self._failed("recovery", done, words)
        self.tally.recovered += 1
        if len(dialogues) == self.planned:
            return  # the quads are compared, and there is nothing to ask for
        self.tally.asked_again += self.planned - len(dialogues)
        again = self._given("run", "c.yaml", "--store", str(new), "--json")
        if again.status == 0 and json.loads(again.out)["complete"] != self.planned:
            self._failed("recovery", again, "not every dialogue is complete after the run")


def main() -> int:
    """Print the figures as JSON; return 0 if there were no failures, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.damage", description=__doc__)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=25)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with try N")
    parser.add_argument("--only", type=int, metavar="N", help="one try alone")
    parser.add_argument("--iterations", type=int, default=6, help="the size of the store")
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.tries)
    with tempfile.TemporaryDirectory(prefix="kgbench-damage-") as scratch:
        attack = Attack(Path(scratch), asked.iterations)
        for number in numbers if asked.only is None else [asked.only]:
            attack.attempt(number, asked.seed)
            _say(f"{attack.what}: {len(attack.tally.failures)} failures")
    sys.stdout.write(json.dumps(attack.tally.summary, indent=2) + "\n")
    return 1 if attack.tally.failures else 0


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
