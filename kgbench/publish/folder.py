# SPDX-License-Identifier: Apache-2.0
"""The folder of a publication: who owns it, how files come and go in it.

A file is replaced in one step, and only where its content changes. Every file is noted in a journal
before it appears, so that a publication that was killed leaves nothing that the next one does not
know of. Files that nobody here wrote are never touched.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from kgbench.errors import PublicationRefused

STATE = ".kgbench-publish"
_MARK = "kgbench publication 1\n"
_CHUNK = 1 << 20


class Folder:
    """A published folder, open for changes by one process (and the workers it starts)."""

    def __init__(self, path: Path, journal: str = "main") -> None:
        self.path = path
        self.state = path / STATE
        self.written: dict[str, str] = {}  # paths and the SHA-256 of the files
        self.changed = 0
        self._made: set[str] = set()
        self._journal = (self.state / f"journal-{journal}").open("a", encoding="utf-8")

    def write(self, path: str, content: bytes | str) -> None:
        """Make the file at ``path`` have this content; its time changes only if its content does.

        A path is written once: a second file for it is passed over.
        """
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        if path in self.written:
            return
        self.written[path] = hashlib.sha256(data).hexdigest()
        target = self.path / path
        try:
            if target.stat().st_size == len(data) and target.read_bytes() == data:
                return
        except OSError:
            self._prepare(path, target)
        self._note(path)
        unfinished = target.with_name(f".{target.name[:200]}.unfinished")
        unfinished.write_bytes(data)
        unfinished.replace(target)
        self.changed += 1

    def adopt(self, path: str, finished: Path) -> tuple[str, int]:
        """Move a finished file to ``path``, unless what stands there is the same.

        Its SHA-256 and its size in bytes.
        """
        told = checksum(finished)
        self.written[path] = told[0]
        target = self.path / path
        if target.is_file() and same(target, finished):
            finished.unlink()
            return told
        self._prepare(path, target)
        self._note(path)
        finished.replace(target)
        self.changed += 1
        return told

    def keep(self, files: Mapping[str, str]) -> None:
        """Count files of an earlier publication, by their paths, as written; with their SHA-256."""
        self.written.update(files)

    def work(self, name: str) -> Path:
        """A path for a file that is being made."""
        folder = self.state / "work"
        folder.mkdir(exist_ok=True)
        return folder / name

    def remove(self, path: str) -> None:
        """Remove a file that is ours, and the folders that it leaves empty."""
        target = self.path / path
        target.unlink(missing_ok=True)
        for parent in list(PurePosixPath(path).parents)[:-1]:  # without the folder itself
            try:
                (self.path / parent).rmdir()
            except OSError:  # it holds more
                break

    def journalled(self) -> set[str]:
        """All files that unfinished publications may have left."""
        found: set[str] = set()
        for path in self.state.glob("journal-*"):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found.update(line for line in lines if _is_inside(line))
        return found

    def finish(self) -> None:
        """Forget the journals: all that they name is in the record of what is published."""
        self._journal.close()
        for path in self.state.glob("journal-*"):
            path.unlink()
        work = self.state / "work"
        if work.is_dir():
            for path in work.iterdir():
                path.unlink()
            work.rmdir()

    def close(self) -> None:
        """Let the journal go."""
        self._journal.close()

    def _note(self, path: str) -> None:
        self._journal.write(path + "\n")
        self._journal.flush()

    def _prepare(self, path: str, target: Path) -> None:
        parent = path.rpartition("/")[0]
        if parent in self._made:
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            above = (target.parent, *target.parent.parents)
            file = next(path for path in above if os.path.lexists(path))
            raise PublicationRefused(
                f"{file} should be a folder of the publication, and is a file: remove it"
            ) from error
        self._made.add(parent)


def claim(path: Path) -> IO[str]:
    """Make ``path`` a published folder, or take one that is; the lock that is given back holds it.

    Raises :class:`~kgbench.errors.PublicationRefused` where it is something else, or in use.
    """
    mark = path / STATE / "owner"
    if path.exists() and not path.is_dir():
        raise PublicationRefused(f"{path} is a file: --out names a folder")
    if path.is_dir() and not mark.is_file() and any(path.iterdir()):
        raise PublicationRefused(
            f"{path} is not empty and was not made by kgbench publish: name a new folder"
        )
    try:
        (path / STATE).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationRefused(f"{path} cannot be written: {error.strerror}") from error
    if mark.is_file() and mark.read_text(encoding="utf-8", errors="replace") != _MARK:
        raise PublicationRefused(f"{path} was made by another version of kgbench publish")
    lock = (path / STATE / "lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise PublicationRefused(f"another process is publishing to {path}") from error
    mark.write_text(_MARK, encoding="utf-8")
    return lock


def checksum(path: Path) -> tuple[str, int]:
    """The SHA-256, in hex, and the size in bytes of a file."""
    found, size = hashlib.sha256(), 0
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            found.update(chunk)
            size += len(chunk)
    return found.hexdigest(), size


def same(one: Path, other: Path) -> bool:
    """Whether two files have the same content."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        while chunk := a.read(_CHUNK):
            if chunk != b.read(_CHUNK):
                return False
    return True


def _is_inside(path: str) -> bool:
    """Whether a noted path lies in the folder: a journal may have been written to by others."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and os.sep == "/"
