# SPDX-License-Identifier: Apache-2.0
"""All published queries without parameters in other RDF stores, compared with Oxigraph.

    python -m bench.engines [DUMP]

runs a quick start, or reads a dump of ``kgbench store backup``, and prints a table of load times,
rows and slowest queries. Engines that are not installed are skipped with a message.
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
from kgbench.rdf import queries
from kgbench.tables import Column, Table
from kgbench.tables.rendering import render
from tests.queries.engines.engines import ENGINES, Answer, Missing
from tests.queries.engines.quirks import expected, given
from tests.queries.engines.rows import rows

TIMEOUT = 300  # seconds per query
_SHOWN = 3  # slowest queries in the table
_SLOW = 1_000_000  # statements above which rdflib is skipped, because it stores Python objects


@dataclass(frozen=True)
class Measured:
    """The measurements of one engine; ``equal`` is the number of answers equal to Oxigraph's."""

    engine: str
    statements: int
    loading: float
    answers: dict[str, Answer]
    equal: int

    @property
    def total(self) -> float:
        """Return seconds for all answers."""
        return sum(answer.seconds for answer in self.answers.values())

    @property
    def slowest(self) -> str:
        """The slowest queries with their seconds."""
        slowest = sorted(self.answers.items(), key=lambda pair: -pair[1].seconds)[:_SHOWN]
        return ", ".join(f"{name} {answer.seconds:.1f}" for name, answer in slowest)


def run() -> list[Result]:
    """Return times of each engine for loading a quick start and for all queries."""
    with tempfile.TemporaryDirectory() as folder:
        engines = list(measured(unpacked(quick_start(Path(folder)), Path(folder)), Path(folder)))
    results = []
    for measurement in engines:
        size = f"{measurement.statements:,} statements"
        answered = f"{measurement.equal} of {len(measurement.answers)} answers as Oxigraph's"
        results += [
            Result(f"{measurement.engine}, loading", measurement.loading, "s", note=size),
            Result(
                f"{measurement.engine}, all queries",
                measurement.total,
                "s",
                note=f"{size}; {answered}; slowest {measurement.slowest}",
            ),
        ]
    return results


def quick_start(folder: Path) -> Path:
    """Run a quick start and return its dump."""
    store, dump = str(folder / "store"), folder / "quick-start.nq.gz"
    for words in (["run", "--store", store], ["store", "backup", str(dump), "--store", store]):
        subprocess.run([sys.executable, "-m", "kgbench", *words], check=True, capture_output=True)  # noqa: S603
    return dump


def unpacked(dump: Path, folder: Path) -> Path:
    """Decompress a dump into a file of N-Quads, which every engine reads."""
    plain = folder / "dump.nq"
    with gzip.open(dump) as packed, plain.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return plain


def measured(dump: Path, folder: Path) -> Iterator[Measured]:
    """Measure each installed engine in turn; report the others on standard error."""
    texts = {name: queries.load(name).text for name in queries.names()}
    with dump.open("rb") as lines:
        statements = sum(1 for line in lines if not line.startswith(b"#"))
    reference: dict[str, Answer] = {}
    for name, engine in ENGINES.items():
        if name == "rdflib" and statements > _SLOW:
            continue
        work = folder / name
        work.mkdir()
        try:
            outcome = engine(dump, texts, work, TIMEOUT)
        except Missing as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        reference = reference or outcome.answers
        equal = sum(_is_equal(name, reference[query], outcome.answers[query]) for query in texts)
        yield Measured(
            f"{name} {outcome.version}", statements, outcome.loading, outcome.answers, equal
        )


def _is_equal(engine: str, reference: Answer, answer: Answer) -> bool:
    if reference.error or answer.error:
        return False
    return expected(engine, rows(reference.content)) == given(engine, rows(answer.content))


def table(measurements: list[Measured]) -> Table:
    """Return the table of the documentation."""
    titles = ("engine", "loaded in", "same rows", "all queries in", "slowest queries, in s")
    lines = tuple(
        (
            measurement.engine,
            f"{measurement.loading:.1f} s",
            f"{measurement.equal} of {len(measurement.answers)}",
            f"{measurement.total:.1f} s",
            measurement.slowest,
        )
        for measurement in measurements
    )
    return Table("engines", tuple(Column(title, title) for title in titles), lines)


def main(arguments: list[str]) -> None:
    """Print the table as Markdown, followed by the number of statements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump = Path(arguments[0]) if arguments else quick_start(folder)
        measurements = list(measured(unpacked(dump, folder), folder))
    print(render(table(measurements), "markdown"))
    print(f"{measurements[0].statements:,} statements")


if __name__ == "__main__":
    main(sys.argv[1:])
