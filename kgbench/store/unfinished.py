# SPDX-License-Identifier: Apache-2.0
"""Marks of stores in folders that a copy or a recovery has begun to write.

A marked store cannot be opened, because it may lack results without a trace. The mark is there from
the first write to the last; repeating the command starts again.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kgbench import files
from kgbench.errors import WriteFailed
from kgbench.store import back_ends, databases, registry
from kgbench.store.embedded import EmbeddedStore, lock_folder


@contextmanager
def marked(location: str, words: Sequence[str]) -> Iterator[None]:
    """Mark the store at ``location`` until the block ends without an exception.

    ``words`` are those of ``kgbench store`` that repeat the work. What an earlier attempt left is
    removed. Stores on servers are not marked: their copies become visible by the last write. Raises
    :class:`~kgbench.errors.StoreError` if the store has results, or the folder is something else.
    """
    if back_ends.is_remote(location) or location == "memory:":
        yield
        return
    path = Path(location)
    if databases.is_unfinished(path):
        _clear(path)
    elif path.exists() and (path.is_file() or any(path.iterdir())):
        with EmbeddedStore(path) as store:
            registry.refuse_results(store)
    try:
        path.mkdir(parents=True, exist_ok=True)
        files.write(path / databases.UNFINISHED, f"kgbench store {shlex.join(words)}\n")
    except OSError as error:
        raise WriteFailed(f"the store {path} cannot be written: {error.strerror}") from error
    databases.being_written.add(path.resolve())
    try:
        yield
    finally:
        databases.being_written.discard(path.resolve())
    (path / databases.UNFINISHED).unlink()


def _clear(path: Path) -> None:
    """Remove everything but the mark and the lock, which is held meanwhile."""
    with lock_folder(path):
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name not in ("lock", databases.UNFINISHED):
                entry.unlink()
