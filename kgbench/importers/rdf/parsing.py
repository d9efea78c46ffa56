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

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench.errors import ImportRefused
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

_PER_SECOND = 500_000  # bytes that even a busy machine parses in a second
_CHUNK = 1 << 20
_CRASH_SIGNALS = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT}
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


def stage(files: list[RdfFile], folder: Path) -> ox.Store:
    """Parse all ``files`` into a new database below ``folder``.

    Raises :class:`ImportRefused` for the first document that does not parse within the limits or
    that contains terms the store cannot hold: triple terms, literals with a direction.
    """
    database = folder / "database"
    for file in files:
        error = _parse(file, database)
        if error:
            raise ImportRefused(f"{file.name}: not {file.syntax}: {error}")
    store = ox.Store(str(database))
    if not len(store):
        raise ImportRefused(f"{', '.join(file.name for file in files)}: no RDF in it")
    return store


def count_quads(content: IO[bytes], syntax: str) -> int:
    """Count the quads of a document without storing them.

    ``syntax`` is a value of :data:`FORMATS`. Raises :class:`ImportRefused` if the document does not
    parse within the limits of memory, depth and time, and any error of reading ``content``.
    """
    command = _command("-", syntax, "-")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:  # noqa: S603 - as below
        try:
            assert child.stdin is not None
            _feed(content, child.stdin.fileno())
            output, errors = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ImportRefused(f"not {syntax}: {_timeout_message(SECONDS)}") from None
        except BaseException:
            child.kill()
            raise
    error, _, number = output.decode("utf-8", "replace").partition("\n")
    error = _exit_error(child.returncode, errors.decode("utf-8", "replace")) or error
    if error:
        raise ImportRefused(f"not {syntax}: {error}")
    return int(number)


def _feed(content: IO[bytes], pipe: int) -> None:
    """Write the document to the child's standard input; stop early if the child has ended."""
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_WRITE)
        while chunk := content.read(_CHUNK):
            remaining = memoryview(chunk)
            while remaining:
                if not ready.select(SECONDS):
                    raise subprocess.TimeoutExpired("parsing", SECONDS)
                try:
                    remaining = remaining[os.write(pipe, remaining) :]
                except BrokenPipeError:
                    return


def _parse(file: RdfFile, database: Path) -> str:
    limit = SECONDS + file.path.stat().st_size / _PER_SECOND
    command = _command(str(database), file.syntax, str(file.path))
    try:
        process = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return _timeout_message(limit)
    return _exit_error(process.returncode, process.stderr) or process.stdout.strip()


def _command(database: str, syntax: str, path: str) -> list[str]:
    command = [sys.executable, "-P", "-m", "kgbench.importers.rdf.parsing"]
    return [*command, database, syntax, path, str(MEMORY)]


def _timeout_message(limit: float) -> str:
    return f"it keeps the parser busy for more than {limit:.0f} seconds"


def _exit_error(status: int, errors: str) -> str:
    """Return an error message for a child that failed, ``""`` for one that exited normally."""
    if status in _CRASH_SIGNALS:
        return "nested too deeply, or too large to be parsed"
    if status:
        last_line = errors.strip().rpartition("\n")[2]
        return f"the parser ended with status {status} ({last_line[:200]})"
    return ""


# --- the child process -----------------------------------------------------------------------


def parse(database: str, syntax: str, path: Path) -> str:
    """Parse the document at ``path`` into the database; return an error message or ``""``."""
    try:
        if syntax == "RDF/XML":
            _refuse_entities(path)
        quads = ox.parse(path=str(path), format=_SYNTAXES[syntax], rename_blank_nodes=True)
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
    import resource

    database, syntax, path, memory = sys.argv[1:]
    with contextlib.suppress(ValueError, OSError):  # limits that the platform lacks
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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
