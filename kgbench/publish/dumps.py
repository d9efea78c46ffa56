# SPDX-License-Identifier: Apache-2.0
"""Published files: dumps are written as N-Quads to compressed or encrypted files, and read again.

Dumps can be concatenated: the dump of everything consists of the dumps of the parts
(for compressed streams see RFC 1952, section 2.2, and RFC 8878, section 3.1). Format, compression
and encryption of a file are taken from its name. RDF files that may be deeply nested are first
parsed by a child process, because a parser's stack overflow would end the process.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.errors import ImportRefused, KgbenchError, PublicationRefused, pip_install
from kgbench.files import ZstandardFrames
from kgbench.importers.rdf import parsing
from kgbench.publish.folder import Dump, Folder, Manifest, checksum

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
_END = b" .\n"  # of a statement; comments end otherwise, and literals have no line ends
_SHORTEST_PASSWORD = 8
# Level 12 of Zstandard takes twice the time of level 7 for files that are a tenth smaller.
_GZIP_LEVEL, _ZSTD_LEVEL = 6, 7


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


class Packing(NamedTuple):
    """The packing of dumps: ``zstd`` or ``gzip``, or encrypted archives if a password is set.

    ``comment`` is the first line of every dump: the canaries of its content.
    """

    compression: str
    password: str | None
    comment: str

    @property
    def suffix(self) -> str:
        """The last suffix of every dump's file name."""
        if self.password is not None:
            return ".zip"
        return {"zstd": ".zst", "gzip": ".gz"}[self.compression]

    @property
    def media(self) -> str:
        """The media type of the packing."""
        return PACKINGS[self.suffix]


class _Stream(Protocol):
    def write(self, data: Any, /) -> object: ...

    def close(self) -> object: ...


class DumpWriter:
    """Writes one dump, at ``path`` in the folder."""

    def __init__(self, folder: Folder, path: str, packing: Packing) -> None:
        self._folder = folder
        self._path = path + packing.suffix
        self._content = hashlib.sha256()
        self._triples = 0
        self._unfinished = folder.work(self._path.replace("/", "-"))
        self._file = self._unfinished.open("wb")
        self._stream, self._archive = _stream(self._file, path.rpartition("/")[2], packing)

    def write(self, data: bytes) -> None:
        """Append whole lines to the dump."""
        self._content.update(data)
        self._triples += data.count(_END)
        self._stream.write(data)

    def finish(self, earlier: Dump | None) -> Dump:
        """Move the dump to its path; an existing dump with the same content is kept.

        ``earlier`` is the dump at this path in the last publication.
        """
        self._stream.close()
        if self._archive is not None:
            self._archive.close()
        self._file.close()
        content = self._content.hexdigest()
        target = self._folder.path / self._path
        if earlier is not None and _is_unchanged(target, earlier, self._path, content):
            # Needed for archives: encryption gives other bytes each time.
            self._unfinished.unlink()
            self._folder.written[self._path] = earlier.sha256
            return earlier
        sha256, size = self._folder.adopt(self._path, self._unfinished)
        return Dump(self._path, size, sha256, content, self._triples)


def _stream(file: IO[bytes], name: str, packing: Packing) -> tuple[_Stream, Any]:
    if packing.password is not None:
        import pyzipper
        from pyzipper.zipfile_aes import AESZipInfo

        archive = pyzipper.AESZipFile(
            file, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
        )
        archive.setpassword(packing.password.encode("utf-8"))
        member = AESZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        member.compress_type = pyzipper.ZIP_DEFLATED
        return archive.open(member, "w", force_zip64=True), archive
    if packing.compression == "gzip":
        return gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0), None
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False), None


def as_bytes(quads: list[ox.Quad]) -> bytes:
    """Serialise quads as N-Quads."""
    out = io.BytesIO()
    ox.serialize(quads, out, ox.RdfFormat.N_QUADS)
    return out.getvalue()


def join(folder: Folder, path: str, parts: list[Dump], packing: Packing, earlier: Manifest) -> Dump:
    """Write the dump of everything from those of its parts; an unchanged one is kept."""
    content = hashlib.sha256("".join(part.content for part in parts).encode()).hexdigest()
    name = path + packing.suffix
    target = folder.path / name
    for known in (dump for version in earlier.versions[-1:] for dump in version.dumps):
        if _is_unchanged(target, known, name, content):
            folder.written[name] = known.sha256
            return known
    if packing.password is not None:
        writer = DumpWriter(folder, path, packing)
        for part in parts:
            with opened(folder.path / part.path, packing.password) as unpacked:
                while chunk := unpacked.read(_CHUNK):
                    writer.write(chunk)
        dump = writer.finish(None)
        sha256, size = dump.sha256, dump.bytes
    else:
        unfinished = folder.work(name.replace("/", "-"))
        with unfinished.open("wb") as out:
            for part in parts:
                with (folder.path / part.path).open("rb") as source:
                    shutil.copyfileobj(source, out, _CHUNK)
        sha256, size = folder.adopt(name, unfinished)
    return Dump(name, size, sha256, content, sum(part.triples for part in parts))


def _is_unchanged(target: Path, earlier: Dump, path: str, content: str) -> bool:
    """Return whether the file at ``target`` is the earlier dump, and has this content."""
    return (
        (earlier.path, earlier.content) == (path, content)
        and target.is_file()
        and checksum(target) == (earlier.sha256, earlier.bytes)
    )


def checked_password(variable: str, password: str | None) -> str:
    """Check the password of archives, read from the environment ``variable``.

    Raises :class:`~kgbench.errors.PublicationRefused` if it is missing or too short.
    """
    if password is None or len(password) < _SHORTEST_PASSWORD:
        raise PublicationRefused(
            f"--encrypt needs a password of at least {_SHORTEST_PASSWORD} characters in {variable}"
        )
    return password


def check_compression(name: str) -> None:
    """Check that dumps can be compressed by the method ``name``.

    Raises :class:`~kgbench.errors.PublicationRefused` if a package is missing.
    """
    if name == "zstd" and find_spec("zstandard") is None:
        raise PublicationRefused(
            f"zstandard is not installed: {pip_install('kgbench[publish]')}, or use --compress gzip"
        )
