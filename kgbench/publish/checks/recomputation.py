# SPDX-License-Identifier: Apache-2.0
"""Rebuilding of a publication from its dumps, by the code that publishes.

Checksums detect changes only if they were not renewed. Pages, documents, figures and packed dumps
follow from the N-Quads and ``publication.json``, so they are made again and compared.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import KgbenchError, ResourceError
from kgbench.publish import discovery, file_reading, recipe, redact
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import Documents
from kgbench.publish.dumps import Packing, join
from kgbench.publish.folder import STATE, Folder, checksum, claim, same
from kgbench.publish.manifest import Dump, Manifest, Unit
from kgbench.publish.recipe import Recipe
from kgbench.publish.selection import select_parts
from kgbench.publish.signing import CLAIMS, KEYS, SUMS, signed_claim
from kgbench.publish.site_files import SiteFiles

_REMEDY = "Publish again, or restore the file from a copy that you trust."
_SHOWN = 300  # characters of a difference
_LARGE = 50 << 20  # bytes of a file that is not compared line by line
_TOLERANCE = 1e-12
_COMPARED = (".ttl", ".zst", ".gz")  # also if other software made the publication


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
        elif not same(path, rebuilt[name]) and (alike or path.suffix in _COMPARED):
            message = _difference(path, rebuilt[name], alike=alike)
            if message:
                yield Fault("recomputed", "", name, message, _REMEDY)
    made_otherwise = _signatures(rebuilt)
    own_folders = {name.partition("/")[0] for name in rebuilt if "/" in name}
    # A host may add files of its own, such as CNAME, but they are not part of the publication.
    listed = {match[2] for _, match in published.sums() if match is not None}
    for name in published.files:
        if (
            name not in rebuilt
            and name not in made_otherwise
            and (name in listed or name.partition("/")[0] in own_folders)
        ):
            message = "Nothing in the dumps gives rise to this file."
            yield Fault("recomputed", "", name, message, "Remove it, or publish again.")


def _signatures(rebuilt: Mapping[str, Path]) -> set[str]:
    """Return the files by which a signed publication is signed, which only its signer can make."""
    if not recipe.read(rebuilt[recipe.FILE], Path()).settings.signed:
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
        _write(published, loaded)
        yield out, loaded.software == recipe.software()


def _write(published: PublicationFiles, loaded: Recipe) -> None:
    """Write the files of the publication from its dumps, except for these."""
    settings = loaded.settings
    with redact.published_store(published.dumps, settings.base, trusted=False) as view:
        canaries = discovery.canaries(view, select_parts(view, settings).suites)
        files = SiteFiles(
            settings=settings,
            view=view,
            where=Documents(loaded.store, settings.base),
            canaries=canaries,
            packing=Packing(settings.compression, None, "; ".join(canaries)),
            progress=lambda *_: None,
        )
        units = dict(sorted(_unit(published, path) for path in published.dumps))
        parts = [dump for unit in units.values() for dump in unit.dumps]
        lock = claim(settings.out)
        folder = Folder(settings.out)
        try:
            for dump in parts:
                copied = folder.work("dump")
                shutil.copyfile(published.files[dump.path], copied)
                folder.adopt(dump.path, copied)
            whole = join(folder, "data/all.nq", parts, files.packing, None)
            earlier = Manifest(settings.base, {}, list(loaded.versions[:-1]))
            files.write(folder, earlier, units, whole)
            files.finish(folder, Manifest())
        finally:
            folder.close()
            lock.close()


def _unit(published: PublicationFiles, path: Path) -> tuple[str, Unit]:
    """Return a part of the data with its name, read from its dump."""
    name, triples, hasher = published.name(path), 0, hashlib.sha256()
    with file_reading.opened(path, None) as content:
        for line in content:
            hasher.update(line)
            triples += not line.startswith(b"#")
    sha256, size = checksum(path)
    dump = Dump(name, size, sha256, hasher.hexdigest(), triples)
    return path.name.partition(".nq")[0], Unit("", {name: sha256}, (dump,))


def _difference(path: Path, rebuilt_path: Path, *, alike: bool) -> str:
    """Describe the difference between a file and its rebuilt version; empty if there is none."""
    if path.suffix == ".ttl":
        difference = _statements(path, rebuilt_path)
        if difference or not alike:
            return difference
    if path.suffix == ".json" and _same_json(path, rebuilt_path):
        return ""  # the last digits of sums of doubles depend on the order of rows
    if file_reading.parts(path)[1] or path.stat().st_size > _LARGE:
        return "The content differs from what the dumps give."
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
