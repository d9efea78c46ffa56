# SPDX-License-Identifier: Apache-2.0
"""Dumps: quads as N-Quads and TriG, written as they come, compressed or encrypted.

All formats can be joined: the dump of everything is the dumps of its parts, one after the other
(compressed streams may be concatenated: RFC 1952, section 2.2; RFC 8878, section 3.1).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.publish.folder import Folder, checksum
from kgbench.publish.manifest import Dump
from kgbench.vocab import PREFIXES, RDF, XSD

_KIND = re.compile(
    r".*/(case|claims|leaderboard|metric|model|pass|run|suite|task|task-class|text)/"
)
_LAST = re.compile(r".*/([a-z][a-z-]*[a-z])[/#]+")
_UNNAMED = frozenset((str(XSD.string), str(RDF.langString)))  # the types that Turtle leaves out
_QUADS_AT_ONCE = 20_000
_CHUNK = 1 << 20
_SHORTEST_PASSWORD = 8
_GZIP_LEVEL, _ZSTD_LEVEL = 6, 12
MEDIA = {
    "nq": "application/n-quads",
    "trig": "application/trig",
    "ttl": "text/turtle",  # of versions before December 2026
    "jsonld": "application/ld+json",
    "nt": "application/n-triples",
}


class Packing(NamedTuple):
    """How dumps are packed: ``zstd``, ``gzip``, or as encrypted archives where there is a password.

    ``comment`` is the first line of every dump, the canary of what is in it.
    """

    compression: str
    password: str | None
    comment: str

    @property
    def suffix(self) -> str:
        """The end of the name of every dump."""
        if self.password is not None:
            return ".zip"
        return {"zstd": ".zst", "gzip": ".gz"}[self.compression]

    @property
    def media(self) -> str:
        """The media type of the packing."""
        return {
            ".zst": "application/zstd",
            ".gz": "application/gzip",
            ".zip": "application/zip",
        }[self.suffix]


def kind(path: str, packing: Packing) -> str:
    """The syntax of a file by its name, without that of its packing: a key of :data:`MEDIA`."""
    return path.removesuffix(packing.suffix).rpartition(".")[2]


class _Stream(Protocol):
    def write(self, data: Any, /) -> object: ...

    def close(self) -> object: ...


class Writer:
    """One dump that is being written, at ``path`` in the folder."""

    def __init__(self, folder: Folder, path: str, packing: Packing) -> None:
        self._folder = folder
        self._path = path + packing.suffix
        self._content = hashlib.sha256()
        self._unfinished = folder.work(self._path.replace("/", "-"))
        self._file = self._unfinished.open("wb")
        self._stream, self._archive = _stream(self._file, path.rpartition("/")[2], packing)

    def write(self, data: bytes) -> None:
        """Add to the dump."""
        self._content.update(data)
        self._stream.write(data)

    def finish(self, earlier: Dump | None) -> Dump:
        """Put the dump in its place; one with the same content stays as it is.

        ``earlier`` is the dump that stands there, as the last publication recorded it.
        """
        self._stream.close()
        if self._archive is not None:
            self._archive.close()
        self._file.close()
        content = self._content.hexdigest()
        place = self._folder.path / self._path
        if earlier is not None and _stands(place, earlier, self._path, content):
            # An archive encrypts the same content differently each time.
            self._unfinished.unlink()
            self._folder.keep({self._path: earlier.sha256})
            return earlier
        sha256, size = self._folder.adopt(self._path, self._unfinished)
        return Dump(self._path, size, sha256, content)


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


def _decrypted(path: Path, password: str) -> Iterator[bytes]:
    """The content of an encrypted dump, piece by piece."""
    import pyzipper

    with pyzipper.AESZipFile(path) as archive:
        archive.setpassword(password.encode("utf-8"))
        with archive.open(archive.namelist()[0]) as content:
            while chunk := content.read(_CHUNK):
                yield chunk


class Dumping:
    """The dumps of one part of the store, in N-Quads and TriG, written side by side."""

    def __init__(self, folder: Folder, name: str, packing: Packing) -> None:
        self.triples = 0
        self._waiting: list[ox.Quad] = []
        self._writers = {
            form: Writer(folder, f"data/{name}.{form}", packing) for form in ("nq", "trig")
        }
        for writer in self._writers.values():
            writer.write(f"# {packing.comment}\n".encode())

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """Add the quads about one subject."""
        self._waiting.extend(quads)
        if len(self._waiting) >= _QUADS_AT_ONCE:
            self._flush()

    def finish(self, earlier: dict[str, Dump]) -> list[Dump]:
        """Put the dumps in their places."""
        self._flush()
        done = []
        for form, writer in self._writers.items():
            known = (one for path, one in earlier.items() if f".{form}." in path)
            done.append(writer.finish(next(known, None)))
        return done

    def _flush(self) -> None:
        if not self._waiting:
            return
        self.triples += len(self._waiting)
        for form, writer in self._writers.items():
            writer.write(as_bytes(self._waiting, form))
        self._waiting.clear()


def as_bytes(quads: list[ox.Quad], form: str) -> bytes:
    """Quads in a format; those without graphs get each triple once."""
    if form == "ttl":
        return turtle(quads)
    items: Iterable[Any] = quads
    if form == "nt":
        items = dict.fromkeys(quad.triple for quad in quads)
    out = io.BytesIO()
    kind = ox.RdfFormat.from_extension(form)
    assert kind is not None
    ox.serialize(items, out, kind, prefixes=dict(PREFIXES) if form == "trig" else None)
    return out.getvalue()


def turtle(
    quads: list[ox.Quad], iri: str | None = None, *, prefixes: dict[str, str] | None = None
) -> bytes:
    """A Turtle document, with a prefix for each place that things are named below, and no other.

    The empty prefix is for what is named below ``iri``, the document's own. Such documents can be
    joined. ``prefixes`` takes the place of those that would be chosen.
    """
    triples = dict.fromkeys(quad.triple for quad in quads)
    if prefixes is None:
        named = Prefixes(iri)
        named.add(quads)
        prefixes = named.chosen()
    out = io.BytesIO()
    ox.serialize(triples, out, ox.RdfFormat.TURTLE, prefixes=prefixes)
    return out.getvalue()


class Prefixes:
    """Chooses the prefixes of a Turtle document, whose statements it sees piece by piece."""

    def __init__(self, iri: str | None = None) -> None:
        self._prefixes = {} if iri is None else {"": f"{iri}#"}
        self._spaces: Counter[str] = Counter()

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """See some of the statements."""
        named: Counter[str] = Counter()
        vocabulary: dict[str, None] = {}
        for subject, predicate, value, _ in quads:
            name = predicate.value
            if name != RDF.type:  # which is written as "a"
                vocabulary[name] = None
                named[name] += 1
            if isinstance(subject, ox.NamedNode):
                named[subject.value] += 1
            if isinstance(value, ox.NamedNode):
                named[value.value] += 1
            elif isinstance(value, ox.Literal) and (kind := value.datatype.value) not in _UNNAMED:
                vocabulary[kind] = None
        for name in vocabulary:
            self._prefixes.update(_prefix(name))
        for name, times in named.items():
            self._spaces[_space(name)] += times

    def chosen(self) -> dict[str, str]:
        """The prefixes for what was seen."""
        prefixes = dict(self._prefixes)
        known = set(prefixes.values())
        for space in sorted(self._spaces):
            usual = _prefix(space)
            if usual and usual[0][1] == space:
                prefixes.update(usual)
            elif space and self._spaces[space] > 1 and space not in known:  # a URN has none
                prefixes[_unused(space, prefixes)] = space
        return prefixes


def _space(iri: str) -> str:
    """The part of an IRI up to its last slash or hash."""
    return iri[: max(iri.rfind("/"), iri.rfind("#")) + 1]


def _unused(space: str, prefixes: Mapping[str, str]) -> str:
    """A prefix for what is named below ``space``, by its kind: ``case``, ``metric2`` ..."""
    found = _KIND.match(space) or _LAST.fullmatch(space)
    name = "n" if found is None else found[1]
    numbers = (f"{name}{number}" for number in count(2))
    return next(one for one in chain((name,), numbers) if one not in (*prefixes, *PREFIXES))


@lru_cache(maxsize=10_000)
def _prefix(iri: str) -> tuple[tuple[str, str], ...]:
    """The common prefix for a property or class, with its namespace."""
    fitting = [(name, str(space)) for name, space in PREFIXES.items() if iri.startswith(space)]
    return tuple(sorted(fitting, key=lambda pair: -len(pair[1]))[:1])


def join(
    folder: Folder, path: str, parts: list[Dump], packing: Packing, earlier: Dump | None
) -> Dump:
    """The dump of everything, from those of its parts."""
    content = hashlib.sha256("".join(part.content for part in parts).encode()).hexdigest()
    name = path + packing.suffix
    place = folder.path / name
    if earlier is not None and _stands(place, earlier, name, content):
        folder.keep({name: earlier.sha256})
        return earlier
    if packing.password is not None:
        writer = Writer(folder, path, packing)
        for part in parts:
            for chunk in _decrypted(folder.path / part.path, packing.password):
                writer.write(chunk)
        made = writer.finish(None)
        sha256, size = made.sha256, made.bytes
    else:
        unfinished = folder.work(name.replace("/", "-"))
        with unfinished.open("wb") as out:
            for part in parts:
                with (folder.path / part.path).open("rb") as one:
                    shutil.copyfileobj(one, out, _CHUNK)
        sha256, size = folder.adopt(name, unfinished)
    return Dump(name, size, sha256, content)


def _stands(place: Path, earlier: Dump, path: str, content: str) -> bool:
    """Whether the file at ``place`` is the earlier dump, and that one has this content."""
    return (
        (earlier.path, earlier.content) == (path, content)
        and place.is_file()
        and checksum(place) == (earlier.sha256, earlier.bytes)
    )


def checked_password(variable: str, found: str | None) -> str:
    """The password of archives, which the environment ``variable`` should hold.

    Raises :class:`~kgbench.errors.PublicationRefused` where there is none, or a poor one.
    """
    if found is None or len(found) < _SHORTEST_PASSWORD:
        raise PublicationRefused(
            f"--encrypt needs a password of at least {_SHORTEST_PASSWORD} characters in {variable}"
        )
    return found


def check_compression(name: str) -> None:
    """Nothing where dumps can be compressed so.

    Raises :class:`~kgbench.errors.PublicationRefused` where a package is missing.
    """
    if name == "zstd" and find_spec("zstandard") is None:
        raise PublicationRefused(
            "zstandard is not installed: pip install 'kgbench[publish]', or use --compress gzip"
        )
