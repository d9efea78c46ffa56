# SPDX-License-Identifier: Apache-2.0
"""Documents about all models or cells of a table, written in all formats in bounded memory.

Their statements are sorted on disk and then read twice: first for the prefixes at the beginning of
a document, then for the document itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, groupby
from pathlib import Path

import pyoxigraph as ox

from kgbench.publish import json_ld
from kgbench.publish.dumps import DumpWriter, Packing, Prefixes, as_bytes, turtle
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump

_SORTED_AT_ONCE = 50_000  # statements
_WRITTEN_AT_ONCE = 5_000


def write_document(
    folder: Folder, document_path: str, lines: Iterable[str], packing: Packing | None = None
) -> tuple[tuple[Dump, ...], int]:
    """Write a document, given as lines of N-Triples, in all formats.

    Returns its files and the number of its triples. If ``packing`` is given, only the Turtle is
    written unpacked; the other formats, which repeat IRIs, are packed like dumps.
    """
    path = folder.work("statements.nt")
    _sort(folder, lines, path)
    prefixes, terms, count = Prefixes(), json_ld.Terms(), 0
    for batch in _batches(path):
        prefixes.add(batch)
        terms.add(batch)
        count += len(batch)
    content = {
        "nt": (as_bytes(batch, "nt") for batch in _batches(path)),
        "jsonld": _document(path, terms),
    }
    files = [_plain(folder, f"{document_path}.ttl", _turtle(path, prefixes.chosen()))]
    for suffix, pieces in content.items():
        name = f"{document_path}.{suffix}"
        if packing is None:
            files.append(_plain(folder, name, pieces))
        else:
            files.append(_packed(folder, name, packing, pieces))
    path.unlink()
    return tuple(files), count


def as_lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield the triples of ``quads`` as lines of N-Triples."""
    return (f"{quad.triple} ." for quad in quads)


def _sort(folder: Folder, lines: Iterable[str], path: Path) -> None:
    """Write all ``lines`` to ``path``, sorted and without duplicates."""
    waiting: list[str] = []
    parts: list[Path] = []

    def flush() -> None:
        parts.append(folder.work(f"statements-{len(parts)}"))
        with parts[-1].open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(sorted(waiting))
        waiting.clear()

    for line in lines:
        waiting.append(f"{line}\n")
        if len(waiting) >= _SORTED_AT_ONCE:
            flush()
    flush()
    with ExitStack() as stack, path.open("w", encoding="utf-8", newline="\n") as out:
        files = [stack.enter_context(p.open(encoding="utf-8", newline="\n")) for p in parts]
        out.writelines(line for line, _ in groupby(heapq.merge(*files)))
    for part in parts:
        part.unlink()


def _batches(path: Path) -> Iterator[list[ox.Quad]]:
    """Yield batches of statements from a sorted file; a subject is never split."""
    waiting: list[ox.Quad] = []
    triples = ox.parse(path=str(path), format=ox.RdfFormat.N_TRIPLES)
    for _, group in groupby(triples, key=lambda quad: quad.subject):
        waiting += group
        if len(waiting) >= _WRITTEN_AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _turtle(path: Path, prefixes: dict[str, str]) -> Iterator[bytes]:
    for number, batch in enumerate(_batches(path)):
        piece = turtle(batch, prefixes=prefixes)
        # Each piece begins with a line for each prefix, which only the first one keeps.
        yield piece.split(b"\n", len(prefixes))[-1] if number else piece


def _document(path: Path, terms: json_ld.Terms) -> Iterator[bytes]:
    lines = (line for batch in _batches(path) for line in json_ld.lines(batch))
    yield from (
        text.encode("utf-8", "backslashreplace")
        for text in chain([terms.opening()], json_ld.joined(lines), [json_ld.CLOSING])
    )


def _plain(folder: Folder, path: str, content: Iterable[bytes]) -> Dump:
    unfinished = folder.work("document")
    with unfinished.open("wb") as out:
        out.writelines(content)
    sha256, size = folder.adopt(path, unfinished)
    return Dump(path, size, sha256, sha256)


def _packed(folder: Folder, path: str, packing: Packing, content: Iterable[bytes]) -> Dump:
    writer = DumpWriter(folder, path, packing)
    for piece in content:
        writer.write(piece)
    return writer.finish(None)
