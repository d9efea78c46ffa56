# SPDX-License-Identifier: Apache-2.0
"""Backups of a store, each a compressed N-Quads file that can be verified.

Every graph is followed by a comment with its count and digest; the last line has the number of
graphs. Any RDF tool can read the file; ``kgbench store copy FILE STORE`` restores it.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from pathlib import Path
from typing import IO, Final, cast

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import registry
from kgbench.store.copying import CopiedGraph
from kgbench.store.databases import ReadDatabase, is_damage
from kgbench.store.digests import Digest
from kgbench.store.protocol import Store

SUFFIX = ".nq.gz"
_GRAPH = re.compile(r"# graph <([^<>]+)> triples (\d+) digest ([0-9a-f]{64})\n?")
_END = re.compile(r"# end graphs (\d+)\n?")
_UNREADABLE: Final = (OSError, EOFError, SyntaxError, ValueError, zlib.error)


def is_dump(location: str) -> bool:
    """Return whether a location is a backup."""
    return location.endswith(SUFFIX) and "://" not in location


def write(source: Store, path: Path) -> list[CopiedGraph]:
    """Write a store's registered graphs and catalogue to ``path``, atomically.

    Raises :class:`~kgbench.errors.StoreError` if the file exists or cannot be written, or if the
    store changes meanwhile.
    """
    if not is_dump(str(path)):
        raise StoreError(f"a backup is named *{SUFFIX}, not {path.name}")
    if path.exists():
        raise StoreError(f"{path} exists: name another file")
    registry.check_layout(source)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        written = _write(source, unfinished)
        if _verified(unfinished) != written:
            raise StoreError(f"{path} differs from what was written to it: check the disk")
        unfinished.rename(path)
    except OSError as error:
        if is_damage(error):  # of the store: its reader reports it
            raise
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return written


def _write(source: Store, path: Path) -> list[CopiedGraph]:
    stamps = registry.stamps(source)
    written = []
    with gzip.open(path, "wt", encoding="utf-8", newline="\n", compresslevel=6) as file:
        for graph in [*registry.graphs(source), source.iris.catalogue]:
            digest = Digest()
            for triple in digest.through(source.triples(graph)):
                file.write(f"{triple} <{graph}> .\n")
            file.write(f"# graph <{graph}> triples {digest.triples} digest {digest.value}\n")
            written.append(CopiedGraph(graph, digest.triples, digest.value))
        file.write(f"# end graphs {len(written)}\n")
    if registry.stamps(source) != stamps:
        raise StoreError(
            f"the store {source.location} changed while it was read: stop what writes it"
        )
    with path.open("rb") as done:
        os.fsync(done.fileno())
    return written


class Dump(ReadDatabase):
    """A backup that is opened for reading: verified, and loaded into a temporary database."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StoreError(f"there is no backup at {path}")
        _verified(path)
        self._folder = tempfile.TemporaryDirectory(prefix="kgbench-backup-")
        super().__init__(str(path), ox.Store(self._folder.name))
        try:
            with gzip.open(path, "rb") as file:
                self._store.bulk_load(cast("IO[bytes]", file), ox.RdfFormat.N_QUADS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the temporary database."""
        super().close()
        self._folder.cleanup()


def _verified(path: Path) -> list[CopiedGraph]:
    """Return the graphs of a backup, whose statements have the recorded counts and digests.

    Raises :class:`StoreError` for any other backup, and for one that is cut off.
    """
    recorded: list[CopiedGraph] = []
    counted: dict[str, Digest] = {}
    ended = None
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as text:
            for line in text:
                if (graph := _GRAPH.fullmatch(line)) is not None:
                    recorded.append(CopiedGraph(graph[1], int(graph[2]), graph[3]))
                elif (end := _END.fullmatch(line)) is not None:
                    ended = int(end[1])
        if ended != len(recorded):
            raise StoreError(f"{path} is not a complete backup: its end is missing")
        with gzip.open(path, "rb") as file:
            for quad in ox.parse(cast("IO[bytes]", file), ox.RdfFormat.N_QUADS):
                name = getattr(quad.graph_name, "value", "")
                counted.setdefault(name, Digest()).add(quad.triple)
    except _UNREADABLE as error:
        raise StoreError(f"{path} is not a complete backup: {error}") from None
    for item in recorded:
        digest = counted.get(item.graph, Digest())
        if (digest.triples, digest.value) != (item.triples, item.digest):
            raise StoreError(
                f"{path} is damaged: its graph {item.graph} differs from what was written"
            )
    return recorded
