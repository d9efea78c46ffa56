# SPDX-License-Identifier: Apache-2.0
"""Common functions of stores over an Oxigraph database, and its errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyoxigraph as ox

from kgbench import files
from kgbench.errors import NoStore, QueryError, StoreError, WriteFailed
from kgbench.rdf.quads import ByIndex
from kgbench.rdf.query_text import has_dataset
from kgbench.store.iris import Iris
from kgbench.store.protocol import ReadOnly

# Messages of RocksDB and Oxigraph about unreadable files; other RuntimeErrors are query errors.
_DAMAGE = re.compile(
    r"corrupt|IO error|checksum|Not implemented: |Invalid argument|not found in id2str"
    r"|No such file or directory|internal storage|while reading",
    re.IGNORECASE,
)
# Their messages about writes that the system refuses.
_REFUSED = re.compile(
    r"No space left|quota exceeded|Read-only file system|File too large|Permission denied",
    re.IGNORECASE,
)
_LONGEST = 300  # characters kept of the engine's message
_DATABASES = ("data/CURRENT", "data/MANIFEST-*", "snapshots/*/CURRENT", "snapshots/*/MANIFEST-*")


class Damaged(StoreError):
    """Files of a database are damaged or missing."""


class Database:
    """The reading methods of stores over an Oxigraph database; ``_db`` is ``None`` when closed."""

    iris: Iris
    location: str
    _db: ox.Store | None

    @property
    def _store(self) -> ox.Store:
        if self._db is None:
            raise StoreError(f"the store {self.location} is closed")
        return self._db

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`.

        Raises :class:`Damaged` if the engine cannot read its files.
        """
        with converted_failures(self.location):
            try:
                # The default graph is the union of all graphs, as on servers; the engine would
                # let the union override the query's own dataset (SPARQL 1.1, section 13.2).
                union = not has_dataset(text)
                return self._store.query(text, use_default_graph_as_union=union)
            except (SyntaxError, ValueError, RuntimeError) as error:
                if is_damage(error):
                    raise
                raise QueryError(f"the query cannot be run: {error}") from error

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        with converted_failures(self.location):
            return sorted(graph.value for graph in self._store.named_graphs())

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        with converted_failures(self.location):
            for quad in self._store.quads_for_pattern(None, None, None, ox.NamedNode(graph)):
                yield quad.triple

    def about(self, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """See :meth:`~kgbench.store.protocol.Store.about`."""
        with converted_failures(self.location):
            yield from ByIndex(self._store).about(nodes)

    def referring(self, name: str, nodes: Iterable[str]) -> Iterator[ox.Quad]:
        """See :meth:`~kgbench.store.protocol.Store.referring`."""
        with converted_failures(self.location):
            yield from ByIndex(self._store).referring(name, nodes)


class ReadDatabase(Database, ReadOnly):
    """A ``database`` of the store at ``location``, for reading; a context manager closes it."""

    def __init__(self, location: str, database: ox.Store | None) -> None:
        self.iris = Iris()
        self.location = location
        self._db = database

    def close(self) -> None:
        """Close the database."""
        self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def is_damage(error: BaseException) -> bool:
    """Return whether ``error`` means that the engine cannot read or write its files."""
    if isinstance(error, OSError) and error.errno is not None:
        return False  # from the system (a closed pipe, for example): the engine's have no errno
    return isinstance(error, (OSError, RuntimeError)) and bool(_DAMAGE.search(str(error)))


def is_refused(error: BaseException) -> bool:
    """Return whether the system refused a write, by errno or by the engine's message."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in files.NO_ROOM
    return isinstance(error, (OSError, RuntimeError)) and bool(_REFUSED.search(str(error)))


@contextmanager
def converted_failures(location: str) -> Iterator[None]:
    """Convert the engine's errors about damaged files to :class:`Damaged`.

    If the system refused a write (full disk, quota, read-only), raise
    :class:`~kgbench.errors.WriteFailed`.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if is_refused(error):
            message = f"the store {location} cannot be written: {short_message(error)}: make room"
            raise WriteFailed(message) from error
        if not is_damage(error):
            raise
        raise damaged(location, error) from error


def damaged(location: str, error: BaseException) -> Damaged:
    """Return the error for files of the store at ``location`` that cannot be read or written."""
    return Damaged(
        f"the store {location} cannot be read or written: {short_message(error)}; "
        f"`kgbench store check` shows what is damaged, `kgbench store recover` saves the rest"
    )


def short_message(error: BaseException) -> str:
    """Return the engine's message on one line, of a bounded length."""
    return " ".join(str(error).split())[:_LONGEST]


def is_store(path: Path) -> bool:
    """Return whether a folder has a store, also one whose lock file was lost."""
    return (path / "lock").is_file() or any(any(path.glob(name)) for name in _DATABASES)


def no_store(path: Path) -> StoreError:
    """Return the error for a path without a store."""
    if path.is_file():
        return StoreError(f"{path} is a file, but a store is a folder: name a folder")
    return NoStore(f"there is no store at {path}: `kgbench run` creates one")
