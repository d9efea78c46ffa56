# SPDX-License-Identifier: Apache-2.0
"""Documents with a statement for each cell of a table, written without being held.

Their statements are sorted on disk, and then read twice: for the prefixes that a document begins
with, and for the document itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path

import pyoxigraph as ox

from kgbench.publish import framing
from kgbench.publish.dumps import Packing, Prefixes, Writer, as_bytes, turtle
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump

_SORTED_AT_ONCE = 50_000  # statements
_WRITTEN_AT_ONCE = 5_000


def written(
    folder: Folder, document_path: str, quads: Iterable[ox.Quad], packing: Packing
) -> tuple[tuple[Dump, ...], int]:
    """Write the document at ``place`` in all formats; its files, and the number of its triples.

    Only the Turtle is written plainly: the others, which repeat IRIs, get the ``packing`` of dumps.
    """
    path = folder.work("statements.nt")
    _sort(folder, quads, path)
    prefixes, terms, count = Prefixes(), framing.Terms(), 0
    for some in _pieces(path):
        prefixes.add(some)
        terms.add(some)
        count += len(some)
    files = (
        _turtle(folder, document_path, path, prefixes.chosen()),
        _packed(
            folder, f"{document_path}.nt", packing, (as_bytes(some, "nt") for some in _pieces(path))
        ),
        _packed(folder, f"{document_path}.jsonld", packing, _document(path, terms)),
    )
    path.unlink()
    return files, count


def _sort(folder: Folder, quads: Iterable[ox.Quad], path: Path) -> None:
    """Write each statement once, in the order of N-Triples."""
    waiting: list[str] = []
    parts: list[Path] = []

    def store() -> None:
        parts.append(folder.work(f"statements-{len(parts)}"))
        with parts[-1].open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(sorted(waiting))
        waiting.clear()

    for quad in quads:
        waiting.append(f"{quad.triple} .\n")
        if len(waiting) >= _SORTED_AT_ONCE:
            store()
    store()
    with ExitStack() as stack, path.open("w", encoding="utf-8", newline="\n") as out:
        files = [stack.enter_context(p.open(encoding="utf-8", newline="\n")) for p in parts]
        out.writelines(line for line, _ in groupby(heapq.merge(*files)))
    for part in parts:
        part.unlink()


def _pieces(path: Path) -> Iterator[list[ox.Quad]]:
    """The statements of a sorted file, all about one subject in one piece."""
    waiting: list[ox.Quad] = []
    triples = ox.parse(path=str(path), format=ox.RdfFormat.N_TRIPLES)
    for _, group in groupby(triples, key=lambda quad: quad.subject):
        waiting += group
        if len(waiting) >= _WRITTEN_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _turtle(folder: Folder, document_path: str, path: Path, prefixes: dict[str, str]) -> Dump:
    unfinished = folder.work("document.ttl")
    with unfinished.open("wb") as out:
        for number, some in enumerate(_pieces(path)):
            piece = turtle(some, prefixes=prefixes)
            # Each piece begins with a line for each prefix.
            out.write(piece.split(b"\n", len(prefixes))[-1] if number else piece)
    sha256, size = folder.adopt(f"{document_path}.ttl", unfinished)
    return Dump(f"{document_path}.ttl", size, sha256, sha256)


def _document(path: Path, terms: framing.Terms) -> Iterator[bytes]:
    lines = (line for some in _pieces(path) for line in framing.lines(some))
    yield from (
        text.encode("utf-8", "backslashreplace")
        for text in chain([terms.opening()], framing.joined(lines), [framing.CLOSING])
    )


def _packed(folder: Folder, path: str, packing: Packing, content: Iterable[bytes]) -> Dump:
    writer = Writer(folder, path, packing)
    for piece in content:
        writer.write(piece)
    return writer.finish(None)
