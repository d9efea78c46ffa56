# SPDX-License-Identifier: Apache-2.0
"""Rebuilding of a publication from its dumps, by the code that publishes.

Checksums detect changes only if they were not renewed. Pages, documents, figures and packed dumps
follow from the N-Quads and ``publication.json``, so they are made again and compared. Other
software makes other files, so a publication is compared by the software that made it.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgbench.errors import KgbenchError
from kgbench.publish import dumps, redact
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import Documents
from kgbench.publish.folder import Dump, Manifest, Unit, checksum, claimed, contents, is_state, same
from kgbench.publish.settings import RECIPE, Recipe, read_recipe, software
from kgbench.publish.signing import CLAIMS, KEYS, SUMS, signed_claim
from kgbench.publish.site import write_site

_AGAIN = "Publish again."
_REMEDY = "Publish again, or restore the file from a copy that you trust."
_OTHERWISE = "The publication was made with other software, so it is not made again and compared."
_SHOWN = 300  # characters of a difference
_LARGE = 50 << 20  # bytes of a file that is not compared line by line


def check(published: PublicationFiles) -> Iterator[Fault]:
    """Yield the files that differ from those that the dumps give."""
    with tempfile.TemporaryDirectory(prefix="kgbench-check-") as scratch:
        try:
            path = published.files.get(RECIPE, Path(scratch) / RECIPE)
            loaded = read_recipe(path, Path(scratch) / "site")
            if loaded.software != software():
                remedy = f"Check it with the versions that {RECIPE} names."
                yield Fault("other-software", "", RECIPE, _OTHERWISE, remedy, advice=True)
                return
            rebuilt = _rebuilt(published, loaded)
        except Exception as error:  # noqa: BLE001 - the code that publishes trusts what a store holds
            kind = "" if isinstance(error, KgbenchError) else f"{type(error).__name__}: "
            message = f"The documents cannot be made from the dumps: {kind}{error}."
            yield Fault("recomputed", "", RECIPE, message, _AGAIN)
            return
        yield from _differing(published, rebuilt, signed=loaded.settings.signed)


def _rebuilt(published: PublicationFiles, loaded: Recipe) -> dict[str, Path]:
    """Write the publication from its dumps into the folder of the recipe; return its files."""
    settings = loaded.settings
    with (
        redact.published_store(published.dumps, settings.base, trusted=False) as view,
        claimed(settings.out) as folder,
    ):
        units = dict(sorted(_unit(published, path) for path in published.dumps))
        for path in (path for unit in units.values() for path in unit.files):
            copied = folder.work("dump")
            shutil.copyfile(published.files[path], copied)
            folder.adopt(path, copied)
        earlier = Manifest(settings.base, {}, list(loaded.versions[:-1]))
        where = Documents(loaded.store, settings.base)
        write_site(
            settings,
            view,
            where,
            folder=folder,
            earlier=earlier,
            units=units,
            progress=lambda *_: None,
        )
    return {n: path for n, path in contents(settings.out).files.items() if not is_state(n)}


def _differing(
    published: PublicationFiles, rebuilt: dict[str, Path], *, signed: bool
) -> Iterator[Fault]:
    for name in sorted(rebuilt.keys() - {SUMS, RECIPE}):
        path = published.files.get(name)
        if path is None:
            message = "The file is missing, but the dumps describe its subject."
            yield Fault("recomputed", "", name, message, _REMEDY)
        elif not same(path, rebuilt[name]):
            yield Fault("recomputed", "", name, _difference(path, rebuilt[name]), _REMEDY)
    claims = (name for name in rebuilt if signed and name.startswith(f"{CLAIMS}/"))
    made_by_the_signer = {KEYS, *map(signed_claim, claims)} if signed else set()
    own_folders = {name.partition("/")[0] for name in rebuilt if "/" in name}
    # A host may add files of its own, such as CNAME, but they are not part of the publication.
    listed = {match[2] for _, match in published.sums() if match is not None}
    for name in sorted(published.files.keys() - rebuilt.keys() - made_by_the_signer):
        if name in listed or name.partition("/")[0] in own_folders:
            message = "Nothing in the dumps gives rise to this file."
            yield Fault("recomputed", "", name, message, "Remove it, or publish again.")


def _unit(published: PublicationFiles, path: Path) -> tuple[str, Unit]:
    """Return a part of the data with its name, read from its dump."""
    name, triples, hasher = published.name(path), 0, hashlib.sha256()
    with dumps.opened(path, None) as content:
        for line in content:
            hasher.update(line)
            triples += not line.startswith(b"#")
    sha256, size = checksum(path)
    dump = Dump(name, size, sha256, hasher.hexdigest(), triples)
    return path.name.partition(".nq")[0], Unit("", {name: sha256}, (dump,))


def _difference(path: Path, rebuilt_path: Path) -> str:
    """Describe the difference between a file and its rebuilt version."""
    if dumps.parts(path)[1] or path.stat().st_size > _LARGE:
        return "The content differs from what the dumps give."
    text, rebuilt = (
        file.read_text("utf-8", "replace").splitlines() for file in (path, rebuilt_path)
    )
    for number, pair in enumerate(itertools.zip_longest(text, rebuilt, fillvalue=""), 1):
        if pair[0] != pair[1]:
            equal = zip(*pair, strict=False)
            differs = next((n for n, (a, b) in enumerate(equal) if a != b), 0)
            start = max(0, differs - _SHOWN // 4)
            actual, expected = (line[start : start + _SHOWN] for line in pair)
            return f"Line {number} has {actual!r}, but the dumps give {expected!r}."
    return "The bytes differ from what the dumps give."
