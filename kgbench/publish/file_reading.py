# SPDX-License-Identifier: Apache-2.0
"""Reading of published files: format, compression and encryption are taken from their names.

RDF files that may be deeply nested are first parsed by a child process, because a parser's stack
overflow would end the process.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused, KgbenchError, PublicationRefused
from kgbench.importers.rdf import parsing
from kgbench.importers.rdf.sources import ZstandardFrames

PACKINGS = {".zst": "application/zstd", ".gz": "application/gzip", ".zip": "application/zip"}
FORMATS = {
    ".nq": "application/n-quads",
    ".trig": "application/trig",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".jsonld": "application/ld+json",
}
_CHUNK = 1 << 20
_FEW_TERMS = 100  # levels of nesting that fit any stack
# pyoxigraph raises MemoryError for a term of more than 16 MiB.
_DAMAGED = (OSError, EOFError, ValueError, SyntaxError, MemoryError, zlib.error)
_LIBRARIES = ("zstandard", "zlib", "_lzma", "pyzipper")  # their errors have no common base class


class Unreadable(KgbenchError):
    """A file does not have the format that its name says."""


def parts(path: Path) -> tuple[str, str]:
    """Return the format and the packing in a file's name, each with its dot or empty.

    >>> parts(Path("data/run-0199.nq.zst"))
    ('.nq', '.zst')
    >>> parts(Path("catalog.ttl"))
    ('.ttl', '')
    """
    last = path.suffix
    if last in PACKINGS:
        return Path(path.stem).suffix, last
    return last, ""


def media(name: str) -> str:
    """Return the media type of a published RDF file by its name, without its packing.

    >>> media("data/run-0199.nq.zst")
    'application/n-quads'
    """
    return FORMATS[parts(Path(name))[0]]


@contextmanager
def opened(path: Path, password: str | None) -> Iterator[IO[bytes]]:
    """Open a file for reading its unpacked content.

    Raises :class:`Unreadable` if it is damaged, and :class:`~kgbench.errors.PublicationRefused` if
    it is encrypted and no password is given.
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
        if isinstance(error, (RuntimeError, zipfile.BadZipFile)):  # wrong password; not an archive
            raise Unreadable(f"cannot be unpacked: {error}") from error
        raise


def _unpacked(file: IO[bytes], packing: str, password: str | None) -> Any:
    if packing == ".gz":
        return gzip.GzipFile(fileobj=file)
    if packing == ".zst":
        return io.BufferedReader(ZstandardFrames(file), _CHUNK)
    if packing == ".zip":
        import pyzipper

        if password is None:
            raise PublicationRefused("is encrypted, but no password is given")
        archive = pyzipper.AESZipFile(file)
        archive.setpassword(password.encode("utf-8"))
        if not archive.namelist():
            raise Unreadable("cannot be read: the archive is empty")
        return archive.open(archive.namelist()[0])
    return file


def refuse_large(paths: Iterable[Path], password: str | None, most: int) -> int:
    """Return the unpacked size of files (bytes), except of those that cannot be unpacked.

    Raises :class:`~kgbench.errors.PublicationRefused` if it is more than ``most``.
    """
    size = 0
    for path in paths:
        with suppress(Unreadable, PublicationRefused), opened(path, password) as content:
            while size <= most and (chunk := content.read(_CHUNK)):
                size += len(chunk)
    if size > most:
        raise PublicationRefused(
            f"the data unpack to more than {most} bytes, so they are not checked: raise --most if "
            "you trust their publisher"
        )
    return size


def refuse_too_deep(path: Path, password: str | None) -> None:
    """Raise :class:`Unreadable` for a file that is nested too deeply for parsers."""
    if not _may_nest(path, password):
        return
    with opened(path, password) as content:
        try:
            parsing.count_quads(content, parsing.FORMATS[parts(path)[0]])
        except ImportRefused as error:
            raise Unreadable(f"cannot be read: {error}") from error


def load(store: ox.Store, path: Path, password: str | None, graph: ox.NamedNode) -> None:
    """Load an RDF file into ``store``, triples into ``graph``; raises like :func:`opened`."""
    kind = _kind(path)
    refuse_too_deep(path, password)
    with opened(path, password) as content:
        if kind.supports_datasets:
            store.bulk_load(content, kind)
        else:
            store.bulk_load(content, kind, to_graph=graph)


def quads(path: Path) -> list[ox.Quad]:
    """Return the statements of an RDF file in their original form; raises like :func:`opened`."""
    kind = _kind(path)
    refuse_too_deep(path, None)
    with opened(path, None) as content:
        return list(ox.parse(content, kind))


def _may_nest(path: Path, password: str | None) -> bool:
    """Return whether parsing may need a deep stack: for JSON-LD, and for nested triple terms."""
    if parts(path)[0] == ".jsonld":
        return True
    terms = 0
    with opened(path, password) as content:
        while terms <= _FEW_TERMS and (chunk := content.read(_CHUNK)):
            terms += chunk.count(b"<<")  # counts texts as well, which is harmless
    return terms > _FEW_TERMS


def _kind(path: Path) -> ox.RdfFormat:
    kind = ox.RdfFormat.from_media_type(FORMATS[parts(path)[0]])
    assert kind is not None
    return kind
