# SPDX-License-Identifier: Apache-2.0
"""The folder of a publication: ownership, atomic writes, removal of old files, and its manifest.

A file is replaced atomically, and only if its content changes. Each path is written to a journal
before its file appears, so that the next publication knows all files of one that was killed. Files
from other sources are never touched. A folder may come from others, so links in it are not
followed: they could lead to any file of the reader.

The manifest lists units with their keys and files, dumps and versions. A unit (the catalogue, one
run, ...) is only made again if its key has changed: the SHA-256 over the change stamps of its
graphs and everything else that its files depend on.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Self

from kgbench import files
from kgbench.errors import PublicationRefused

STATE = ".kgbench-publish"
_STATE_FILE = re.compile(
    rf"{re.escape(STATE)}/(owner|lock|manifest\.json|canonical\.json|journal-[^/]*)"
)
_MANIFEST = "manifest.json"
_MARK = "kgbench publication 2\n"
_CHUNK = 1 << 20
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Folder:
    """A published folder, open for changes by one process and its worker processes.

    As a context manager it closes its journal.
    """

    def __init__(self, path: Path, journal: str = "main") -> None:
        self.path = path
        self.journal = journal
        self.state = path / STATE
        self.written: dict[str, str] = {}  # paths and the SHA-256 of the files
        self.changed = 0
        self._made_folders: set[str] = set()
        self._journal = (self.state / f"journal-{journal}").open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def write(self, path: str, content: bytes | str) -> None:
        """Write ``content`` to the file at ``path``; an unchanged file keeps its modification time.

        A path is written once: further calls for the same path are ignored.
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
            self._make_parent(path, target)
        self._log(path)
        unfinished = target.with_name(f".{target.name[:200]}.unfinished")
        unfinished.write_bytes(data)
        unfinished.replace(target)
        self.changed += 1

    def adopt(self, path: str, finished: Path) -> tuple[str, int]:
        """Move a finished file to ``path``, unless the file there is equal.

        Returns its SHA-256 and its size in bytes.
        """
        checksum_and_size = checksum(finished)
        self.written[path] = checksum_and_size[0]
        target = self.path / path
        if target.is_file() and same(target, finished):
            finished.unlink()
            return checksum_and_size
        self._make_parent(path, target)
        self._log(path)
        finished.replace(target)
        self.changed += 1
        return checksum_and_size

    def has(self, path: str, sha256: str) -> bool:
        """Return whether there is a file with this checksum at ``path``."""
        target = self.path / path
        return target.is_file() and checksum(target)[0] == sha256

    def work(self, name: str) -> Path:
        """Return the path of a temporary work file."""
        folder = self.state / "work"
        folder.mkdir(exist_ok=True)
        return folder / name

    def remove(self, path: str) -> None:
        """Remove a published file, and the folders that become empty."""
        target = self.path / path
        target.unlink(missing_ok=True)
        for parent in list(PurePosixPath(path).parents)[:-1]:  # without the published folder
            try:
                (self.path / parent).rmdir()
            except OSError:  # it is not empty
                break

    def journalled(self) -> set[str]:
        """Return all files that unfinished publications may have left."""
        paths: set[str] = set()
        for path in self.state.glob("journal-*"):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            paths.update(line for line in lines if is_inside(line))
        return paths

    def finish(self) -> None:
        """Remove journals and work files; the manifest lists all files that the journals name."""
        self._journal.close()
        for path in self.state.glob("journal-*"):
            path.unlink()
        work = self.state / "work"
        if work.is_dir():
            for path in work.iterdir():
                path.unlink()
            work.rmdir()

    def _log(self, path: str) -> None:
        self._journal.write(path + "\n")
        self._journal.flush()

    def _make_parent(self, path: str, target: Path) -> None:
        parent = path.rpartition("/")[0]
        if parent in self._made_folders:
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            ancestors = (target.parent, *target.parent.parents)
            file = next(path for path in ancestors if os.path.lexists(path))
            raise PublicationRefused(
                f"{file} is a file, but the publication needs a folder there: remove it"
            ) from error
        self._made_folders.add(parent)


class Contents(NamedTuple):
    """The regular files in a folder by path, and what else is there, with its kind by path."""

    files: dict[str, Path]
    others: dict[str, str]


def is_state(name: str) -> bool:
    """Return whether ``name`` is the path of a file of the state, which is not published."""
    return _STATE_FILE.fullmatch(name) is not None


def contents(folder: Path) -> Contents:
    """Return what is in a folder and the folders in it, sorted, without following links.

    Folders that cannot be listed are among the others.
    """
    found, others = {}, {}
    waiting = [""]
    while waiting:
        parent = waiting.pop()
        try:
            entries = list(os.scandir(folder / parent))
        except OSError as error:
            others[parent] = f"a folder that cannot be read ({error.strerror})"
            continue
        for entry in entries:
            path = f"{parent}/{entry.name}" if parent else entry.name
            if entry.is_file(follow_symlinks=False):
                found[path] = folder / path
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                others[path] = _KINDS.get(kind, "no file")
    return Contents(dict(sorted(found.items())), dict(sorted(others.items())))


@contextmanager
def claimed(path: Path) -> Iterator[Folder]:
    """Create a published folder, or take over an existing one; it is locked within the context.

    Raises :class:`~kgbench.errors.PublicationRefused` if ``path`` is something else, or in use, or
    if there are links in it, through which files elsewhere would be written or removed.
    """
    mark = path / STATE / "owner"
    if path.exists() and not path.is_dir():
        raise PublicationRefused(f"{path} is a file: --out names a folder")
    if path.is_dir() and not mark.is_file() and any(path.iterdir()):
        raise PublicationRefused(
            f"{path} is not empty and was not made by kgbench publish: name a new folder"
        )
    for name, kind in contents(path).others.items() if path.is_dir() else ():
        raise PublicationRefused(
            f"{path / name} is {kind}, but a publication has only files and folders: remove it"
        )
    try:
        (path / STATE).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationRefused(f"{path} cannot be written: {error.strerror}") from error
    if mark.is_file() and mark.read_text(encoding="utf-8", errors="replace") != _MARK:
        raise PublicationRefused(f"{path} was made by another version of kgbench publish")
    with (path / STATE / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PublicationRefused(f"another process is publishing to {path}") from error
        mark.write_text(_MARK, encoding="utf-8")
        with Folder(path) as folder:
            yield folder


def checksum(path: Path) -> tuple[str, int]:
    """Return the SHA-256 (hex) and the size in bytes of a file."""
    hasher, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hasher.update(chunk)
            size += len(chunk)
    return hasher.hexdigest(), size


def same(path: Path, other: Path) -> bool:
    """Return whether two files have the same content."""
    if path.stat().st_size != other.stat().st_size:
        return False
    with path.open("rb") as a, other.open("rb") as b:
        while chunk := a.read(_CHUNK):
            if chunk != b.read(_CHUNK):
                return False
    return True


def is_inside(path: str) -> bool:
    """Return whether a path lies in the folder; paths in the state folder are not trusted."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and os.sep == "/"


# --- the manifest ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dump:
    """A file of data: its path, size, SHA-256, that of its content, and its statements."""

    path: str
    bytes: int
    sha256: str
    content: str
    triples: int


@dataclass(frozen=True, slots=True)
class Unit:
    """The output of one part of the store; ``files`` has the SHA-256 of files by path."""

    key: str
    files: Mapping[str, str]
    dumps: tuple[Dump, ...] = ()

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Return the unit with these fields, as JSON has them; raises like their types."""
        for path in item["files"]:
            if not is_inside(path):  # obsolete files are removed, so a list of others could harm
                raise ValueError(f"it names {path}, which is outside the folder")
        return cls(item["key"], dict(item["files"]), tuple(Dump(**dump) for dump in item["dumps"]))


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the data set: its number, date (ISO 8601), and counts of its content."""

    number: int
    date: str
    digest: str
    runs: int
    dialogues: int
    triples: int
    dumps: tuple[Dump, ...]

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Return the version with these fields, as JSON has them; raises like their types."""
        return cls(**{**item, "dumps": tuple(Dump(**dump) for dump in item["dumps"])})


@dataclass(slots=True)
class Manifest:
    """The state of a published folder."""

    base: str = ""
    units: dict[str, Unit] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)

    def files(self) -> set[str]:
        """Return all files that were written."""
        return {path for unit in self.units.values() for path in unit.files}

    def keep(self, folder: Folder, name: str, key: str) -> Unit | None:
        """Keep the files of the unit ``name`` and return it, if it is unchanged.

        It is unchanged if it has this ``key`` and all its files have their checksums; otherwise
        the result is ``None``. Files are read for this, because the checksums are published and
        signed: a file that was damaged or changed by others is made again.
        """
        unit = self.units.get(name)
        if (
            unit is None
            or unit.key != key
            or not all(folder.has(path, sha256) for path, sha256 in unit.files.items())
        ):
            return None
        folder.written.update(unit.files)
        return unit

    def write(self, folder: Folder) -> None:
        """Write the manifest into the state of a folder."""
        files.write(folder.state / _MANIFEST, json.dumps(asdict(self), indent=1) + "\n")


def read_manifest(folder: Folder) -> Manifest:
    """Read the manifest in the state of a folder; return an empty one if there is none.

    Units that an unfinished publication may have changed in part are invalid: they have no key.
    Raises :class:`~kgbench.errors.PublicationRefused` if the file is damaged.
    """
    path = folder.state / _MANIFEST
    if not path.is_file():
        return Manifest()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        units = {name: Unit.read(item) for name, item in content["units"].items()}
        versions = [Version.read(item) for item in content["versions"]]
        base: str = content["base"]
        if not isinstance(base, str):
            raise TypeError("it names no base")  # noqa: TRY301 - one message for all problems
    except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        raise PublicationRefused(
            f"{path} cannot be read ({error}): name a new folder, or remove this one"
        ) from error
    touched = folder.journalled()
    for name, unit in units.items():
        if touched.intersection(unit.files):
            units[name] = Unit("", unit.files, unit.dumps)
    return Manifest(base, units, versions)
