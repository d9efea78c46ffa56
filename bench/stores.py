# SPDX-License-Identifier: Apache-2.0
"""A store copied to the servers of others, and every analysis on each of them.

    python -m bench.stores [STORE] [--only SERVER ...]

prints the table of docs/remote-store.md: of a quick start that is run for it, or of ``STORE``,
which is only read. Servers that are not on this machine are left out, with words. Each analysis
must give the table that it gives from ``STORE`` itself, to the last digit.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.analyzing import analyses
from bench.harness import LEAST, Result
from kgbench.analysis.rendering import render
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Column, Table
from kgbench.errors import KgbenchError, StoreError
from kgbench.rdf import queries
from kgbench.record import stored_counts
from kgbench.record.counts import Cell
from kgbench.store import open_reader
from kgbench.store.protocol import Store
from tests.engines.engines import Missing
from tests.engines.jena_server import JenaServer
from tests.store import servers

FOLDER = "folder"
_RAW = "all values, without stored counts"
_SOON = 20.0  # seconds up to which an analysis is repeated
_BUFFERS = 200_000  # of Virtuoso, of 8 kB each
_ROWS = 100_000_000  # that Virtuoso may answer with: the largest graph is read as one answer
_CREDENTIALS = {"KGBENCH_STORE_USER": "dba", "KGBENCH_STORE_PASSWORD": "dba"}
_PATIENCE = 3_600  # seconds for one copy


@dataclass(frozen=True)
class Server:
    """A place that a store is copied to: its address, its version, and what the copy needs to know.

    ``folder`` is where it keeps its data.
    """

    location: str
    version: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What one analysis took, in seconds, and what came of it: rows, or the error it ended with."""

    seconds: tuple[float, ...]
    found: object

    @property
    def median(self) -> float:
        """The median of all seconds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Measured:
    """One server: seconds for the copy, bytes on disk, the analyses, and the faults of some."""

    name: str
    copying: float
    size: int
    triples: int
    answers: dict[str, Answer]
    faults: dict[str, str]


@contextmanager
def _folder(work: Path) -> Iterator[Server]:
    yield Server(str(work / "store"), importlib.metadata.version("pyoxigraph"), work)


@contextmanager
def _oxigraph(work: Path) -> Iterator[Server]:
    with servers.Oxigraph(work) as server:
        yield Server(server.url, importlib.metadata.version("oxigraph"), work)


@contextmanager
def _virtuoso(work: Path) -> Iterator[Server]:
    if shutil.which("virtuoso-t") is None:
        raise Missing("Virtuoso is not installed (Debian: virtuoso-opensource)")
    with servers.Virtuoso(work, rows=_ROWS, buffers=_BUFFERS) as server:
        yield Server(server.url, servers.virtuoso_version(), work, _CREDENTIALS)


@contextmanager
def _jena(work: Path) -> Iterator[Server]:
    with JenaServer(work) as server:
        yield Server(server.url, server.version, work)


SERVERS: dict[str, Callable[[Path], AbstractContextManager[Server]]] = {
    FOLDER: _folder,
    "Oxigraph server": _oxigraph,
    "Virtuoso": _virtuoso,
    "Jena TDB2": _jena,
}


def run() -> list[Result]:
    """What the copy of a quick start and all analyses of it take on each server."""
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for one in measured(str(quick_start(Path(folder))), Path(folder)):
            size = f"{one.triples:,} triples"
            results.append(Result(f"{one.name}, store copy", one.copying, "s", note=size))
            total = sum(answer.median for answer in one.answers.values())
            faults = "; ".join(f"{what}: {fault}" for what, fault in one.faults.items())
            note = f"{len(one.answers)} analyses; {faults or 'the same from all stores'}"
            results.append(Result(f"{one.name}, analyses", total, "s", note=note))
        return results


def quick_start(folder: Path) -> Path:
    """The store of a quick start."""
    words = ["run", "--store", str(folder / "quick-start")]
    _command(words, {})
    return folder / "quick-start"


def measured(
    source: str, folder: Path, only: Callable[[str], bool] = lambda _: True
) -> Iterator[Measured]:
    """Each server that is here, in turn; those that are not are named on standard error.

    ``source`` is the store that is copied, ``folder`` an empty folder for the servers.
    """
    right = {what: answer.found for what, answer in _asked(source, repeat=False).items()}
    with open_reader(source) as store:
        counts = stored_counts.graphs(store)
    for name, server in SERVERS.items():
        if not only(name):
            continue
        work = folder / name.replace(" ", "-")
        work.mkdir()
        try:
            with server(work) as started:
                yield _measured(name, started, source, right, counts)
        except Missing as missing:
            print(f"{name}: {missing}", file=sys.stderr)
        shutil.rmtree(work)


def _measured(
    name: str, server: Server, source: str, right: Mapping[str, object], counts: Mapping[str, str]
) -> Measured:
    state = {"XDG_STATE_HOME": str(server.folder / "state"), **server.environment}
    begin = time.perf_counter()
    copied = json.loads(_command(["store", "copy", source, server.location, "--json"], state))
    copying = time.perf_counter() - begin
    with open_reader(server.location) as store:
        if stored_counts.graphs(store) != counts:
            raise StoreError(f"{name}: the counts of passes hold no longer after the copy")
    answers = _asked(server.location)
    faults = {}
    for what, answer in answers.items():
        if isinstance(answer.found, KgbenchError) and isinstance(right[what], KgbenchError):
            continue  # what an analysis needs is not in these data
        if answer.found != right[what]:
            failed = isinstance(answer.found, KgbenchError)
            faults[what] = str(answer.found) if failed else "other rows"
            print(f"{name}: {what}: {faults[what]}", file=sys.stderr)
    size = sum(path.stat().st_size for path in server.folder.rglob("*") if path.is_file())
    triples = sum(graph["triples"] for graph in copied["graphs"])
    return Measured(f"{name} {server.version}", copying, size, triples, answers, faults)


def _asked(location: str, *, repeat: bool = True) -> dict[str, Answer]:
    """Each analysis by its name; with ``repeat``, three times unless the first takes long."""
    answers = {}
    with open_reader(location) as store:
        for name, work in _works(store, select(store)).items():
            seconds: list[float] = []
            found: object = None
            while not seconds or (repeat and len(seconds) < LEAST and seconds[0] < _SOON):
                begin = time.perf_counter()
                try:
                    found = work()
                except KgbenchError as error:
                    found = error
                seconds.append(time.perf_counter() - begin)
            answers[name] = Answer(tuple(seconds), found)
            if repeat:
                print(f"{location}: {name}: {answers[name].median:.2f} s", file=sys.stderr)
    return answers


def _works(store: Store, chosen: Selection) -> dict[str, Callable[[], object]]:
    """What is asked of each server."""

    def one_by_one() -> object:
        rows = queries.run(store, "score-histograms", passGraph=list(chosen.pass_graphs))
        found: Counter[tuple[Cell, float]] = Counter()
        for row in rows:
            found[stored_counts.cell_of(row), float(row["value"].value)] += int(row["count"].value)
        return found

    return {**analyses(store, chosen), _RAW: one_by_one}


def _command(words: list[str], environment: Mapping[str, str]) -> str:
    """What ``kgbench`` prints."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "kgbench", *words],
        env={**servers.environment(), **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_PATIENCE,
    )
    return done.stdout


def table(measurements: Sequence[Measured]) -> Table:
    """The table of the documentation: a row for each analysis, a column for each server."""
    names = measurements[0].answers
    columns = (Column("work", "work"), *(Column(one.name, one.name) for one in measurements))
    rows = [
        ("`kgbench store copy`", *(f"{one.copying:.0f} s" for one in measurements)),
        ("on disk", *(f"{one.size / 1e6:,.0f} MB" for one in measurements)),
    ]
    rows += [(name, *(_cell(one, name) for one in measurements)) for name in names]
    return Table("stores", columns, tuple(rows))


def _cell(one: Measured, name: str) -> str:
    answer = one.answers[name]
    if name in one.faults:
        return "fails" if isinstance(answer.found, KgbenchError) else "other rows"
    return "-" if isinstance(answer.found, KgbenchError) else f"{answer.median:.2f}"


def main(words: list[str]) -> None:
    """Print the table as Markdown, and below it how much there was."""
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description=__doc__)
    parser.add_argument("store", nargs="?", help="the store to copy (default: a quick start)")
    parser.add_argument("--only", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = given.store or str(quick_start(folder))
        found = list(measured(source, folder, given.only.__contains__))
    print(render(table(found), "markdown"))
    print(f"{found[0].triples:,} triples")


if __name__ == "__main__":
    main(sys.argv[1:])
