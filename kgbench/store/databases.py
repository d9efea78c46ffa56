# SPDX-License-Identifier: Apache-2.0
"""Reading an Oxigraph database, whoever owns it and wherever it lies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench import files
from kgbench.errors import QueryError, StoreError, WriteFailed

# How RocksDB and Oxigraph word what they cannot read; other RuntimeErrors are faults of a query.
_DAMAGE = re.compile(
    r"corrupt|IO error|checksum|Not implemented: |Invalid argument|not found in id2str"
    r"|No such file or directory|internal storage|while reading",
    re.IGNORECASE,
)
# How they word a write that the system refuses.
_REFUSED = re.compile(
    r"No space left|quota exceeded|Read-only file system|File too large|Permission denied",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of the engine's words


class Damaged(StoreError):
    """Files of a database are damaged or missing."""


class Database:
    """What all stores over an Oxigraph database do alike; ``_db`` is ``None`` once it is closed."""

    location: str
    _db: ox.Store | None

    @property
    def _store(self) -> ox.Store:
        if self._db is None:
            raise StoreError(f"the store {self.location} is closed")
        return self._db

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`.

        Raises :class:`Damaged` where the engine cannot read what it needs.
        """
        with failures_in_words(self.location):
            try:
                # As on the server, the default graph is that of all graphs together.
                return self._store.query(text, use_default_graph_as_union=True)
            except (SyntaxError, ValueError, RuntimeError) as error:
                if is_damage(error):
                    raise
                raise QueryError(f"the query cannot be run: {error}") from error

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        with failures_in_words(self.location):
            return sorted(graph.value for graph in self._store.named_graphs())

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        with failures_in_words(self.location):
            for quad in self._store.quads_for_pattern(None, None, None, ox.NamedNode(graph)):
                yield quad.triple


def is_damage(error: BaseException) -> bool:
    """Whether the engine says with ``error`` that it cannot read or write its files."""
    if isinstance(error, OSError) and error.errno is not None:
        return False  # from the system: a closed pipe, say; the engine gives words alone
    return isinstance(error, (OSError, RuntimeError)) and bool(_DAMAGE.search(str(error)))


def is_refused(error: BaseException) -> bool:
    """Whether the system refused to write, by its number or in the words of the engine."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in files.NO_ROOM
    return isinstance(error, (OSError, RuntimeError)) and bool(_REFUSED.search(str(error)))


@contextmanager
def failures_in_words(location: str) -> Iterator[None]:
    """Raise :class:`Damaged` in place of an error that says that files are damaged.

    Where the system refused a write (full disk, quota, read-only), raise
    :class:`~kgbench.errors.WriteFailed`.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if is_refused(error):
            message = f"the store {location} cannot be written: {shortened(error)}: make room"
            raise WriteFailed(message) from error
        if not is_damage(error):
            raise
        raise damaged(location, error) from error


def damaged(location: str, error: BaseException) -> Damaged:
    """What to raise where files of the store at ``location`` cannot be read or written."""
    return Damaged(
        f"the store {location} cannot be read or written: {shortened(error)}; "
        f"`kgbench store check` tells what is damaged, `kgbench store recover` saves what is not"
    )


def shortened(error: BaseException) -> str:
    """The words of the engine on one line, without addresses in the source of the engine."""
    return " ".join(str(error).split())[:_LONGEST]


def no_store(path: Path) -> StoreError:
    """The error for a path without a store."""
    if path.is_file():
        return StoreError(f"{path} is a file, and a store is a folder: name a folder")
    return StoreError(f"there is no store at {path}: `kgbench run` makes one")
