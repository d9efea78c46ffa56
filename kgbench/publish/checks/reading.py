# SPDX-License-Identifier: Apache-2.0
"""Opening published files by what their names say: formats, compression, encryption.

A file of RDF that may be nested deeply is parsed by a child process first: what makes a parser
overflow its stack ends that process, and not the check.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused, KgbenchError, PublicationRefused
from kgbench.importers.rdf import parsing

PACKINGS = {".zst": "application/zstd", ".gz": "application/gzip", ".zip": "application/zip"}
FORMATS = {
    ".nq": "application/n-quads",
    ".trig": "application/trig",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".jsonld": "application/ld+json",
}
_CHUNK = 1 << 20
_FEW_TERMS = 100  # levels that any stack takes
_DAMAGED = (OSError, EOFError, ValueError, SyntaxError, zlib.error)
_LIBRARIES = ("zstandard", "zlib", "_lzma", "pyzipper")  # their errors have no base in common


class Unreadable(KgbenchError):
    """A file cannot be read as what its name says."""


def parts(path: Path) -> tuple[str, str]:
    """The format and the packing in a file's name, each with its dot or empty.

    >>> parts(Path("data/run-0199.nq.zst"))
    ('.nq', '.zst')
    >>> parts(Path("catalog.ttl"))
    ('.ttl', '')
    """
    last = path.suffix
    if last in PACKINGS:
        return Path(path.stem).suffix, last
    return last, ""


@contextmanager
def opened(path: Path, password: str | None) -> Iterator[IO[bytes]]:
    """The content of a file, unpacked.

    Raises :class:`Unreadable` where it is damaged, and
    :class:`~kgbench.errors.PublicationRefused` where it is encrypted and no password is given.
    """
    packing = parts(path)[1]
    try:
        with path.open("rb") as file, _unpacked(file, packing, password) as content:
            yield content
    except KgbenchError:
        raise
    except Exception as error:
        if isinstance(error, _DAMAGED) or type(error).__module__.startswith(_LIBRARIES):
            raise Unreadable(f"cannot be read: {error}") from error
        if isinstance(error, (RuntimeError, zipfile.BadZipFile)):  # wrong password; no archive
            raise Unreadable(f"cannot be unpacked: {error}") from error
        raise


def _unpacked(file: IO[bytes], packing: str, password: str | None) -> Any:
    if packing == ".gz":
        return gzip.GzipFile(fileobj=file)
    if packing == ".zst":
        return io.BufferedReader(_Zstandard(file), _CHUNK)
    if packing == ".zip":
        import pyzipper

        if password is None:
            raise PublicationRefused("is encrypted, and no password is given")
        archive = pyzipper.AESZipFile(file)
        archive.setpassword(password.encode("utf-8"))
        if not archive.namelist():
            raise Unreadable("cannot be read: the archive is empty")
        return archive.open(archive.namelist()[0])
    return file


class _Zstandard(io.RawIOBase):
    """The content of Zstandard frames, one after the other; a frame that is cut off is an error."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._begun = False
        self._input = b""
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._waiting:
            if not self._input:
                self._input = self._file.read(_CHUNK >> 2)
            if not self._input:
                if self._begun:
                    raise EOFError("it is cut off")
                return 0
            self._waiting = memoryview(self._frame.decompress(self._input))
            self._begun, self._input = True, b""
            if self._frame.eof:
                self._input = self._frame.unused_data
                self._begun, self._frame = False, self._new()
        number = min(len(buffer), len(self._waiting))
        buffer[:number] = self._waiting[:number]
        self._waiting = self._waiting[number:]
        return number


def refuse_too_deep(path: Path, password: str | None) -> None:
    """Raise :class:`Unreadable` for a file that no parser survives."""
    if _may_nest(path, password):
        _count_apart(path, password)


def load(store: ox.Store, path: Path, password: str | None, graph: ox.NamedNode) -> None:
    """Load an RDF file into ``store``, its triples into ``graph``; raises as :func:`opened`."""
    kind = _kind(path)
    refuse_too_deep(path, password)
    with opened(path, password) as content:
        if kind.supports_datasets:
            store.bulk_load(content, kind)
        else:
            store.bulk_load(content, kind, to_graph=graph)


def quads(path: Path) -> list[ox.Quad]:
    """What an RDF file states, as it was written; raises as :func:`opened`."""
    kind = _kind(path)
    refuse_too_deep(path, None)
    with opened(path, None) as content:
        return list(ox.parse(content, kind))


def first_line(path: Path, password: str | None) -> str:
    """The first line of a file, unpacked; raises as :func:`opened`."""
    with opened(path, password) as content:
        return content.readline(4096).decode("utf-8", "replace")


def count(path: Path, password: str | None) -> int:
    """How many quads a dump has; raises as :func:`opened`."""
    kind = _kind(path)
    if _may_nest(path, password):
        return _count_apart(path, password)
    with opened(path, password) as content:
        return sum(1 for _ in ox.parse(content, kind))


def _may_nest(path: Path, password: str | None) -> bool:
    """Whether parsing may need a deep stack: in JSON-LD, and for triples as terms of triples."""
    if parts(path)[0] == ".jsonld":
        return True
    terms = 0
    with opened(path, password) as content:
        while terms <= _FEW_TERMS and (chunk := content.read(_CHUNK)):
            terms += chunk.count(b"<<")  # in texts as well: those are only tried in vain
    return terms > _FEW_TERMS


def _count_apart(path: Path, password: str | None) -> int:
    with opened(path, password) as content:
        try:
            return parsing.count(content, parsing.FORMATS[parts(path)[0]])
        except ImportRefused as error:
            raise Unreadable(f"cannot be read: {error}") from error


def _kind(path: Path) -> ox.RdfFormat:
    kind = ox.RdfFormat.from_media_type(FORMATS[parts(path)[0]])
    assert kind is not None
    return kind
