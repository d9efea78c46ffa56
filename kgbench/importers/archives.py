# SPDX-License-Identifier: Apache-2.0
"""Result files as other frameworks publish them: JSON, plain or in an (encrypted) zip archive.

Archives are read in memory and never unpacked to disk, because they are encrypted so that test
data do not leak.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from kgbench.datasets import damage
from kgbench.errors import ImportRefused
from kgbench.model import Json

MAX_BYTES = 1 << 30
"""The largest result file that is read, and the most that is read out of one archive."""

MAX_MEMBERS = 10_000
"""The most files that an archive may have."""

_ENCRYPTED = 0x1  # general purpose bit 0 of a zip member


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One result file: where it is (``archive.zip/member.json``), and its bytes.

    ``digest`` is the SHA-256 (hex) of the bytes, so that a result is the same one in whatever
    archive it comes.
    """

    name: str
    content: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, in hex."""
        return hashlib.sha256(self.content).hexdigest()

    def records(self) -> list[Json]:
        """The records: a list that is not empty. Raises :class:`ImportRefused` for anything else.

        Lone surrogates and control characters inside texts are passed through as they are.
        """
        try:
            text = self.content.decode(json.detect_encoding(self.content), "surrogatepass")
        except UnicodeDecodeError as error:
            raise ImportRefused(
                f"{self.name}: not a JSON text: byte {error.start} is not valid {error.encoding}"
            ) from None
        try:
            found = json.loads(text.removeprefix("\ufeff"), strict=False, parse_constant=_refuse)
        except RecursionError:
            raise ImportRefused(f"{self.name}: not a result file: nested too deeply") from None
        except ValueError as error:
            raise ImportRefused(f"{self.name}: not JSON: {error}") from None
        if not isinstance(found, list):
            raise ImportRefused(
                f"{self.name}: a list of records was expected, found {_kind(found)}: "
                f"give the result file of a run"
            )
        if not found:
            raise ImportRefused(f"{self.name}: the list of records is empty")
        return found


def open_results(path: Path, password: str | None = None) -> list[ResultFile]:
    """The result files in ``path``: itself, or those members of a zip archive.

    ``password`` opens an encrypted archive. Raises :class:`ImportRefused` where the file is
    missing, damaged, too large, encrypted with another password, or holds no result file.
    """
    try:
        content = _limited(path)
    except OSError as error:
        raise ImportRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    if zipfile.is_zipfile(io.BytesIO(content)):
        return _members(path.name, content, password)
    if content.startswith(b"PK"):
        raise ImportRefused(f"{path}: the archive is truncated or damaged: fetch it again")
    if not content.strip():
        raise ImportRefused(f"{path}: the file is empty")
    return [ResultFile(path.name, content)]


def _limited(path: Path) -> bytes:
    """The bytes of a file that is not larger than :data:`MAX_BYTES`."""
    with path.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ImportRefused(f"{path}: larger than {MAX_BYTES} bytes, the most that is read")
    return content


def _members(name: str, content: bytes, password: str | None) -> list[ResultFile]:
    import pyzipper

    try:
        with pyzipper.AESZipFile(io.BytesIO(content)) as archive:
            if password is not None:
                archive.setpassword(password.encode("utf-8"))
            members = _result_members(name, archive.infolist())
            return [_member(name, archive, member, password) for member in members]
    except damage.errors() as error:
        raise ImportRefused(f"{name}: the archive is damaged ({error}): fetch it again") from error


def _result_members(name: str, members: list[Any]) -> list[Any]:
    """The members that are result files: those called so, else every ``.json``."""
    if len(members) > MAX_MEMBERS:
        raise ImportRefused(f"{name}: {len(members)} files are too many for a result archive")
    documents = [m for m in members if _is_document(m.filename)]
    found = [m for m in documents if "result" in PurePosixPath(m.filename).name] or documents
    if not found:
        raise ImportRefused(
            f"{name}: no result file (*.json) among the {len(members)} files of the archive"
        )
    total = sum(member.file_size for member in found)
    if total > MAX_BYTES:
        raise ImportRefused(
            f"{name}: the archive holds {total} bytes of results, more than the {MAX_BYTES} "
            f"that are read: split it"
        )
    return found


def _is_document(filename: str) -> bool:
    last = PurePosixPath(filename).name
    return last.endswith(".json") and not last.startswith(".")


def _member(name: str, archive: Any, member: Any, password: str | None) -> ResultFile:
    encrypted = bool(member.flag_bits & _ENCRYPTED)
    if encrypted and password is None:
        raise ImportRefused(
            f"{name}: the archive is encrypted: give --password or set KGBENCH_ARCHIVE_PASSWORD"
        )
    whole = f"{name}/{PurePosixPath(member.filename).name}"
    try:
        with archive.open(member) as stream:
            return ResultFile(whole, stream.read(MAX_BYTES))
    except damage.errors() as error:
        why = ", or the password is wrong" if encrypted else ""
        raise ImportRefused(f"{whole}: damaged in the archive ({error}){why}") from error
    except RuntimeError as error:
        raise ImportRefused(f"{name}: the password is wrong") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _kind(value: Json) -> str:
    names = {dict: "an object", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
