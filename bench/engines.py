# SPDX-License-Identifier: Apache-2.0
"""All published queries, without parameters, in the RDF stores of others, beside Oxigraph.

    python -m bench.engines [DUMP]

prints the table of docs/remote-store.md: of a quick start that is run for it, or of a dump that
``kgbench store backup`` made. Engines that are not on this machine are left out, with words.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.harness import Result
from kgbench.analysis.rendering import render
from kgbench.analysis.tables import Column, Table
from kgbench.rdf import queries
from tests.engines.engines import ENGINES, Answer, Missing
from tests.engines.quirks import expected, given
from tests.engines.rows import rows

PATIENCE = 300  # seconds for one answer
_SHOWN = 3  # of the slowest queries
_SLOW = 1_000_000  # statements from which rdflib, which keeps them as Python objects, is left out


@dataclass(frozen=True)
class Measured:
    """What one engine took; ``slowest`` are names of queries, the slowest first."""

    engine: str
    statements: int
    loading: float
    answers: dict[str, Answer]
    equal: int

    @property
    def total(self) -> float:
        """Seconds for all answers."""
        return sum(one.seconds for one in self.answers.values())

    @property
    def slowest(self) -> str:
        """The slowest queries with their seconds."""
        found = sorted(self.answers.items(), key=lambda pair: -pair[1].seconds)[:_SHOWN]
        return ", ".join(f"{name} {answer.seconds:.1f}" for name, answer in found)


def run() -> list[Result]:
    """What each engine takes for loading a quick start and for all queries."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(measured(unpacked(quick_start(Path(folder)), Path(folder)), Path(folder)))
    results = []
    for one in found:
        size = f"{one.statements:,} statements"
        answered = f"{one.equal} of {len(one.answers)} answers as Oxigraph's"
        results += [
            Result(f"{one.engine}, loading", one.loading, "s", note=size),
            Result(
                f"{one.engine}, all queries",
                one.total,
                "s",
                note=f"{size}; {answered}; slowest {one.slowest}",
            ),
        ]
    return results


def quick_start(folder: Path) -> Path:
    """The dump of a quick start."""
    store, dump = str(folder / "store"), folder / "quick-start.nq.gz"
    for words in (["run", "--store", store], ["store", "backup", str(dump), "--store", store]):
        subprocess.run([sys.executable, "-m", "kgbench", *words], check=True, capture_output=True)  # noqa: S603
    return dump


def unpacked(dump: Path, folder: Path) -> Path:
    """The N-Quads of a dump as a file that every engine reads."""
    plain = folder / "dump.nq"
    with gzip.open(dump) as packed, plain.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return plain


def measured(dump: Path, folder: Path) -> Iterator[Measured]:
    """Each engine that is here, in turn; those that are not are named on standard error."""
    asked = {name: queries.load(name).text for name in queries.names()}
    with dump.open("rb") as lines:
        statements = sum(1 for line in lines if not line.startswith(b"#"))
    right: dict[str, Answer] = {}
    for name, engine in ENGINES.items():
        if name == "rdflib" and statements > _SLOW:
            continue
        work = folder / name
        work.mkdir()
        try:
            found = engine(dump, asked, work, PATIENCE)
        except Missing as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        right = right or found.answers
        equal = sum(_is_equal(name, right[one], found.answers[one]) for one in asked)
        yield Measured(f"{name} {found.version}", statements, found.loading, found.answers, equal)


def _is_equal(engine: str, right: Answer, found: Answer) -> bool:
    if right.error or found.error:
        return False
    return expected(engine, rows(right.content)) == given(engine, rows(found.content))


def table(found: list[Measured]) -> Table:
    """The table of the documentation."""
    titles = ("engine", "loaded in", "same rows", "all queries in", "slowest queries, in s")
    lines = tuple(
        (
            one.engine,
            f"{one.loading:.1f} s",
            f"{one.equal} of {len(one.answers)}",
            f"{one.total:.1f} s",
            one.slowest,
        )
        for one in found
    )
    return Table("engines", tuple(Column(title, title) for title in titles), lines)


def main(words: list[str]) -> None:
    """Print the table as Markdown, and below it how many statements there were."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump = Path(words[0]) if words else quick_start(folder)
        found = list(measured(unpacked(dump, folder), folder))
    print(render(table(found), "markdown"))
    print(f"{found[0].statements:,} statements")


if __name__ == "__main__":
    main(sys.argv[1:])
