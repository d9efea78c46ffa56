# SPDX-License-Identifier: Apache-2.0
"""Result files of other frameworks, plain or in a zip archive: JSON, or what a plug-in reads.

A plug-in's entry point in ``kgbench.importers`` whose name is the suffix of files is a function
like :func:`~kgbench.importers.json_records.read_elements`.

Files are read in chunks, and may be read several times. Archives are never unpacked to disk: some
are encrypted so that test data do not leak.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from kgbench import entry_points, files
from kgbench.errors import ImportRefused
from kgbench.importers.json_records import read_elements
from kgbench.model import Json

MAX_BYTES = 1 << 30
"""The largest result file, and the limit for all result files of an archive (bytes)."""

MAX_MEMBERS = 10_000
"""The largest number of files in an archive."""

_GROUP = "kgbench.importers"
_CHUNK = 1 << 20
_JSON = ".json"
_ARCHIVES = (".zip", ".gz", ".tar", ".7z")
_NO_RECORD = object()
_ENCRYPTED = 0x1  # general purpose bit 0 of a zip member


@dataclass(frozen=True)
class ResultFile:
    """A result file: its name (for example ``archive.zip/member.json``) and its content.

    ``content`` is the bytes, or a function that reads them from the beginning, in chunks.
    """

    name: str
    content: bytes | Callable[[], Iterator[bytes]]

    def chunks(self) -> Iterator[bytes]:
        """Iterate over the content in chunks, from the beginning."""
        return iter([self.content]) if isinstance(self.content, bytes) else self.content()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 (hex) of the content, which does not depend on the archive."""
        sha256 = hashlib.sha256()
        for chunk in self.chunks():
            sha256.update(chunk)
        return sha256.hexdigest()

    def records(self) -> Iterator[Json]:
        """Read and decode the records one by one.

        Files with a suffix that a plug-in reads are in its format, all others JSON. Raises
        :class:`~kgbench.errors.ImportRefused` if the file is not a list of at least one record.
        """
        suffix = _suffix(self.name)
        read = entry_points.load(_GROUP, suffix) if suffix in _other_suffixes() else read_elements
        record: Json = _NO_RECORD
        for record in read(self.chunks(), self.name):
            yield record
        if record is _NO_RECORD:
            raise ImportRefused(f"{self.name}: the list of records is empty")


def result_files(path: Path) -> list[Path]:
    """Return the files of a folder that are imported, by the rules for archives, and its archives.

    A path of anything else is returned as it is.
    """
    if not path.is_dir():
        return [path]
    inside = [each for each in sorted(path.rglob("*")) if each.is_file()]
    archives = [each for each in inside if _suffix(each.name) == ".zip"]
    members = [_Member(str(each), each.stat().st_size) for each in inside if each not in archives]
    found = _selected(members) if archives else _result_members(str(path), members)
    return [*(Path(member.filename) for member in found), *archives]


class _Member(NamedTuple):
    """A file of a folder, as a member of an archive."""

    filename: str
    file_size: int


def open_results(path: Path, password: str | None = None) -> list[ResultFile]:
    """Return the result files in ``path``: the file itself, or the members of a zip archive.

    ``password`` opens an encrypted archive. Raises :class:`ImportRefused` if the file is missing,
    damaged, too large, encrypted with another password, or contains no result file.
    """
    try:
        first_chunk = b"".join(islice(_read_file(path), 1))
        if zipfile.is_zipfile(path):
            return _open_members(path, password)
    except OSError as error:
        raise ImportRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    if first_chunk.startswith(b"PK"):
        raise ImportRefused(f"{path}: the archive is truncated or damaged: fetch it again")
    if not first_chunk.strip() and len(first_chunk) < _CHUNK:
        raise ImportRefused(f"{path}: the file is empty")
    return [ResultFile(path.name, partial(_read_file, path))]


def unread_members(path: Path) -> list[str]:
    """Return the members of a zip archive or folder that may have results, but are not opened.

    These are result files that other members displace, and archives. Copies of JSON files in
    another format are not listed. Raises :class:`ImportRefused` like :func:`open_results`.
    """
    if path.is_dir():
        opened_files = set(result_files(path))
        there = [_Member(str(each), 0) for each in sorted(path.rglob("*")) if each.is_file()]
        documents = _without_copies([m for m in there if _is_document(m.filename)])
        left = [Path(m.filename) for m in documents if Path(m.filename) not in opened_files]
        return [each.relative_to(path).as_posix() for each in left]
    if not zipfile.is_zipfile(path):
        return []
    with opened(path, path.name) as archive:
        members = archive.infolist()
    selected = {member.filename for member in _result_members(path.name, members)}
    documents = _without_copies([m for m in members if _is_document(m.filename)])
    inner = [m for m in members if _suffix(m.filename) in _ARCHIVES]
    return [m.filename for m in [*documents, *inner] if m.filename not in selected]


def _read_file(path: Path) -> Iterator[bytes]:
    """Read a file of at most :data:`MAX_BYTES` in chunks."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ImportRefused(f"{path}: not a regular file, and results are read more than once")
    with path.open("rb") as stream:
        if path.stat().st_size > MAX_BYTES:
            raise ImportRefused(f"{path}: larger than {MAX_BYTES} bytes, the most that is read")
        while chunk := stream.read(_CHUNK):
            yield chunk


def _open_members(path: Path, password: str | None) -> list[ResultFile]:
    with opened(path, path.name, password) as archive:
        members = _result_members(path.name, archive.infolist())
    for member in members:
        for _ in islice(_read_member(path, member, password), 1):
            pass  # the first chunk reveals a wrong password
    return [
        ResultFile(_member_name(path, m.filename), partial(_read_member, path, m, password))
        for m in members
    ]


@contextmanager
def opened(path: Path, name: str, password: str | None = None) -> Iterator[Any]:
    """Open the zip archive at ``path``, which is called ``name`` in messages.

    Raises :class:`ImportRefused` if it is damaged.
    """
    import pyzipper

    try:
        with pyzipper.AESZipFile(path) as archive:
            if password is not None:
                archive.setpassword(password.encode("utf-8"))
            yield archive
    except files.errors_of_damage() as error:
        raise ImportRefused(f"{name}: the archive is damaged ({error}): fetch it again") from error


@contextmanager
def opened_member(archive: Any, member: Any, name: str, password: str | None) -> Iterator[Any]:
    """Open a member of the archive ``name``, whose password has been set.

    Raises :class:`ImportRefused` if the member is damaged, or encrypted with another password.
    """
    encrypted = bool(member.flag_bits & _ENCRYPTED)
    if encrypted and password is None:
        raise ImportRefused(
            f"{name}: the archive is encrypted: give --password or set KGBENCH_ARCHIVE_PASSWORD"
        )
    try:
        with archive.open(member) as stream:
            yield stream
    except files.errors_of_damage() as error:
        hint = ", or the password is wrong" if encrypted else ""
        last = PurePosixPath(member.filename).name
        raise ImportRefused(f"{name}/{last}: damaged in the archive ({error}){hint}") from error
    except RuntimeError as error:
        raise ImportRefused(f"{name}: the password is wrong") from error


def _member_name(path: Path, filename: str) -> str:
    return f"{path.name}/{PurePosixPath(filename).name}"


def _selected(members: list[Any]) -> list[Any]:
    """Return the members with "result" in their name, else all ``.json`` files."""
    documents = [m for m in members if _is_document(m.filename)]
    return _without_copies(
        [m for m in documents if "result" in PurePosixPath(m.filename).name.lower()]
        or [m for m in documents if _suffix(m.filename) == _JSON]
    )


def _result_members(name: str, members: list[Any]) -> list[Any]:
    """Select the result files of an archive or a folder; there must be some."""
    if len(members) > MAX_MEMBERS:
        raise ImportRefused(f"{name}: {len(members)} files are too many for a result archive")
    selected = _selected(members)
    if not selected:
        others = [f"*result*{suffix}" for suffix in _other_suffixes()]
        raise ImportRefused(
            f"{name}: no result file ({', '.join(['*.json', *others])}) among {len(members)} files"
        )
    total = sum(member.file_size for member in selected)
    if total > MAX_BYTES:
        raise ImportRefused(
            f"{name}: the archive holds {total} bytes of results, more than the {MAX_BYTES} "
            f"that are read: split it"
        )
    return selected


def _is_document(filename: str) -> bool:
    hidden = PurePosixPath(filename).name.startswith(".")
    return _suffix(filename) in {_JSON, *_other_suffixes()} and not hidden


def _other_suffixes() -> list[str]:
    """Return the suffixes of result files that plug-ins read."""
    return [name for name in entry_points.names(_GROUP) if name.startswith(".")]


def _suffix(filename: str) -> str:
    return PurePosixPath(filename).suffix.lower()


def _without_copies(members: list[Any]) -> list[Any]:
    """Leave out files that also exist as JSON."""

    def stem(member: Any) -> str:
        return str(PurePosixPath(member.filename).with_suffix(""))

    stems = {stem(m) for m in members if _suffix(m.filename) == _JSON}
    return [m for m in members if _suffix(m.filename) == _JSON or stem(m) not in stems]


def _read_member(path: Path, member: Any, password: str | None) -> Iterator[bytes]:
    """Read a member of an archive in chunks."""
    with (
        opened(path, path.name, password) as archive,
        opened_member(archive, member, path.name, password) as stream,
    ):
        while chunk := stream.read(_CHUNK):
            yield chunk
