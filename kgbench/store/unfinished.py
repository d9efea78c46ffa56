# SPDX-License-Identifier: Apache-2.0
"""Marks of stores that a copy or a recovery has begun to write.

A marked store cannot be opened, because it may lack results without a trace. The mark is there from
the first write to the last; repeating the command starts again. It is a file in a folder, and a
statement in the graph of the lease on a server.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kgbench import files
from kgbench.errors import WriteFailed
from kgbench.rdf import string
from kgbench.store import back_ends, databases, registry, remote
from kgbench.store.embedded import EmbeddedStore, lock_folder
from kgbench.store.templates import fill


@contextmanager
def marked(location: str, words: Sequence[str]) -> Iterator[None]:
    """Mark the store at ``location`` until the block ends without an exception.

    ``words`` are those of ``kgbench store`` that repeat the work. What an earlier attempt left is
    removed. Raises :class:`~kgbench.errors.StoreError` if the store has results, or the folder is
    something else.
    """
    command = f"kgbench store {shlex.join(words)}"
    if location == "memory:":
        yield
    elif back_ends.is_remote(location):
        with _being_written(location):
            _mark_server(location, command)
            yield
            with remote.RemoteStore(back_ends.find(location)) as store:
                graph = store.iris.mint("leaseGraph")
                store.update(fill("unmark-unfinished.ru", graph=graph))
    else:
        path = Path(location)
        _mark_folder(path, command)
        with _being_written(path.resolve()):
            yield
        (path / databases.UNFINISHED).unlink()


@contextmanager
def _being_written(place: Path | str) -> Iterator[None]:
    """Let this process open a marked store."""
    databases.being_written.add(place)
    try:
        yield
    finally:
        databases.being_written.discard(place)


def _mark_server(location: str, command: str) -> None:
    with remote.RemoteStore(back_ends.find(location)) as store:
        if remote.unfinished(store) is None:
            registry.refuse_results(store)
        elif left := registry.graphs(store):
            store.drop(left)
        graph = store.iris.mint("leaseGraph")
        store.update(fill("mark-unfinished.ru", graph=graph, command=string(command)))


def _mark_folder(path: Path, command: str) -> None:
    if databases.is_unfinished(path):
        _clear(path)
    elif path.exists() and (path.is_file() or any(path.iterdir())):
        with EmbeddedStore(path) as store:
            registry.refuse_results(store)
    try:
        path.mkdir(parents=True, exist_ok=True)
        files.write(path / databases.UNFINISHED, f"{command}\n")
    except OSError as error:
        raise WriteFailed(f"the store {path} cannot be written: {error.strerror}") from error


def _clear(path: Path) -> None:
    """Remove everything but the mark and the lock, which is held meanwhile."""
    with lock_folder(path):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name not in ("lock", databases.UNFINISHED):
                entry.unlink()
