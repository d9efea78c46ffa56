# SPDX-License-Identifier: Apache-2.0
"""Parsing of RDF documents in a child process with limits on memory and time.

The parsers are native code: deep nesting overflows their stack, and some documents keep them busy
for hours. If the child crashes or exceeds a limit, its parent refuses the document.
:func:`stage` parses documents into a database; :func:`count_quads` only counts their quads.

The child is ``python -m kgbench.importers.rdf.parsing DATABASE SYNTAX FILE MEMORY``; with ``-`` in
place of the database and the file, the document is read from standard input and its quads are
counted. The child prints one line to standard output: an error message, empty on success. When
counting, a second line has the number of quads.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench.characters import after_bom
from kgbench.children import lockdown
from kgbench.children.answering import ChildTimeout
from kgbench.children.child import Finished, run_once
from kgbench.errors import ImportRefused
from kgbench.net.limits import Budget
from kgbench.store.fragments import recorded_iri

FORMATS = {
    ".nq": "N-Quads",
    ".trig": "TriG",
    ".ttl": "Turtle",
    ".nt": "N-Triples",
    ".jsonld": "JSON-LD",
    ".json": "JSON-LD",
    ".rdf": "RDF/XML",
    ".xml": "RDF/XML",
    ".owl": "RDF/XML",
}
"""The supported syntaxes by file name extension."""

MEMORY = 8 << 30
"""The limit of the child's address space (bytes)."""

SECONDS = 120.0
"""The time limit for parsing one document, beside the time that its size allows (seconds)."""

_MODULE = "kgbench.importers.rdf.parsing"  # this one, run by a child
_PER_SECOND = 500_000  # bytes that even a busy machine parses in a second
_STACK_SIZE = 512 << 10  # bytes: what parses with it also parses with a larger stack
_SYNTAXES = {
    "N-Quads": ox.RdfFormat.N_QUADS,
    "TriG": ox.RdfFormat.TRIG,
    "Turtle": ox.RdfFormat.TURTLE,
    "N-Triples": ox.RdfFormat.N_TRIPLES,
    "JSON-LD": ox.RdfFormat.JSON_LD,
    "RDF/XML": ox.RdfFormat.RDF_XML,
}


@dataclass(frozen=True, slots=True)
class RdfFile:
    """An unpacked document: its name in messages, its syntax, and its path."""

    name: str
    syntax: str
    path: Path


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder for unpacked and parsed data; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="kgbench-import-") as folder:
        yield Path(folder)


def stage(files: list[RdfFile], folder: Path, budget: Budget | None = None) -> ox.Store:
    """Parse all ``files`` into a new database below ``folder``, within ``budget``.

    Raises :class:`ImportRefused` for the first document that does not parse within the limits or
    that contains terms the store cannot hold: triple terms, literals with a direction.
    """
    database = folder / "database"
    for file in files:
        error = _parse(file, database, budget)
        if error:
            raise ImportRefused(f"{file.name}: not {file.syntax}: {error}")
    store = ox.Store(str(database))
    if next(iter(store), None) is None:  # its length takes a scan
        raise ImportRefused(f"{', '.join(file.name for file in files)}: no RDF in it")
    return store


def count_quads(content: IO[bytes], syntax: str) -> int:
    """Count the quads of a document without storing them.

    ``syntax`` is a value of :data:`FORMATS`. Raises :class:`ImportRefused` if the document does not
    parse within the limits of memory, depth and time, and any error of reading ``content``.
    """
    try:
        child = run_once(_MODULE, "-", syntax, "-", str(MEMORY), seconds=SECONDS, content=content)
    except ChildTimeout:
        raise ImportRefused(f"not {syntax}: {_timeout_message(SECONDS)}") from None
    error, _, number = child.out.partition("\n")
    error = _exit_error(child) or error
    if error:
        raise ImportRefused(f"not {syntax}: {error}")
    return int(number)


def _parse(file: RdfFile, database: Path, budget: Budget | None) -> str:
    seconds = SECONDS + file.path.stat().st_size / _PER_SECOND
    if budget is not None:
        seconds = min(seconds, budget.remaining())
    arguments = [str(database), file.syntax, str(file.path), str(MEMORY)]
    try:
        child = run_once(_MODULE, *arguments, seconds=seconds)
    except ChildTimeout:
        if budget is not None:
            budget.remaining()
        return _timeout_message(seconds)
    return _exit_error(child) or child.out.strip()


def _timeout_message(limit: float) -> str:
    return f"it keeps the parser busy for more than {limit:.0f} seconds"


def _exit_error(child: Finished) -> str:
    """Return an error message for a child that failed, ``""`` for one that exited normally."""
    if child.limit is not None:
        return "nested too deeply, or too large to be parsed"
    return f"the parser ended with {child.reason}" if child.status else ""


# --- the child process -----------------------------------------------------------------------


def parse(database: str, syntax: str, path: Path) -> str:
    """Parse the document at ``path`` into the database; return an error message or ``""``."""
    try:
        if syntax == "RDF/XML":
            _refuse_entities(path)
        with path.open("rb") as file:
            quads = ox.parse(after_bom(file), _SYNTAXES[syntax], rename_blank_nodes=True)
            ox.Store(database).bulk_extend(map(_with_recorded_iris, quads))
    except (SyntaxError, ValueError, OSError) as error:
        return _one_line(error)
    return ""


def _with_recorded_iris(quad: ox.Quad) -> ox.Quad:
    """Rewrite the IRIs of parts of dialogues to the form that stores use."""
    subject, predicate, target, graph = quad
    if isinstance(subject, ox.NamedNode) and "#" in subject.value:
        subject = ox.NamedNode(recorded_iri(subject.value))
    if isinstance(target, ox.NamedNode) and "#" in target.value:
        target = ox.NamedNode(recorded_iri(target.value))
    return ox.Quad(subject, predicate, target, graph)


def _count(content: IO[bytes], syntax: str) -> tuple[str, int]:
    """Return an error message or ``""``, and the number of quads that were parsed."""
    number = 0
    try:
        for _ in ox.parse(content, _SYNTAXES[syntax]):
            number += 1
    except (SyntaxError, ValueError, OSError) as error:
        return _one_line(error), number
    return "", number


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def _refuse_entities(path: Path) -> None:
    import pyexpat

    parser = pyexpat.ParserCreate()

    def refuse(name: str, *_: object) -> None:
        raise ValueError(f"entities are not resolved, and '{name}' is declared")

    parser.EntityDeclHandler = refuse
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
    except pyexpat.ExpatError as error:
        raise ValueError(f"not well-formed XML: {error}") from None


def main() -> None:
    """Run the child process."""
    database, syntax, path, memory = sys.argv[1:]
    lockdown.die_with_parent(os.getppid())
    lockdown.limit_memory(int(memory))
    if path == "-":
        _count_stdin(syntax)
    else:
        print(parse(database, syntax, Path(path)))  # noqa: T201 - the answer


def _count_stdin(syntax: str) -> None:
    results: list[tuple[str, int]] = []
    threading.stack_size(_STACK_SIZE)
    thread = threading.Thread(target=lambda: results.append(_count(sys.stdin.buffer, syntax)))
    thread.start()
    thread.join()
    if not results:
        sys.exit(1)  # the thread has printed its exception
    print(*results[0], sep="\n")  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
