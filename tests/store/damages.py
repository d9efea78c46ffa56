# SPDX-License-Identifier: Apache-2.0
"""A store to damage, and functions that damage it."""

from __future__ import annotations

import shutil
from pathlib import Path

from kgbench.rdf import string
from kgbench.record.recorder import registry_entry
from kgbench.store import (
    Block,
    Iris,
)
from kgbench.vocab import KGB, PROV, RDF

IRIS = Iris()
RUN = IRIS.mint("run", run="one")
GRAPH = IRIS.mint("runGraph", run="one")
COUNT = "SELECT ?p (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?p"
MANY = 6_000  # triples; an index of them has many blocks


def triples(number: int, begin: int = 0) -> list[str]:
    """Return triples with texts that are too long to be stored in a key."""
    return [
        f"<{RUN}/thing/{k}> <{PROV.value}> {string(f'what thing {k} says, at some length')} ."
        for k in range(begin, begin + number)
    ]


def described() -> list[Block]:
    """Return the run and its registry entry."""
    return [
        Block(GRAPH, [f"<{RUN}> <{RDF.type}> <{KGB.Run}> ."]),
        Block(IRIS.catalogue, registry_entry(GRAPH, RUN)),
    ]


def flip(file: Path, position: float = 0.5) -> None:
    """Flip a bit of a file, in all folders that share it."""
    with file.open("r+b") as content:
        at = int(file.stat().st_size * position)
        content.seek(at)
        (before,) = content.read(1)
        content.seek(at)
        content.write(bytes([before ^ 1]))


def remove(folder: Path) -> None:
    """Remove a folder in which an open database may still be writing files."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def own_file(folder: Path, others: Path | None = None) -> Path:
    """Return the largest table of a database; with ``others``, the largest that is absent there."""
    names = {file.name for file in others.iterdir()} if others is not None else set()
    tables = [file for file in folder.glob("*.sst") if file.name not in names]
    return max(tables, key=lambda file: file.stat().st_size)


def named(snapshot: Path) -> str:
    """Return the name of a snapshot in messages."""
    return f"snapshot {int(snapshot.name)}"


def things(reader) -> int:
    """Return the number of texts that a reader sees."""
    (row,) = reader.query(
        f"SELECT (COUNT(*) AS ?n) WHERE {{ GRAPH <{GRAPH}> {{ ?s <{PROV.value}> ?o }} }}"
    )
    return int(row["n"].value)
