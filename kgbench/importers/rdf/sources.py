# SPDX-License-Identifier: Apache-2.0
"""Sources of published results: a file, a URL, or the folder of a published site.

The dump of a site must have the checksum in its ``SHA256SUMS``. Files are plain, compressed, or
members of a zip archive, which may be encrypted. They are unpacked, within a budget, to a scratch
folder before they are parsed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from kgbench import files
from kgbench.errors import ImportRefused, pip_install
from kgbench.files import ZstandardFrames
from kgbench.importers import archives
from kgbench.importers.rdf.parsing import FORMATS, RdfFile
from kgbench.net import web
from kgbench.net.limits import Budget

SUMS = "SHA256SUMS"
DUMPS = tuple(f"data/all.nq{end}" for end in (".zst", ".gz", ".zip", ""))

_MAX_SUMS = 64 << 20  # bytes of SHA256SUMS
_SUMS_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)

MAX_BYTES = 8 << 30
"""The default budget of one import (bytes)."""

MAX_SECONDS = 3_600.0
"""The default budget of one import (seconds)."""

_CHUNK = 1 << 20
_COMPRESSED = (".gz", ".zst")

Fetch = Callable[[str, Path, int], None]
"""Copies a file of a site: relative path, target, and the most bytes it may have.

Raises :class:`FileNotFoundError` if the site does not have the file.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """An imported file: its name or URL, and the SHA-256 (hex) of its bytes."""

    name: str
    digest: str


@dataclass(slots=True)
class Documents:
    """The documents of one or more sources, and the files that contained them."""

    files: list[RdfFile] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


def fetch_documents(
    source: str, scratch: Path, password: str | None = None, budget: Budget | None = None
) -> Documents:
    """Fetch ``source`` and unpack its documents below ``scratch``, within ``budget``.

    ``source`` is the path or the URL (http or https) of a file or of a published folder.
    ``password`` opens an encrypted archive. Raises :class:`ImportRefused`.
    """
    budget = budget or Budget(MAX_BYTES, MAX_SECONDS)
    for folder in ("fetched", "unpacked"):
        (scratch / folder).mkdir(exist_ok=True)
    if "://" in source:
        return _from_web(source, scratch, password, budget)
    path = Path(source)
    if path.is_dir():

        def fetch_file(relative: str, target: Path, max_bytes: int) -> None:
            _copy(path / relative, target, min(max_bytes, budget.bytes))

        return _site(path.name or "folder", fetch_file, scratch, password, budget)
    if not path.exists():
        raise ImportRefused(f"{source}: no such file")
    return _from_file(path, path.name, scratch, password, budget)


def _from_file(
    path: Path, name: str, scratch: Path, password: str | None, budget: Budget
) -> Documents:
    documents = unpack(path, name, scratch / "unpacked", password, budget)
    return Documents(documents, [Origin(name, sha256(path))])


def _copy(path: Path, target: Path, max_bytes: int) -> None:
    if not path.is_file():
        raise FileNotFoundError(path)
    if path.stat().st_size > max_bytes:
        raise ImportRefused(f"{path.name}: larger than {max_bytes} bytes, the most that is read")
    shutil.copyfile(path, target)


# --- sites -----------------------------------------------------------------------------------


def _site(
    name: str, fetch: Fetch, scratch: Path, password: str | None, budget: Budget
) -> Documents:
    """Fetch the full dump of a published site and verify its checksum."""
    listed = _next_path(scratch / "fetched")
    try:
        fetch(SUMS, listed, _MAX_SUMS)
    except FileNotFoundError:
        raise ImportRefused(
            f"{name}: not a site that kgbench published: {SUMS} is missing; name a file"
        ) from None
    sums = {}
    for line in listed.read_text("utf-8", errors="replace").splitlines():
        match = _SUMS_LINE.fullmatch(line)
        if match is None:
            what = f"a line is not a checksum with a file name: {line[:80]!r}"
            raise ImportRefused(f"{name}/{SUMS}: {what}")
        sums[match.group(2).removeprefix("./")] = match.group(1)
    dump = next((candidate for candidate in DUMPS if candidate in sums), None)
    if dump is None:
        raise ImportRefused(f"{name}: {SUMS} does not list a full dump ({DUMPS[0]})")
    path = _next_path(scratch / "fetched")
    try:
        fetch(dump, path, budget.bytes)
    except FileNotFoundError:
        raise ImportRefused(f"{name}: {dump} is in {SUMS}, but does not exist") from None
    if sha256(path) != sums[dump]:
        raise ImportRefused(f"{name}/{dump}: the checksum does not match: fetch it again")
    return _from_file(path, f"{name}/{dump}", scratch, password, budget)


# --- addresses -------------------------------------------------------------------------------


def _from_web(url: str, scratch: Path, password: str | None, budget: Budget) -> Documents:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ImportRefused(f"{_public_url(url)}: only http and https addresses are fetched")
    last = unquote(PurePosixPath(parts.path).name)
    if is_rdf(last) or last.lower().endswith(".zip"):
        path = _next_path(scratch / "fetched")
        try:
            web.download(url, path, budget)
        except FileNotFoundError:
            raise ImportRefused(f"{_public_url(url)}: not found (404)") from None
        return _from_file(path, _public_url(url), scratch, password, budget)
    root = url if parts.path.endswith("/") else f"{url}/"

    def fetch_file(relative: str, target: Path, max_bytes: int) -> None:
        web.download(urljoin(root, quote(relative)), target, budget, max_bytes)

    return _site(_public_url(root).rstrip("/"), fetch_file, scratch, password, budget)


def _public_url(url: str) -> str:
    """Strip user, password, query and fragment from a URL for messages and the record."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


# --- files -----------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_rdf(name: str) -> bool:
    """Return whether the extension of a file name is that of RDF, compressed or not."""
    return _syntax(name) is not None


def unpack(
    path: Path,
    name: str,
    scratch: Path,
    password: str | None = None,
    budget: Budget | None = None,
) -> list[RdfFile]:
    """Unpack the documents in the file at ``path`` into the folder ``scratch``, within ``budget``.

    ``name`` is the file's name in messages; its extension determines the format. ``password`` opens
    an encrypted archive. Raises :class:`ImportRefused` if the file is missing, damaged, not RDF,
    contains no RDF, or unpacks to more than the budget.
    """
    budget = budget or Budget(MAX_BYTES, MAX_SECONDS)
    last = PurePosixPath(name).name
    try:
        if last.lower().endswith(".zip"):
            return _unpack_members(path, name, scratch, password, budget)
        syntax = _syntax(last)
        if syntax is None:
            raise ImportRefused(
                f"{name}: the name does not show which RDF format this is: "
                f"it should end in {', '.join(FORMATS)}, perhaps with .gz, .zst or .zip after it"
            )
        with path.open("rb") as stream:
            return [_unpack_document(stream, name, syntax, scratch, budget)]
    except OSError as error:
        raise ImportRefused(f"{name}: cannot be read: {error.strerror or error}") from error


def _syntax(name: str) -> str | None:
    plain = PurePosixPath(name.lower())
    if plain.suffix in _COMPRESSED:
        plain = plain.with_suffix("")
    return FORMATS.get(plain.suffix)


def _unpack_document(
    stream: IO[bytes], name: str, syntax: str, scratch: Path, budget: Budget
) -> RdfFile:
    """Copy one document into ``scratch``, decompressed if its name ends in .gz or .zst."""
    target = _next_path(scratch)
    try:
        with _decompressed(stream, name) as plain, target.open("wb") as out:
            while chunk := plain.read(_CHUNK):
                budget.spend(len(chunk))
                out.write(chunk)
    except files.errors_of_damage() as error:
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
            f"{pip_install('kgbench[publish]')}, or unpack the file first"
        ) from None
    try:
        yield io.BufferedReader(ZstandardFrames(stream), _CHUNK)
    except zstandard.ZstdError as error:
        raise ImportRefused(f"{name}: damaged ({error}): fetch it again") from error


def _unpack_members(
    path: Path, name: str, scratch: Path, password: str | None, budget: Budget
) -> list[RdfFile]:
    documents = []
    with archives.opened(path, name, password) as archive:
        members = [m for m in archive.infolist() if not m.is_dir()]
        if len(members) > archives.MAX_MEMBERS:
            raise ImportRefused(f"{name}: {len(members)} files are too many for one archive")
        for member in members:
            last = PurePosixPath(member.filename).name
            if (syntax := _syntax(last)) is not None:
                with archives.opened_member(archive, member, name, password) as stream:
                    document = _unpack_document(stream, f"{name}/{last}", syntax, scratch, budget)
                documents.append(document)
    if not documents:
        raise ImportRefused(f"{name}: no RDF file among the {len(members)} in it")
    return documents


def _next_path(folder: Path) -> Path:
    """Return the path of the next file in a folder of numbered files."""
    return folder / f"{len(list(folder.iterdir())):05d}"
