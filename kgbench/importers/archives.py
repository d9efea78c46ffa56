# SPDX-License-Identifier: Apache-2.0
"""Result files as other frameworks publish them: JSON or YAML, plain or in an (encrypted) archive.

Files are read a chunk at a time, as often as they are needed. Archives are never unpacked to disk,
because they are encrypted so that test data do not leak.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from kgbench.datasets import damage
from kgbench.errors import ImportRefused
from kgbench.importers import json_records, yaml_records
from kgbench.model import Json

MAX_BYTES = 1 << 30
"""The largest result file that is read, and the most that is read out of one archive."""

MAX_MEMBERS = 10_000
"""The most files that an archive may have."""

_CHUNK = 1 << 20
_YAML = (".yaml", ".yml")
_NONE = object()
_ENCRYPTED = 0x1  # general purpose bit 0 of a zip member


@dataclass(frozen=True)
class ResultFile:
    """One result file: where it is (``archive.zip/member.json``), and its bytes.

    ``content`` are the bytes, or a function that reads them anew, a chunk at a time.
    """

    name: str
    content: bytes | Callable[[], Iterator[bytes]]

    def chunks(self) -> Iterator[bytes]:
        """The bytes from the beginning."""
        return iter([self.content]) if isinstance(self.content, bytes) else self.content()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, in hex: the same in whatever archive the file comes."""
        found = hashlib.sha256()
        for chunk in self.chunks():
            found.update(chunk)
        return found.hexdigest()

    def records(self) -> Iterator[Json]:
        """The records, read and decoded one by one; there is at least one.

        A file named ``.yaml`` or ``.yml`` is YAML, any other JSON. Raises
        :class:`~kgbench.errors.ImportRefused` where it is no list of records.
        """
        read = yaml_records if PurePosixPath(self.name).suffix in _YAML else json_records
        record: Json = _NONE
        for record in read.read_elements(self.chunks(), self.name):
            yield record
        if record is _NONE:
            raise ImportRefused(f"{self.name}: the list of records is empty")


def open_results(path: Path, password: str | None = None) -> list[ResultFile]:
    """The result files in ``path``: itself, or those members of a zip archive.

    ``password`` opens an encrypted archive. Raises :class:`ImportRefused` where the file is
    missing, damaged, too large, encrypted with another password, or holds no result file.
    """
    try:
        start = b"".join(islice(_file(path), 1))
        if zipfile.is_zipfile(path):
            return _members(path, password)
    except OSError as error:
        raise ImportRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    if start.startswith(b"PK"):
        raise ImportRefused(f"{path}: the archive is truncated or damaged: fetch it again")
    if not start.strip() and len(start) < _CHUNK:
        raise ImportRefused(f"{path}: the file is empty")
    return [ResultFile(path.name, partial(_file, path))]


def _file(path: Path) -> Iterator[bytes]:
    """The bytes of a file that is not larger than :data:`MAX_BYTES`."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ImportRefused(f"{path}: is no regular file, and results are read more than once")
    with path.open("rb") as stream:
        if path.stat().st_size > MAX_BYTES:
            raise ImportRefused(f"{path}: larger than {MAX_BYTES} bytes, the most that is read")
        while chunk := stream.read(_CHUNK):
            yield chunk


def _members(path: Path, password: str | None) -> list[ResultFile]:
    try:
        with _archive(path, password) as archive:
            members = _result_members(path.name, archive.infolist())
        for member in members:
            for _ in islice(_member(path, member, password), 1):
                pass  # a wrong password shows at once
    except damage.errors() as error:
        raise ImportRefused(
            f"{path.name}: the archive is damaged ({error}): fetch it again"
        ) from error
    return [
        ResultFile(_member_name(path, m.filename), partial(_member, path, m, password))
        for m in members
    ]


def _archive(path: Path, password: str | None) -> Any:
    import pyzipper

    archive = pyzipper.AESZipFile(path)
    if password is not None:
        archive.setpassword(password.encode("utf-8"))
    return archive


def _member_name(path: Path, filename: str) -> str:
    return f"{path.name}/{PurePosixPath(filename).name}"


def _result_members(name: str, members: list[Any]) -> list[Any]:
    """The members that are result files: those called so, else every ``.json``."""
    if len(members) > MAX_MEMBERS:
        raise ImportRefused(f"{name}: {len(members)} files are too many for a result archive")
    documents = [m for m in members if _is_document(m.filename)]
    found = _preferred(
        [m for m in documents if "result" in PurePosixPath(m.filename).name]
        or [m for m in documents if m.filename.endswith(".json")]
    )
    if not found:
        raise ImportRefused(
            f"{name}: no result file (*.json, *result*.yaml) among the {len(members)} files of the "
            f"archive"
        )
    total = sum(member.file_size for member in found)
    if total > MAX_BYTES:
        raise ImportRefused(
            f"{name}: the archive holds {total} bytes of results, more than the {MAX_BYTES} "
            f"that are read: split it"
        )
    return found


def _is_document(filename: str) -> bool:
    last = PurePosixPath(filename)
    return last.suffix in {".json", *_YAML} and not last.name.startswith(".")


def _preferred(members: list[Any]) -> list[Any]:
    """``members`` without the YAML forms of results that are there as JSON, too."""
    stems = {m.filename.removesuffix(".json") for m in members if m.filename.endswith(".json")}
    return [
        m
        for m in members
        if m.filename.endswith(".json")
        or str(PurePosixPath(m.filename).with_suffix("")) not in stems
    ]


def _member(path: Path, member: Any, password: str | None) -> Iterator[bytes]:
    """The bytes of a member of an archive."""
    whole = _member_name(path, member.filename)
    encrypted = bool(member.flag_bits & _ENCRYPTED)
    if encrypted and password is None:
        raise ImportRefused(
            f"{path.name}: the archive is encrypted: give --password or set "
            f"KGBENCH_ARCHIVE_PASSWORD"
        )
    try:
        with _archive(path, password) as archive, archive.open(member) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except damage.errors() as error:
        why = ", or the password is wrong" if encrypted else ""
        raise ImportRefused(f"{whole}: damaged in the archive ({error}){why}") from error
    except RuntimeError as error:
        raise ImportRefused(f"{path.name}: the password is wrong") from error
