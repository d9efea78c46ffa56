# SPDX-License-Identifier: Apache-2.0
"""Where published results are taken from: a file, an address, or the folder of a published site.

A site has checksums of its dumps twice: in ``SHA256SUMS`` and in its DCAT catalogue. What is read
of it must agree with both.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers import rdf_files
from kgbench.importers.rdf import Origin
from kgbench.importers.rdf_files import RdfFile
from kgbench.importers.rdf_staging import stage
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

Fetch = Callable[[str, Path, int], None]
"""Puts the file of a site at a relative path to a place; of at most so many bytes."""


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
    found = rdf_files.unpack(path, name, scratch / "unpacked", password)
    return Gathered(found, [Origin(name, rdf_files.sha256(path))])


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
    place = scratch / "fetched" / f"{len(list((scratch / 'fetched').iterdir())):05d}"
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
    if rdf_files.sha256(path) != expected:
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
    if rdf_files.is_rdf(last) or last.lower().endswith(".zip"):
        place = scratch / "fetched" / f"{len(list((scratch / 'fetched').iterdir())):05d}"
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
