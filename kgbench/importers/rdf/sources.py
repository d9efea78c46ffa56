# SPDX-License-Identifier: Apache-2.0
"""Fetches and unpacks published results: a file, an address, or the folder of a published site.

A site has checksums of its dumps twice: in ``SHA256SUMS`` and in its DCAT catalogue. What is read
of it must agree with both. Files are plain, compressed, or in an (encrypted) zip archive. What is
in a file is unpacked to a place of its own before any parser sees it, and never more of it than
:data:`MAX_BYTES`, so that a small file cannot fill a disk.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

import pyoxigraph as ox

from kgbench.datasets import damage
from kgbench.errors import ImportRefused
from kgbench.importers.rdf.parsing import FORMATS, RdfFile, stage
from kgbench.net import web
from kgbench.net.limits import LedAway, Limits, Misbehaviour, TooMuch
from kgbench.vocab import DCAT, SPDX

if TYPE_CHECKING:
    from kgbench.net.client import Response

MAX_DOWNLOAD = 4 << 30
"""The most that is fetched from one address (bytes)."""

SUMS = "SHA256SUMS"
CATALOGUE = "catalog.ttl"
DUMPS = tuple(f"data/all.nq{end}" for end in (".zst", ".gz", ".zip", ""))

_TIMEOUT = 60.0  # seconds without a byte
_PATIENCE = 600.0  # seconds for a file, and one more for each _SLOWEST bytes of it
_SLOWEST = 10_000
_LARGEST_NOTE = 64 << 20  # bytes of SHA256SUMS and of the catalogue
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)

MAX_BYTES = 8 << 30
"""The most that is unpacked of all that one import names (bytes)."""

MAX_MEMBERS = 10_000
"""The most files that an archive may have."""


_CHUNK = 1 << 20
_ENCRYPTED = 0x1  # general purpose bit 0 of a zip member
_COMPRESSED = (".gz", ".zst")

Fetch = Callable[[str, Path, int], None]
"""Puts the file of a site at a relative path to a place; of at most so many bytes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that was imported: its name or address, and the SHA-256 (hex) of its bytes."""

    name: str
    digest: str


@dataclass(slots=True)
class Gathered:
    """Documents to be parsed, and the files that they came in."""

    files: list[RdfFile] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


def gather(source: str, scratch: Path, password: str | None = None) -> Gathered:
    """The documents that ``source`` names, unpacked below ``scratch``.

    ``source`` is the path of a file or of a published folder, or an address (http or https) of
    either. Raises :class:`ImportRefused`.
    """
    for folder in ("fetched", "unpacked", "notes"):
        (scratch / folder).mkdir(exist_ok=True)
    if "://" in source:
        return _from_web(source, scratch, password)
    path = Path(source)
    if path.is_dir():

        def copy(relative: str, target: Path, most: int) -> None:
            _copy(path / relative, target, most)

        return _site(path.name or "folder", copy, scratch, password)
    if not path.exists():
        raise ImportRefused(f"{source}: there is no such file")
    return _file(path, path.name, scratch, password)


def _file(path: Path, name: str, scratch: Path, password: str | None) -> Gathered:
    found = unpack(path, name, scratch / "unpacked", password)
    return Gathered(found, [Origin(name, sha256(path))])


def _copy(path: Path, target: Path, most: int) -> None:
    if not path.is_file():
        raise FileNotFoundError(path)
    if path.stat().st_size > most:
        raise ImportRefused(f"{path.name}: larger than {most} bytes, the most that is read")
    target.write_bytes(path.read_bytes())


# --- sites -----------------------------------------------------------------------------------


def _site(name: str, fetch: Fetch, scratch: Path, password: str | None) -> Gathered:
    """The dump of everything in a published site, checked against its checksums."""
    notes = scratch / "notes"
    try:
        fetch(SUMS, notes / SUMS, _LARGEST_NOTE)
        fetch(CATALOGUE, notes / CATALOGUE, _LARGEST_NOTE)
    except FileNotFoundError:
        raise ImportRefused(
            f"{name}: no result set that kgbench published: it has no {SUMS} or no {CATALOGUE}; "
            f"name a file"
        ) from None
    sums = _sums(notes / SUMS, name)
    _check(notes / CATALOGUE, sums.get(CATALOGUE), f"{name}/{CATALOGUE}")
    dump = next((each for each in DUMPS if each in sums), None)
    if dump is None:
        raise ImportRefused(f"{name}: {SUMS} lists no dump of everything ({DUMPS[0]})")
    place = _numbered(scratch / "fetched")
    try:
        fetch(dump, place, MAX_DOWNLOAD)
    except FileNotFoundError:
        raise ImportRefused(f"{name}: {dump} is in {SUMS}, but not there") from None
    _check(place, sums[dump], f"{name}/{dump}")
    for stated in _stated(notes / CATALOGUE, dump, scratch):
        _check(place, stated, f"{name}/{dump} (by {CATALOGUE})")
    return _file(place, f"{name}/{dump}", scratch, password)


def _sums(path: Path, name: str) -> dict[str, str]:
    found = {}
    for line in path.read_text("utf-8", errors="replace").splitlines():
        said = _LINE.fullmatch(line)
        if said is None:
            raise ImportRefused(f"{name}/{SUMS}: a line is no checksum with a name: {line[:80]!r}")
        found[said.group(2).removeprefix("./")] = said.group(1)
    return found


def _check(path: Path, expected: str | None, name: str) -> None:
    if expected is None:
        raise ImportRefused(f"{name}: {SUMS} has no checksum of it")
    if sha256(path) != expected:
        raise ImportRefused(f"{name}: the checksum is another one: fetch it again")


def _stated(catalogue: Path, dump: str, scratch: Path) -> list[str]:
    """The checksums that the DCAT catalogue states of a dump; it must state one."""
    folder = tempfile.mkdtemp(dir=scratch / "notes")  # each site has a catalogue of its own
    staged = stage([RdfFile(catalogue.name, "Turtle", catalogue)], Path(folder))

    def values(subject: Any, predicate: str) -> list[Any]:
        found = staged.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in found]

    stated = [
        str(value.value)
        for quad in staged.quads_for_pattern(None, ox.NamedNode(DCAT.downloadURL), None)
        if str(getattr(quad.object, "value", "")).endswith(f"/{dump}")
        for checksum in values(quad.subject, SPDX.checksum)
        for value in values(checksum, SPDX.checksumValue)
    ]
    if not stated:
        raise ImportRefused(f"{catalogue.name} states no checksum of {dump}")
    return stated


# --- addresses -------------------------------------------------------------------------------


def _from_web(url: str, scratch: Path, password: str | None) -> Gathered:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ImportRefused(f"{_shown(url)}: only http and https addresses are fetched")
    last = unquote(PurePosixPath(parts.path).name)
    if is_rdf(last) or last.lower().endswith(".zip"):
        place = _numbered(scratch / "fetched")
        try:
            fetch(url, place, MAX_DOWNLOAD, follow=True)
        except FileNotFoundError:
            raise ImportRefused(f"{_shown(url)}: not found (404)") from None
        return _file(place, _shown(url), scratch, password)
    root = url if parts.path.endswith("/") else f"{url}/"

    def of_site(relative: str, target: Path, most: int) -> None:
        fetch(urljoin(root, quote(relative)), target, most, follow=True)

    return _site(_shown(root).rstrip("/"), of_site, scratch, password)


def fetch(url: str, target: Path, most: int, *, follow: bool, patience: float = _PATIENCE) -> None:
    """Put what is at an address into a file, at most ``most`` bytes.

    ``patience`` is the most seconds, and one more for each 10,000 bytes; without ``follow`` no
    redirect is followed. Raises :class:`FileNotFoundError` for a 404, and
    :class:`~kgbench.errors.ImportRefused`.
    """
    limits = Limits(most, most, patience, _SLOWEST)
    try:
        with web.request(url, limits, idle=min(_TIMEOUT, patience), follow=follow) as answer:
            _save(answer, url, target)
    except FileNotFoundError:
        raise
    except LedAway as error:
        raise ImportRefused(str(error)) from None
    except TooMuch:
        raise ImportRefused(f"{_shown(url)}: larger than {most} bytes: not fetched") from None
    except Misbehaviour as error:
        raise ImportRefused(f"{_shown(url)}: {error}") from None
    except OSError as error:
        said = " ".join(str(error).split())
        raise ImportRefused(f"{_shown(url)} cannot be fetched: {said}") from error


def _save(answer: Response, url: str, target: Path) -> None:
    if answer.status == HTTPStatus.NOT_FOUND:
        raise FileNotFoundError(url)
    if answer.status != HTTPStatus.OK:
        raise ImportRefused(f"{_shown(url)} cannot be fetched: {answer.status} {answer.reason}")
    with target.open("wb") as out:
        out.writelines(answer.pieces())


def _shown(url: str) -> str:
    """An address as it is told and recorded: without names, passwords, queries."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


# --- files -----------------------------------------------------------------------------------


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
    target = _numbered(scratch)
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


def _numbered(folder: Path) -> Path:
    """The next path in a folder whose files are numbered."""
    return folder / f"{len(list(folder.iterdir())):05d}"
