# SPDX-License-Identifier: Apache-2.0
"""Parses one document, into a database or only to count, in a process that may be killed.

``python -m kgbench.importers.rdf_child DATABASE SYNTAX FILE MEMORY``; with ``-`` in place of the
database and the file, the document comes from standard input, and its quads are counted. The
parsers are native code: deep nesting overflows their stack, and some documents keep them busy for
hours. The process that started this one sees it end, and refuses the document. The answer, one line
on standard output, is empty where all went well, else what is wrong; a second one has the number of
quads that were counted.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
from pathlib import Path
from typing import IO

import pyoxigraph as ox

from kgbench.store.fragments import recorded

_STACK = 512 << 10  # bytes: a document that fits does not overflow the larger stack of another
_SYNTAXES = {
    "N-Quads": ox.RdfFormat.N_QUADS,
    "TriG": ox.RdfFormat.TRIG,
    "Turtle": ox.RdfFormat.TURTLE,
    "N-Triples": ox.RdfFormat.N_TRIPLES,
    "JSON-LD": ox.RdfFormat.JSON_LD,
    "RDF/XML": ox.RdfFormat.RDF_XML,
}


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


def count(content: IO[bytes], syntax: str) -> tuple[str, int]:
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
    database, syntax, path, memory = sys.argv[1:]
    with contextlib.suppress(ValueError, OSError):  # what a platform does not know
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if path == "-":
        _count(syntax)
    else:
        print(parse(database, syntax, Path(path)))  # noqa: T201 - the answer


def _count(syntax: str) -> None:
    answers: list[tuple[str, int]] = []
    threading.stack_size(_STACK)
    counting = threading.Thread(target=lambda: answers.append(count(sys.stdin.buffer, syntax)))
    counting.start()
    counting.join()
    if not answers:
        sys.exit(1)  # the thread has told why
    print(*answers[0], sep="\n")  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
