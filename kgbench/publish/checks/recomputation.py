# SPDX-License-Identifier: Apache-2.0
"""Rebuilding of a publication from its dumps, by the code that publishes.

Checksums detect changes only if they were not renewed. Pages, documents, figures and packed dumps
follow from the N-Quads and ``publication.json``, so they are made again and compared.
"""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import KgbenchError, ResourceError
from kgbench.model import Json
from kgbench.pages.snapshot import View
from kgbench.publish import recipe
from kgbench.publish.addresses import Addresses
from kgbench.publish.checks import file_reading
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.claims import PLACE as CLAIMS
from kgbench.publish.folder import STATE, Folder, claim, same
from kgbench.publish.manifest import Manifest
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.recipe import Recipe
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.scrubbing import Scrubber
from kgbench.publish.selection import select_parts
from kgbench.publish.signing import KEYS, SUMS, signed_claim
from kgbench.publish.site import Publishing
from kgbench.secrets.publication_key import PublicationKey

_REMEDY = "Publish again, or restore the file from a copy that you trust."
_SHOWN = 300  # characters of a difference
_LARGE = 50 << 20  # bytes of a file that is not compared line by line
_TOLERANCE = 1e-12
_GRAPHS = (".ttl", ".nt")


def check(published: PublicationFiles, rebuilt_folder: Path, *, alike: bool) -> Iterator[Fault]:
    """Yield the files that differ from the publication rebuilt in ``rebuilt_folder``.

    Unless it was built by the same software (``alike``), only RDF documents are compared, by their
    statements.
    """
    rebuilt = {
        path.relative_to(rebuilt_folder).as_posix(): path
        for path in rebuilt_folder.rglob("*")
        if path.is_file() and STATE not in path.parts
    }
    for name in sorted(rebuilt):
        path = published.files.get(name)
        if name in (SUMS, recipe.FILE):
            continue
        if path is None:
            message = "The file is missing, but the dumps describe its subject."
            yield Fault("recomputed", "", name, message, _REMEDY)
        elif not same(path, rebuilt[name]) and (alike or path.suffix in _GRAPHS):
            message = _difference(path, rebuilt[name], alike=alike)
            if message:
                yield Fault("recomputed", "", name, message, _REMEDY)
    signatures = _signatures(rebuilt)
    own_folders = {name.partition("/")[0] for name in rebuilt if "/" in name}
    # A host may add files of its own, such as CNAME, but they are not part of the publication.
    listed = {match[2] for _, match in published.sums() if match is not None}
    for name in published.files:
        if (
            name not in rebuilt
            and name not in signatures
            and (name in listed or name.partition("/")[0] in own_folders)
        ):
            message = "Nothing in the dumps gives rise to this file."
            yield Fault("recomputed", "", name, message, "Remove it, or publish again.")


def _signatures(rebuilt: Mapping[str, Path]) -> set[str]:
    """Return the files by which a signed publication is signed, which only its signer can make."""
    if not recipe.read(rebuilt[recipe.FILE], Path()).signed:
        return set()
    claims = (name for name in rebuilt if name.startswith(f"{CLAIMS}/"))
    return {KEYS, *map(signed_claim, claims)}


@contextmanager
def rebuilt_publication(published: PublicationFiles) -> Iterator[tuple[Path, bool]]:
    """Rebuild the publication in a temporary folder; also yield whether the software is the same.

    Raises :class:`~kgbench.errors.KgbenchError` if it cannot be rebuilt from the files.
    """
    with tempfile.TemporaryDirectory(prefix="kgbench-check-") as scratch:
        out = Path(scratch) / "site"
        if recipe.FILE not in published.files:
            raise ResourceError("the file is missing")
        loaded = recipe.read(published.files[recipe.FILE], out)
        _publish(published, loaded, Path(scratch) / "store" / "snapshots" / "dumps")
        yield out, loaded.software == recipe.software()


def _publish(published: PublicationFiles, loaded: Recipe, snapshot: Path) -> None:
    snapshot.mkdir(parents=True)
    database = ox.Store(str(snapshot))
    for dump in published.dumps:
        file_reading.load(database, dump, None, ox.NamedNode(f"urn:file:{dump.name}"))
    database.flush()
    del database  # closes it, so that other processes can open it
    settings = replace(loaded.settings, signer=_Unsigned() if loaded.signed else None)
    view = View(snapshot, None, settings.base)
    selected = select_parts(view, settings)
    addresses = _PublishedAddresses(loaded.store, settings.base, runs=selected.runs_of_passes)
    rules = RedactionRules(
        RedactionLevel.NONE, _NoScrubber(), PublicationKey.unkept(), RedactionLevel.NONE
    )
    lock = claim(settings.out)
    try:
        Publishing(
            settings=settings,
            view=view,
            parts=selected,
            progress=lambda *_: None,
            rules=rules,
            addresses=addresses,
            dump_outgoing=_DumpReader(view.database, addresses, rules, published.dumps),
            versions=loaded.versions[:-1],
        ).run()
    finally:
        lock.close()


class _PublishedAddresses(Addresses):
    """Addresses for a database with published IRIs.

    Pages still need the IRIs that things had in the store.
    """

    @property
    def moves(self) -> bool:
        """Return false, because nothing is moved a second time."""
        return False

    def outgoing(self, iri: str) -> str:
        """Return the IRI itself."""
        return iri

    def stored_iri(self, iri: str) -> str:
        """Return the published IRI of a part, which the database has."""
        return self.within(iri)

    def original(self, iri: str) -> str:
        """Return the IRI in the database, which is the published one."""
        return self.published(iri)


class _Unsigned:
    """A replacement for the signer, whose key is unknown; documents still refer to its files."""

    def sign(self, folder: Folder, manifest: Manifest) -> None:
        """Sign nothing."""

    def seal(self, folder: Folder, manifest: Manifest) -> None:
        """Sign nothing."""


class _NoScrubber(Scrubber):
    """A scrubber that changes nothing, because the published texts have been scrubbed."""

    def text(self, value: str) -> str:
        """Return the text itself."""
        return value

    def json(self, value: Json, name: str = "") -> Json:  # noqa: ARG002 - as a scrubber has it
        """Return the value itself."""
        return value

    def revealed(self, iri: str) -> None:  # noqa: ARG002 - as a scrubber has it
        """Return nothing, because no statement is left out a second time."""
        return

    def tells(self, text: str) -> bool:  # noqa: ARG002 - as a scrubber has it
        """Return false, because no text is left out a second time."""
        return False


class _DumpReader(QuadRedactor):
    """Reads the quads of a graph from the dumps, in their order."""

    def __init__(
        self, database: ox.Store, addresses: Addresses, rules: RedactionRules, dumps: list[Path]
    ) -> None:
        super().__init__(database, addresses, rules)
        self._dumps = dumps

    def recorded(self, name: str) -> Iterator[ox.Quad]:
        """Yield the quads of a graph."""
        graph = ox.NamedNode(name)
        for dump in self._dumps:
            with file_reading.opened(dump, None) as content:
                quads: Any = ox.parse(content, ox.RdfFormat.N_QUADS)
                yield from (quad for quad in quads if quad.graph_name == graph)


def _difference(path: Path, rebuilt_path: Path, *, alike: bool) -> str:
    """Describe the difference between a file and its rebuilt version; empty if there is none."""
    if path.suffix in _GRAPHS:
        difference = _statements(path, rebuilt_path)
        if difference or not alike:
            return difference
    if path.suffix == ".json" and _same_json(path, rebuilt_path):
        return ""  # the last digits of sums of doubles depend on the order of rows
    if file_reading.parts(path)[1] or path.stat().st_size > _LARGE:
        return "The content differs from what the N-Quads give."
    text, rebuilt = (
        file.read_text("utf-8", "replace").splitlines() for file in (path, rebuilt_path)
    )
    for number, (line, other) in enumerate(itertools.zip_longest(text, rebuilt), 1):
        if line != other:
            actual, expected = _differing_parts(line or "", other or "")
            return f"Line {number} has {actual!r}, but the dumps give {expected!r}."
    return "The bytes differ from what the dumps give."


def _statements(path: Path, rebuilt_path: Path) -> str:
    try:
        actual = {quad.triple for quad in file_reading.quads(path)}
    except KgbenchError as error:
        return f"The file {error}."
    expected = {quad.triple for quad in file_reading.quads(rebuilt_path)}
    if any(
        isinstance(t, ox.BlankNode)
        for triple in actual | expected
        for t in (triple.subject, triple.object)
    ):
        return ""  # the files are compared as bytes
    more, less = (
        min(triples, key=str, default=None) for triples in (actual - expected, expected - actual)
    )
    templates = (("It states {}, but the dumps do not", more), ("The dumps state {}", less))
    words = [text.format(_short(str(triple))) for text, triple in templates if triple is not None]
    return "; ".join(words) + "." if words else ""


def _same_json(path: Path, rebuilt_path: Path) -> bool:
    try:
        actual = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return False
    return _same(actual, json.loads(rebuilt_path.read_text("utf-8")))


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return list(value) == list(other) and all(_same(value[key], other[key]) for key in value)
    return type(value) is type(other) and bool(value == other)


def _differing_parts(line: str, other: str) -> tuple[str, str]:
    """Return the differing parts of two lines, with some context before them."""
    start = next((n for n, (a, b) in enumerate(zip(line, other, strict=False)) if a != b), 0)
    start = max(0, start - _SHOWN // 4)
    return _short(line[start:]), _short(other[start:])


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
