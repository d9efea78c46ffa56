# SPDX-License-Identifier: Apache-2.0
"""Files of RDF as data sets are published: plain, compressed, or in an (encrypted) zip archive.

What is in a file is unpacked to a place of its own before any parser sees it, and never more of it
than :data:`MAX_BYTES`, so that a small file cannot fill a disk.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from kgbench.datasets import damage
from kgbench.errors import ImportRefused

MAX_BYTES = 8 << 30
"""The most that is unpacked of all that one import names (bytes)."""

MAX_MEMBERS = 10_000
"""The most files that an archive may have."""

FORMATS = {
    ".nq": "N-Quads",
    ".trig": "TriG",
    ".ttl": "Turtle",
    ".nt": "N-Triples",
    ".jsonld": "JSON-LD",
    ".json": "JSON-LD",
    ".rdf": "RDF/XML",
    ".xml": "RDF/XML",
    ".owl": "RDF/XML",
}
"""The syntaxes that are read, by the end of the file's name."""

_CHUNK = 1 << 20
_ENCRYPTED = 0x1  # general purpose bit 0 of a zip member
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class RdfFile:
    """One unpacked document: how it is called in messages, its syntax, and where it lies."""

    name: str
    syntax: str
    path: Path


def sha256(path: Path) -> str:
    """The SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_rdf(name: str) -> bool:
    """Whether a file's name says that it holds RDF, compressed or not."""
    return _syntax(name) is not None


def unpack(path: Path, name: str, scratch: Path, password: str | None = None) -> list[RdfFile]:
    """The documents in the file at ``path``, unpacked below the folder ``scratch``.

    ``name`` is the file's name for messages; its end says what it is. ``password`` opens an
    encrypted archive. Raises :class:`ImportRefused` where the file is missing, damaged, not RDF,
    holds archives in archives, or unpacks to more than :data:`MAX_BYTES`.
    """
    last = PurePosixPath(name).name
    try:
        if last.lower().endswith(".zip"):
            return _members(path, name, scratch, password)
        syntax = _syntax(last)
        if syntax is None:
            raise ImportRefused(
                f"{name}: what kind of RDF this is cannot be told from its name: "
                f"it should end in {', '.join(FORMATS)}, perhaps with .gz, .zst or .zip after it"
            )
        with path.open("rb") as stream:
            return [_document(stream, name, syntax, scratch)]
    except OSError as error:
        raise ImportRefused(f"{name}: cannot be read: {error.strerror or error}") from error


def _syntax(name: str) -> str | None:
    plain = PurePosixPath(name.lower())
    if plain.suffix in _COMPRESSED:
        plain = plain.with_suffix("")
    return FORMATS.get(plain.suffix)


def _document(stream: IO[bytes], name: str, syntax: str, scratch: Path) -> RdfFile:
    """The content of one file, decompressed where its name says so."""
    target = scratch / f"{len(list(scratch.iterdir())):05d}"
    taken = sum(each.stat().st_size for each in scratch.iterdir())
    try:
        with _decompressed(stream, name) as plain, target.open("wb") as out:
            while chunk := plain.read(_CHUNK):
                taken += len(chunk)
                if taken > MAX_BYTES:
                    raise ImportRefused(
                        f"{name}: unpacks to more than {MAX_BYTES} bytes, the most that is read"
                    )
                out.write(chunk)
    except damage.errors() as error:
        raise ImportRefused(f"{name}: damaged ({error}): fetch it again") from error
    if not target.stat().st_size:
        raise ImportRefused(f"{name}: the file is empty")
    return RdfFile(name, syntax, target)


@contextmanager
def _decompressed(stream: IO[bytes], name: str) -> Iterator[Any]:
    lower = name.lower()
    if lower.endswith(".gz"):
        with gzip.GzipFile(fileobj=stream) as plain:
            yield plain
    elif lower.endswith(".zst"):
        with _zstd(stream, name) as plain:
            yield plain
    else:
        yield stream


@contextmanager
def _zstd(stream: IO[bytes], name: str) -> Iterator[Any]:
    try:
        import zstandard
    except ImportError:
        raise ImportRefused(
            f"{name}: reading .zst needs the package zstandard: "
            f"pip install 'kgbench[publish]', or unpack the file first"
        ) from None
    try:
        # The window is what a frame may make the reader keep in memory.
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            stream, read_across_frames=True
        ) as plain:
            yield plain
    except zstandard.ZstdError as error:
        raise ImportRefused(f"{name}: damaged ({error}): fetch it again") from error


def _members(path: Path, name: str, scratch: Path, password: str | None) -> list[RdfFile]:
    import pyzipper

    try:
        with pyzipper.AESZipFile(path) as archive:
            if password is not None:
                archive.setpassword(password.encode("utf-8"))
            members = [m for m in archive.infolist() if not m.is_dir()]
            if len(members) > MAX_MEMBERS:
                raise ImportRefused(f"{name}: {len(members)} files are too many for an archive")
            wanted = [m for m in members if is_rdf(m.filename)]
            if not wanted:
                raise ImportRefused(f"{name}: no file of RDF among the {len(members)} in it")
            return [_member(archive, m, name, scratch, password) for m in wanted]
    except damage.errors() as error:
        raise ImportRefused(f"{name}: the archive is damaged ({error}): fetch it again") from error


def _member(archive: Any, member: Any, name: str, scratch: Path, password: str | None) -> RdfFile:
    if member.flag_bits & _ENCRYPTED and password is None:
        raise ImportRefused(
            f"{name}: the archive is encrypted: give --password or set KGBENCH_ARCHIVE_PASSWORD"
        )
    last = PurePosixPath(member.filename).name
    syntax = _syntax(last)
    assert syntax is not None
    try:
        with archive.open(member) as stream:
            return _document(stream, f"{name}/{last}", syntax, scratch)
    except RuntimeError as error:
        raise ImportRefused(f"{name}: the password is wrong") from error
