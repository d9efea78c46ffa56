# SPDX-License-Identifier: Apache-2.0
"""A store copied to other servers, and every analysis on each of them.

    python -m bench.stores [STORE] [--only SERVER ...]

runs a quick start, or reads ``STORE``, and prints a table, of which docs/remote-store.md shows the
main rows. Servers that are not installed are skipped with a message. Each analysis must give the
same table as from ``STORE`` itself, to the last digit.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.analyzing import analyses
from bench.harness import LEAST, Result
from kgbench.errors import KgbenchError
from kgbench.scores.selection import select
from kgbench.store import open_reader
from kgbench.tables import Column, Table
from kgbench.tables.rendering import render
from tests.plugins.virtuoso import server as virtuoso
from tests.queries.engines.engines import Missing
from tests.queries.engines.jena_server import JenaServer
from tests.store import servers

FOLDER = "folder"
_SOON = 20.0  # seconds: slower analyses are not repeated
_BUFFERS = 200_000  # of Virtuoso, of 8 kB each
_ROWS = 100_000_000  # maximum in a response of Virtuoso; the largest graph is one response
_CREDENTIALS = {"KGBENCH_STORE_USER": "dba", "KGBENCH_STORE_PASSWORD": "dba"}
_PATIENCE = 3_600  # seconds for one copy


@dataclass(frozen=True)
class Server:
    """A server that gets a copy: address, version, and environment variables for the copy.

    ``folder`` has its data.
    """

    location: str
    version: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The seconds of one analysis, and its outcome: rows or an error."""

    seconds: tuple[float, ...]
    outcome: object

    @property
    def median(self) -> float:
        """The median of all seconds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Measured:
    """One server: seconds for the copy, bytes on disk, triples, analyses and their faults."""

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
    with virtuoso.Virtuoso(work, rows=_ROWS, buffers=_BUFFERS) as server:
        yield Server(server.url, virtuoso.version(), work, _CREDENTIALS)


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
    """Return times of copying a quick start to each server, and of all analyses there."""
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for server in measured(str(quick_start(Path(folder))), Path(folder)):
            size = f"{server.triples:,} triples"
            results.append(Result(f"{server.name}, store copy", server.copying, "s", note=size))
            total = sum(answer.median for answer in server.answers.values())
            faults = "; ".join(f"{what}: {fault}" for what, fault in server.faults.items())
            note = f"{len(server.answers)} analyses; {faults or 'the same from all stores'}"
            results.append(Result(f"{server.name}, analyses", total, "s", note=note))
        return results


def quick_start(folder: Path) -> Path:
    """Run a quick start and return its store."""
    _kgbench(["run", "--store", str(folder / "quick-start")], {})
    return folder / "quick-start"


def measured(
    source: str, folder: Path, only: Callable[[str], bool] = lambda _: True
) -> Iterator[Measured]:
    """Measure each installed server in turn; report the others on standard error.

    ``source`` is the store that is copied, ``folder`` an empty folder for the servers.
    """
    tables = {what: answer.outcome for what, answer in _run_analyses(source, repeat=False).items()}
    for name, server in SERVERS.items():
        if not only(name):
            continue
        work = folder / name.replace(" ", "-")
        work.mkdir()
        try:
            with server(work) as started:
                yield _measured(name, started, source, tables)
        except Missing as missing:
            print(f"{name}: {missing}", file=sys.stderr)
        shutil.rmtree(work)


def _measured(name: str, server: Server, source: str, tables: Mapping[str, object]) -> Measured:
    state = {"XDG_STATE_HOME": str(server.folder / "state"), **server.environment}
    begin = time.perf_counter()
    copied = json.loads(_kgbench(["store", "copy", source, server.location, "--json"], state))
    copying = time.perf_counter() - begin
    answers = _run_analyses(server.location)
    faults = {}
    for what, answer in answers.items():
        if isinstance(answer.outcome, KgbenchError) and isinstance(tables[what], KgbenchError):
            continue  # these data lack what the analysis needs
        if answer.outcome != tables[what]:
            failed = isinstance(answer.outcome, KgbenchError)
            faults[what] = str(answer.outcome) if failed else "other rows"
            print(f"{name}: {what}: {faults[what]}", file=sys.stderr)
    size = sum(path.stat().st_size for path in server.folder.rglob("*") if path.is_file())
    triples = sum(graph["triples"] for graph in copied["graphs"])
    return Measured(f"{name} {server.version}", copying, size, triples, answers, faults)


def _run_analyses(location: str, *, repeat: bool = True) -> dict[str, Answer]:
    """Run all analyses; with ``repeat``, three times each unless the first one takes long."""
    answers = {}
    with open_reader(location) as store:
        for name, work in analyses(store, select(store)).items():
            seconds: list[float] = []
            outcome: object = None
            while not seconds or (repeat and len(seconds) < LEAST and seconds[0] < _SOON):
                begin = time.perf_counter()
                try:
                    outcome = work()
                except KgbenchError as error:
                    outcome = error
                seconds.append(time.perf_counter() - begin)
            answers[name] = Answer(tuple(seconds), outcome)
            if repeat:
                print(f"{location}: {name}: {answers[name].median:.2f} s", file=sys.stderr)
    return answers


def _kgbench(arguments: list[str], environment: Mapping[str, str]) -> str:
    """Return the output of a ``kgbench`` command."""
    process = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "kgbench", *arguments],
        env={**servers.environment(), **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_PATIENCE,
    )
    return process.stdout


def table(measurements: Sequence[Measured]) -> Table:
    """Return the table of the documentation: a row for each analysis, a column for each server."""
    names = measurements[0].answers
    columns = (Column("work", "work"), *(Column(one.name, one.name) for one in measurements))
    rows = [
        ("`kgbench store copy`", *(f"{server.copying:.0f} s" for server in measurements)),
        ("on disk", *(f"{server.size / 1e6:,.0f} MB" for server in measurements)),
    ]
    rows += [(name, *(_cell(server, name) for server in measurements)) for name in names]
    return Table("stores", columns, tuple(rows))


def _cell(server: Measured, name: str) -> str:
    answer = server.answers[name]
    if name in server.faults:
        return "fails" if isinstance(answer.outcome, KgbenchError) else "other rows"
    return "-" if isinstance(answer.outcome, KgbenchError) else f"{answer.median:.2f}"


def main(arguments: list[str]) -> None:
    """Print the table as Markdown, followed by the number of triples."""
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description=__doc__)
    parser.add_argument("store", nargs="?", help="the store to copy (default: a quick start)")
    parser.add_argument("--only", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = options.store or str(quick_start(folder))
        measurements = list(measured(source, folder, options.only.__contains__))
    print(render(table(measurements), "markdown"))
    print(f"{measurements[0].triples:,} triples")


if __name__ == "__main__":
    main(sys.argv[1:])
