# SPDX-License-Identifier: Apache-2.0
"""The embedded back end: an Oxigraph database in a folder, or in memory."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Self

import pyoxigraph as ox

from kgbench.errors import StoreError, StoreInUse, WriteFailed
from kgbench.rdf import integer
from kgbench.store import declared, registry, snapshots
from kgbench.store.databases import (
    Database,
    converted_failures,
    damaged,
    is_damage,
    is_store,
)
from kgbench.store.iris import Iris
from kgbench.store.protocol import Block
from kgbench.store.templates import fill
from kgbench.vocab import KGB

_CHUNK = 32_000_000  # bytes per bulk load, which bounds memory

# Characters of updates between two flushes. The engine buffers 64 MB for each of its indexes, and
# several such buffers if its threads wait for a processor: a gigabyte on a busy machine.
_BUFFERED = 48_000_000

# Bytes of log files that may remain after closing. The engine keeps up to ten files for reuse, of a
# hundred megabytes each, until it opens the database again.
_LOGS = 32_000_000


class EmbeddedStore(Database):
    """An embedded store, opened by its only owner; see :class:`~kgbench.store.protocol.Store`."""

    def __init__(self, path: Path | None) -> None:
        self.iris = Iris()
        self.location = "memory:" if path is None else str(path)
        self._path = path
        self._lock: IO[str] | None = None
        self._publisher: snapshots.Publisher | None = None
        self._writing = threading.Lock()
        self._publishing = threading.Lock()
        self._db: ox.Store | None = None
        self._unflushed = 0
        left_open = False
        if path is None:
            self._db = ox.Store()
        else:
            self._lock = lock_folder(path)
            self._inode = os.fstat(self._lock.fileno()).st_ino
            try:
                for folder in (path, path / "snapshots"):
                    snapshots.sweep(folder)
                _refuse_damage(path)
                with converted_failures(str(path)):
                    self._db = ox.Store(str(path / "data"))
                    left_open = snapshots.is_dirty(path)
                    snapshots.mark_dirty(path, dirty=True)
            except BaseException:
                self._db = None
                self._lock.close()
                raise
        try:
            with converted_failures(self.location):
                registry.check_layout(self)
                declared.load(self)
                self._stamps = registry.stamps(self)
                self._registered = registry.last_registration(self)
                if left_open and (lost := registry.unregistered(self, self.graphs(), self._stamps)):
                    self.drop(lost)  # a killed process loaded them and did not register them
                if path is not None:
                    self._publish()
                    self._publisher = snapshots.Publisher(self._publish)
        except BaseException:
            self.close()
            raise

    def write(self, blocks: Sequence[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.write`."""
        with self._writing, self._converted_errors():
            catalogue = self.iris.catalogue
            old, new = [], []
            number, registered = self._registered + 1, self._registered
            graphs = {block.graph for block in blocks}
            after = registry.next_stamp(self._stamps, graphs)
            for graph in graphs:
                before = self._stamps.get(graph)
                if before is not None:
                    old.append(_stamp(graph, before))
                elif graph != catalogue:
                    new.append(f"<{graph}> <{KGB.registrationNumber}> {integer(number)} .")
                    registered = number
                new.append(_stamp(graph, after))
            content = "\n".join(f"GRAPH <{g}> {{\n{chr(10).join(ts)}\n}}" for g, ts in blocks)
            self._store.update(
                fill(
                    "write.ru",
                    catalogue=catalogue,
                    old="\n".join(old),
                    new="\n".join(new),
                    content=content,
                )
            )
            # Only now: an engine that refused the update, as on a full disk, has no such graph.
            self._stamps.update(dict.fromkeys(graphs, after))
            self._registered = registered
            self._unflushed += len(content)
            if self._unflushed > _BUFFERED:
                self._store.flush()
                self._unflushed = 0
        self._report_write()

    def update(self, text: str) -> None:
        """Run one of the maintenance updates in ``store/``, atomically."""
        with self._writing, self._converted_errors():
            self._store.update(text)
        self._report_write()

    def bulk_load(self, blocks: Iterable[Block]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.bulk_load`.

        Loads the triples of all graphs at once: each load adds a file to every index, and the
        engine rewrites an index as soon as it has two new files.
        """
        quads = io.BytesIO()
        for graph, triples in blocks:
            end = f"<{graph}> .\n"
            quads.write("".join([triple.removesuffix(".") + end for triple in triples]).encode())
            if quads.tell() > _CHUNK:
                self._load(quads)
                quads = io.BytesIO()
        self._load(quads)
        self._report_write()

    def _load(self, quads: io.BytesIO) -> None:
        with self._converted_errors():
            self._store.bulk_load(quads.getvalue(), ox.RdfFormat.N_QUADS)

    def drop(self, graphs: Sequence[str]) -> None:
        """See :meth:`~kgbench.store.protocol.Store.drop`."""
        with self._writing, self._converted_errors():
            drops = " ;\n".join(f"DROP SILENT GRAPH <{graph}>" for graph in graphs)
            terms = " ".join(f"<{graph}>" for graph in graphs)
            self._store.update(
                fill("drop.ru", catalogue=self.iris.catalogue, graphs=terms, drops=drops)
            )
            for graph in graphs:
                self._stamps.pop(graph, None)
        self._report_write()

    def optimize(self) -> None:
        """Merge the files of the database, so that it is read faster."""
        with self._converted_errors():
            self._store.optimize()
        self._report_write()  # the newest snapshot still has the old files

    def close(self) -> None:
        """See :meth:`~kgbench.store.protocol.Store.close`."""
        publisher, self._publisher = self._publisher, None
        try:
            if publisher is not None:
                if publisher.stop():
                    self._publish(close=True)
                self._db = None
                self._leave_folder()
        finally:
            self._db = None  # the engine has no close(); dropping the last reference closes it
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        error = exception[1] if exception else None
        with suppress(StoreError) if error is not None else nullcontext():
            self.close()  # its failure must not hide the original error
        # Damage found while rows are read lazily.
        if isinstance(error, BaseException) and is_damage(error):
            raise damaged(self.location, error) from error

    def _report_write(self) -> None:
        if self._publisher is not None:
            self._publisher.report_write()

    def publish_soon(self) -> None:
        """See :meth:`~kgbench.store.protocol.Store.publish_soon`."""
        if self._publisher is not None:
            self._publisher.hurry()

    def settle(self) -> None:
        """See :meth:`~kgbench.store.protocol.Store.settle`."""
        with self._converted_errors():
            self._store.flush()

    def publish_snapshot(self) -> None:
        """Publish a snapshot now, without waiting for the next scheduled one.

        Does nothing for a store in memory, which has no readers.
        """
        if self._path is not None:
            self._publish()

    def _publish(self, *, close: bool = False) -> None:
        """Publish a snapshot; with ``close``, close the database as soon as it is copied.

        Files that the engine merges after that would no longer be shared with the snapshot.
        """
        assert self._path is not None

        def copy(target: str) -> None:
            self._store.backup(target)
            if close:
                self._db = None

        with self._publishing, self._converted_errors():
            snapshots.publish(copy, self._path / "snapshots")

    def _leave_folder(self) -> None:
        """Free disk space after closing the database, and write the checksums of its files."""
        assert self._path is not None
        data = self._path / "data"
        with self._converted_errors():
            if sum(file.stat().st_size for file in data.glob("*.log")) > _LOGS:
                with suppress(OSError):  # a caller still reads the result of a query
                    self._db = ox.Store(str(data))  # removes them, and may merge tables
                    self._publish(close=True)
            self._db = None
            snapshots.remove_large_spares(self._path / "snapshots")
            # Checksums of files that the engine has merged since the last snapshot.
            before = [data, *snapshots.all_of(self._path / "snapshots")[:1]]
            snapshots.take_checksums(data, data, before)
            snapshots.mark_dirty(self._path, dirty=False)

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert failures of writes to errors that name the store."""
        self._check_folder()
        try:
            yield
        except OSError as error:
            message = f"the store {self.location} cannot be written: {error}"
            raise WriteFailed(message) from error
        except RuntimeError as error:
            if not is_damage(error):
                raise
            raise damaged(self.location, error) from error

    def _check_folder(self) -> None:
        """Raise :class:`WriteFailed` if the folder was removed; the engine does not notice."""
        if self._lock is None or self._path is None:
            return
        try:
            inode = (self._path / "lock").stat().st_ino
        except OSError:
            inode = None
        if inode != self._inode:
            raise WriteFailed(
                f"the store {self._path} was removed or replaced while it was open: nothing more "
                "is written; restore its folder, or start again with another --store"
            )


def lock_folder(path: Path) -> IO[str]:
    """Take the owner's lock of the store at ``path`` without waiting; creates the folder."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"the store {path} is a file: name a folder")
    if path.is_dir() and any(path.iterdir()) and not is_store(path):
        raise StoreError(
            f"the folder {path} has other content than a kgbench store: name another folder"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = (path / "lock").open("a+", encoding="ascii")
    except OSError as error:
        raise WriteFailed(f"the store {path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.seek(0)
        owner = handle.read().strip()
        handle.close()
        by = f" (process {owner})" if owner else ""
        raise StoreInUse(
            f"the store {path} is in use by another kgbench{by}: wait for it to end, "
            f"or choose another store with --store"
        ) from None
    with suppress(OSError):  # on a full disk the process id is not recorded
        os.ftruncate(handle.fileno(), 0)
        os.write(handle.fileno(), str(os.getpid()).encode("ascii"))
    return handle


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that becomes the new store at ``path`` when the block ends without an error.

    What an interrupted command has left of it is removed. Raises
    :class:`~kgbench.errors.StoreError` if ``path`` exists.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise StoreError(f"{path} exists: name a new folder")
    unfinished = path.with_name(f".{path.name}.unfinished")
    if unfinished.exists():
        with lock_folder(unfinished):
            shutil.rmtree(unfinished)
    yield unfinished
    try:
        unfinished.rename(path)
    except OSError as error:
        raise WriteFailed(f"the store {path} cannot be written: {error.strerror}") from error


def _refuse_damage(path: Path) -> None:
    """Raise :class:`~kgbench.store.databases.Damaged` after a quick check of the owner's files.

    A query over a damaged table can make the engine loop for ever, and fill the memory.
    """
    for fault in snapshots.faults(path / "data", snapshots.VERIFIED, owned=True):
        raise damaged(str(path), StoreError(fault))


def _stamp(graph: str, value: int) -> str:
    return f"<{graph}> <{KGB.changeStamp}> {integer(value)} ."
