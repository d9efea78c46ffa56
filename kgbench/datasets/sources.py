# SPDX-License-Identifier: Apache-2.0
"""Sources of copies of data sets: a folder, an archive, or the URL of an archive.

Nothing is unpacked to disk: files are read by name. Archives of repositories have a top-level
folder, so files are found by the end of their path.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, Final

from kgbench.datasets import damage
from kgbench.datasets.install import download
from kgbench.errors import ImportRefused
from kgbench.net.limits import Budget

MAX_FILE_BYTES: Final = 1 << 26
"""The largest file of a data set (bytes)."""

_MOST_ARCHIVE: Final = 1 << 28  # bytes
_MOST_MEMBERS: Final = 100_000


class Source(ABC):
    """The files of a copy; ``name`` is its name in messages."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def paths(self) -> list[str]:
        """Return the paths of all files, with slashes, in a fixed order."""

    @abstractmethod
    def _open(self, path: str) -> IO[bytes]: ...

    def read(self, path: str) -> bytes:
        """Read the file at ``path``.

        Raises :class:`~kgbench.errors.ImportRefused` if it is damaged, encrypted or too large.
        """
        try:
            with self._open(path) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except RuntimeError as error:  # raised by zipfile for encrypted members
            raise ImportRefused(f"{self.name}: {path} is encrypted") from error
        except _damage() as error:
            raise ImportRefused(f"{self.name}: {path} cannot be read: {error}") from error
        if len(content) > MAX_FILE_BYTES:
            raise ImportRefused(f"{self.name}: {path} has more than {MAX_FILE_BYTES} bytes")
        return content

    def find(self, wanted: str) -> list[str]:
        """Return the paths that are or end in ``wanted``, else those of the same file name."""
        known = self.paths()
        if wanted in known:
            return [wanted]
        ending = [path for path in known if path.endswith(f"/{wanted}")]
        last = wanted.rpartition("/")[2]
        return ending or [path for path in known if path.rpartition("/")[2] == last]


class Folder(Source):
    """The files below a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self._folder = folder

    def paths(self) -> list[str]:
        """Return the paths of the files below the folder, sorted."""
        files = (path for path in self._folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(self._folder).as_posix() for path in files)

    def _open(self, path: str) -> IO[bytes]:
        return (self._folder / path).open("rb")


class Zip(Source):
    """A zip archive."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(name)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except damage.errors() as error:
            raise ImportRefused(f"{name} is not a readable zip archive: {error}") from error

    def paths(self) -> list[str]:
        """Return the paths of the members that are files, sorted."""
        infos = self._archive.infolist()[:_MOST_MEMBERS]
        return sorted({info.filename for info in infos if not info.is_dir()})

    def _open(self, path: str) -> IO[bytes]:
        return self._archive.open(path)


class Tar(Source):
    """A tar archive, compressed or not; links in it are ignored."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(name)
        self._members: dict[str, bytes] = {}
        unpacked = 0
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                for number, member in enumerate(archive):
                    unpacked += member.size
                    if number >= _MOST_MEMBERS or unpacked > _MOST_ARCHIVE:
                        raise ImportRefused(f"{name} unpacks to more than {_MOST_ARCHIVE} bytes")
                    if member.isreg() and (file := archive.extractfile(member)) is not None:
                        self._members[member.name] = file.read()
        except _damage() as error:
            raise ImportRefused(f"{name} is not a readable tar archive: {error}") from error

    def paths(self) -> list[str]:
        """Return the paths of the members that are files, sorted."""
        return sorted(self._members)

    def _open(self, path: str) -> IO[bytes]:
        return io.BytesIO(self._members[path])


def open_source(named: str, budget: Budget | None = None) -> Source:
    """Open a copy by the path of a folder or archive, or by the URL of an archive.

    ``budget`` limits the download. Raises :class:`~kgbench.errors.ImportRefused` for anything else.
    """
    if named.startswith(("https://", "http://")):
        return _archive(named, download(named, budget))
    path = Path(named)
    if path.is_dir():
        return Folder(path)
    try:
        if path.stat().st_size > _MOST_ARCHIVE:
            raise ImportRefused(f"{named} has more than {_MOST_ARCHIVE} bytes")
        return _archive(named, path.read_bytes())
    except OSError as error:
        raise ImportRefused(f"{named} cannot be read: {error.strerror or error}") from error


def _damage() -> tuple[type[Exception], ...]:
    return (*damage.errors(), tarfile.TarError)


def _archive(name: str, content: bytes) -> Source:
    if content.startswith(b"PK"):
        return Zip(name, content)
    return Tar(name, content)
