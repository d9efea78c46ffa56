# SPDX-License-Identifier: Apache-2.0
"""Making all files of a publication anew from its dumps, by the code that publishes.

Checksums tell of changes only where nobody renews them. Pages, documents, figures and packed dumps
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

from kgbench.errors import KgbenchError
from kgbench.model import Json
from kgbench.pages.snapshot import View
from kgbench.publish import moved, recipe
from kgbench.publish.addresses import Addresses
from kgbench.publish.checks import reading
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault
from kgbench.publish.folder import STATE, Folder, claim, same
from kgbench.publish.manifest import Manifest
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.parts import parts
from kgbench.publish.recipe import Recipe
from kgbench.publish.scrubbing import Scrubber
from kgbench.publish.site import Publishing
from kgbench.publish.withholding import Level
from kgbench.secrets.commitments import Commitments

SUMS = "SHA256SUMS"
_REMEDY = "Publish again, or restore the file from a copy that you trust."
_SHOWN = 300
_LARGE = 50 << 20
_TOLERANCE = 1e-12
_GRAPHS = (".ttl", ".nt")


def check(published: Published, made: Path, *, alike: bool) -> Iterator[Fault]:
    """The files that are not what follows from the dumps, which was ``made`` anew.

    Unless the software is ``alike``, only documents in RDF are compared, by what they state.
    """
    anew = {
        path.relative_to(made).as_posix(): path
        for path in made.rglob("*")
        if path.is_file() and STATE not in path.parts
    }
    for name in sorted(anew):
        path = published.files.get(name)
        if name in (SUMS, recipe.FILE):
            continue
        if path is None:
            message = "The file is missing: the dumps describe what it is about."
            yield Fault("recomputed", "", name, message, _REMEDY)
        elif not same(path, anew[name]) and (alike or path.suffix in _GRAPHS):
            message = _difference(path, anew[name], alike=alike)
            if message:
                yield Fault("recomputed", "", name, message, _REMEDY)
    ours = {name.partition("/")[0] for name in anew if "/" in name}
    for name, path in published.files.items():
        if name not in anew and name.partition("/")[0] in ours and not _leads_on(name, path, anew):
            message = "Nothing in the dumps leads to this file."
            yield Fault("recomputed", "", name, message, "Remove it, or publish again.")


def _leads_on(name: str, path: Path, anew: Mapping[str, Path]) -> bool:
    """Whether a file is what leads from an earlier address of a dialogue to its page."""
    target = moved.leads_to(name)
    return (
        target is not None
        and target[0] in anew
        and path.read_bytes() == moved.page(target[1]).encode()
    )


@contextmanager
def anew(published: Published) -> Iterator[tuple[Path, bool]]:
    """A folder with the publication made anew, and whether by the same software.

    Raises :class:`~kgbench.errors.KgbenchError` where it cannot be made from what there is.
    """
    with tempfile.TemporaryDirectory(prefix="kgbench-check-") as scratch:
        out = Path(scratch) / "site"
        said = recipe.read(published.folder / recipe.FILE, out)
        _publish(published, said, Path(scratch) / "store" / "snapshots" / "dumps")
        yield out, said.software == recipe.software()


def _publish(published: Published, said: Recipe, place: Path) -> None:
    place.mkdir(parents=True)
    database = ox.Store(str(place))
    for dump in published.dumps:
        reading.load(database, dump, None, ox.NamedNode(f"urn:file:{dump.name}"))
    database.flush()
    del database  # another process cannot open it before
    settings = replace(said.settings, signer=_Unsigned() if said.signed else None)
    view = View(place, None, settings.base)
    held = parts(view, settings)
    addresses = _Kept(said.store, settings.base, runs=held.runs_of_passes)
    rules = Rules(Level.NONE, _Nothing(), Commitments.unkept(), Level.NONE)
    lock = claim(settings.out)
    try:
        Publishing(
            settings=settings,
            view=view,
            parts=held,
            progress=lambda *_: None,
            rules=rules,
            addresses=addresses,
            dump_outgoing=_Read(view.database, addresses, rules, published.dumps),
            versions=said.versions[:-1],
        ).run()
    finally:
        lock.close()


class _Kept(Addresses):
    """Addresses for a database that has the IRIs of the publication.

    Pages still know things by the IRIs that they had in the store.
    """

    @property
    def moves(self) -> bool:
        """Nothing moves a second time."""
        return False

    def outgoing(self, iri: str) -> str:
        """The IRI itself."""
        return iri

    def held(self, iri: str) -> str:
        """The published IRI of a part, which the database has."""
        return self.within(iri)

    def original(self, iri: str) -> str:
        """The IRI in the database: that of the publication."""
        return self.published(iri)


class _Unsigned:
    """Stands for the signer, whose key is not known: documents name what it signed."""

    def sign(self, folder: Folder, manifest: Manifest) -> None:
        """Sign nothing."""

    def seal(self, folder: Folder, manifest: Manifest) -> None:
        """Sign nothing."""


class _Nothing(Scrubber):
    """Scrubs nothing: what is published has been scrubbed."""

    def text(self, value: str) -> str:
        """The text itself."""
        return value

    def json(self, value: Json, name: str = "") -> Json:  # noqa: ARG002 - as a scrubber has it
        """The value itself."""
        return value

    def tells(self, text: str) -> bool:  # noqa: ARG002 - as a scrubber has it
        """No text is left out a second time."""
        return False


class _Read(Outgoing):
    """Quads in the order in which the dumps have them."""

    def __init__(
        self, database: ox.Store, addresses: Addresses, rules: Rules, dumps: list[Path]
    ) -> None:
        super().__init__(database, addresses, rules)
        self._dumps = dumps

    def recorded(self, name: str) -> Iterator[ox.Quad]:
        """All of a graph."""
        wanted = ox.NamedNode(name)
        for dump in self._dumps:
            with reading.opened(dump, None) as content:
                quads: Any = ox.parse(content, ox.RdfFormat.N_QUADS)
                yield from (quad for quad in quads if quad.graph_name == wanted)


def _difference(path: Path, made: Path, *, alike: bool) -> str:
    """What is wrong in a file, in words; empty where nothing is."""
    if path.suffix in _GRAPHS:
        found = _statements(path, made)
        if found or not alike:
            return found
    if path.suffix == ".json" and _same_json(path, made):
        return ""  # sums of doubles depend on the order of rows in their last digit
    if reading.parts(path)[1] or path.stat().st_size > _LARGE:
        return "The content is not what the N-Quads give."
    text, wanted = (one.read_text("utf-8", "replace").splitlines() for one in (path, made))
    for number, (line, other) in enumerate(itertools.zip_longest(text, wanted), 1):
        if line != other:
            said, given = _apart(line or "", other or "")
            return f"Line {number} has {said!r}, where the dumps give {given!r}."
    return "The bytes are not what the dumps give."


def _statements(path: Path, made: Path) -> str:
    try:
        said = {quad.triple for quad in reading.quads(path)}
    except KgbenchError as error:
        return f"The file {error}."
    wanted = {quad.triple for quad in reading.quads(made)}
    if any(isinstance(t, ox.BlankNode) for one in said | wanted for t in (one.subject, one.object)):
        return ""  # compared as bytes
    more, less = (min(one, key=str, default=None) for one in (said - wanted, wanted - said))
    told = (("It states {}, and the dumps do not", more), ("The dumps state {}", less))
    words = [text.format(_short(str(one))) for text, one in told if one is not None]
    return "; ".join(words) + "." if words else ""


def _same_json(path: Path, made: Path) -> bool:
    try:
        said = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return False
    return _same(said, json.loads(made.read_text("utf-8")))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def _apart(line: str, other: str) -> tuple[str, str]:
    """The parts in which two lines differ, with a little before them."""
    start = next((n for n, (a, b) in enumerate(zip(line, other, strict=False)) if a != b), 0)
    start = max(0, start - _SHOWN // 4)
    return _short(line[start:]), _short(other[start:])


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
