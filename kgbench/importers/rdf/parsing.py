# SPDX-License-Identifier: Apache-2.0
"""Parses documents into a database, in a child process with limits of memory and time.

The parsers are native code: deep nesting overflows their stack, and some documents keep them busy
for hours. The process that started the child sees it end, or ends it, and refuses the document.
Documents that are checked, and not imported, are tried in the same way (:func:`count`).

The child is ``python -m kgbench.importers.rdf.parsing DATABASE SYNTAX FILE MEMORY``; with ``-`` in
place of the database and the file, the document comes from standard input, and its quads are
counted. The answer, one line on standard output, is empty where all went well, else what is wrong;
a second one has the number of quads that were counted.
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
from kgbench.store.fragments import recorded

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
"""The syntaxes that are read, by the end of the file's name."""

MEMORY = 8 << 30
"""The address space that parsing one document may take (bytes)."""

SECONDS = 120.0
"""How long parsing one document may take, beside the time for its size."""

_PER_SECOND = 500_000  # bytes a second, which is slow even for a busy machine
_CHUNK = 1 << 20
_OVERFLOWS = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT}
_STACK_SIZE = 512 << 10  # bytes: a document that fits does not overflow the larger stack of another
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
    """One unpacked document: how it is called in messages, its syntax, and where it lies."""

    name: str
    syntax: str
    path: Path


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what is unpacked and parsed, removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="kgbench-import-") as found:
        yield Path(found)


def stage(files: list[RdfFile], folder: Path) -> ox.Store:
    """A database below ``folder`` with the quads of all ``files``.

    Raises :class:`ImportRefused` for the first document that does not parse within the limits, or
    says something that cannot be stored: triples as terms, texts with a direction.
    """
    database = folder / "database"
    for file in files:
        wrong = _parse(file, database)
        if wrong:
            raise ImportRefused(f"{file.name}: not {file.syntax}: {wrong}")
    found = ox.Store(str(database))
    if not len(found):
        raise ImportRefused(f"{', '.join(file.name for file in files)}: no RDF in it")
    return found


def count(content: IO[bytes], syntax: str) -> int:
    """How many quads a document in one of the syntaxes of dumps has; nothing of it is kept.

    Raises :class:`ImportRefused` where it does not parse within the limits of memory, depth and
    time, and what reading ``content`` raises.
    """
    command = _command("-", syntax, "-")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:  # noqa: S603 - as below
        try:
            assert child.stdin is not None
            _feed(content, child.stdin.fileno())
            said, complaint = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ImportRefused(f"not {syntax}: {_too_long(SECONDS)}") from None
        except BaseException:
            child.kill()
            raise
    wrong, _, number = said.decode("utf-8", "replace").partition("\n")
    wrong = _ended(child.returncode, complaint.decode("utf-8", "replace")) or wrong
    if wrong:
        raise ImportRefused(f"not {syntax}: {wrong}")
    return int(number)


def _feed(content: IO[bytes], pipe: int) -> None:
    """Give a child its document; ends early where the child has ended."""
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_WRITE)
        while chunk := content.read(_CHUNK):
            left = memoryview(chunk)
            while left:
                if not ready.select(SECONDS):
                    raise subprocess.TimeoutExpired("parsing", SECONDS)
                try:
                    left = left[os.write(pipe, left) :]
                except BrokenPipeError:
                    return


def _parse(file: RdfFile, database: Path) -> str:
    limit = SECONDS + file.path.stat().st_size / _PER_SECOND
    command = _command(str(database), file.syntax, str(file.path))
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return _too_long(limit)
    return _ended(done.returncode, done.stderr) or done.stdout.strip()


def _command(database: str, syntax: str, path: str) -> list[str]:
    command = [sys.executable, "-P", "-m", "kgbench.importers.rdf.parsing"]
    return [*command, database, syntax, path, str(MEMORY)]


def _too_long(limit: float) -> str:
    return f"it keeps the parser busy for more than {limit:.0f} seconds"


def _ended(status: int, complaint: str) -> str:
    """What the end of a child says of its document; ``""`` where it gave an answer."""
    if status in _OVERFLOWS:
        return "nested too deeply, or too large to be parsed"
    if status:
        last = complaint.strip().rpartition("\n")[2]
        return f"the parser ended with status {status} ({last[:200]})"
    return ""


# --- the child process -----------------------------------------------------------------------


def parse(database: str, syntax: str, path: Path) -> str:
    """Parse the document at ``path`` into the database; what is wrong, or ``""``."""
    try:
        if syntax == "RDF/XML":
            _refuse_entities(path)
        found = ox.parse(path=str(path), format=_SYNTAXES[syntax], rename_blank_nodes=True)
        ox.Store(database).bulk_extend(map(_recorded, found))
    except (SyntaxError, ValueError, OSError) as error:
        return _words(error)
    return ""


def _recorded(quad: ox.Quad) -> ox.Quad:
    """The quad with parts of dialogues named as stores name them."""
    subject, predicate, value, graph = quad
    if isinstance(subject, ox.NamedNode) and "#" in subject.value:
        subject = ox.NamedNode(recorded(subject.value))
    if isinstance(value, ox.NamedNode) and "#" in value.value:
        value = ox.NamedNode(recorded(value.value))
    return ox.Quad(subject, predicate, value, graph)


def _count(content: IO[bytes], syntax: str) -> tuple[str, int]:
    """What is wrong with a document, or ``""``, and how many quads came before that."""
    number = 0
    try:
        for _ in ox.parse(content, _SYNTAXES[syntax]):
            number += 1
    except (SyntaxError, ValueError, OSError) as error:
        return _words(error), number
    return "", number


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def _refuse_entities(path: Path) -> None:
    import pyexpat

    parser = pyexpat.ParserCreate()

    def declared(name: str, *_: object) -> None:
        raise ValueError(f"entities are not resolved, and '{name}' is declared")

    parser.EntityDeclHandler = declared
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
    except pyexpat.ExpatError as error:
        raise ValueError(f"not well-formed XML: {error}") from None


def main() -> None:
    """The process."""
    import resource

    database, syntax, path, memory = sys.argv[1:]
    with contextlib.suppress(ValueError, OSError):  # what a platform does not know
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if path == "-":
        _count_stdin(syntax)
    else:
        print(parse(database, syntax, Path(path)))  # noqa: T201 - the answer


def _count_stdin(syntax: str) -> None:
    answers: list[tuple[str, int]] = []
    threading.stack_size(_STACK_SIZE)
    counting = threading.Thread(target=lambda: answers.append(_count(sys.stdin.buffer, syntax)))
    counting.start()
    counting.join()
    if not answers:
        sys.exit(1)  # the thread has told why
    print(*answers[0], sep="\n")  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
