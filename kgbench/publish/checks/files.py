# SPDX-License-Identifier: Apache-2.0
"""Checks of the files of a published folder: checksums, sizes, media types, agreement of dumps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.publish import file_reading
from kgbench.publish.addresses import RECORDED
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import OWN
from kgbench.publish.signing import SIGNATURE, SUMS
from kgbench.vocab import DCAT, FOAF, SPDX, VOID

_AGAIN = "Publish again."
_IANA = re.compile(r"https?://www\.iana\.org/assignments/media-types/")
_LEADS = [
    ox.NamedNode(iri)
    for iri in (
        DCAT.downloadURL,
        DCAT.accessURL,
        DCAT.landingPage,
        DCAT.previousVersion,
        DCAT.hasVersion,
        FOAF.homepage,
        FOAF.page,
        VOID.dataDump,
    )
]


def check(published: PublicationFiles) -> Iterator[Fault]:
    """Yield faults of the files, and differences from their descriptions in the catalogue."""
    digest = cache(sha256)
    yield from _sums(published, digest)
    yield from _distributions(published, digest)
    yield from _leads(published)


def agreement(published: PublicationFiles) -> Iterator[Fault]:
    """Yield a joined dump that differs in size from its parts."""
    sizes: dict[str, int] = {}
    for path in published.files_in("data"):
        form, name = file_reading.parts(path)[0], published.name(path)
        if form != ".nq":
            continue
        try:
            number = file_reading.count(path, published.password)
        except PublicationRefused:
            continue
        except file_reading.Unreadable as error:
            yield Fault("readable", "", name, f"The file {error}.", _AGAIN)
            continue
        sizes[path.name.split(".")[0]] = number
    total, parts = sizes.pop("all", None), sum(sizes.values())
    if total is not None and total != parts:
        message = f"The dump of everything has {total} quads, its parts have {parts}."
        yield Fault("dumps-agree", "", "data/all.*", message, _AGAIN)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()


def _sums(published: PublicationFiles, digest: Any) -> Iterator[Fault]:
    if SUMS not in published.files:
        yield Fault("checksum", "", SUMS, "There is no file of checksums.", _AGAIN)
        return
    listed = set()
    for line, match in published.sums():
        if match is None:
            message = f"A line is not a checksum: {line[:100]}"
            yield Fault("checksum", "", SUMS, message, _AGAIN)
            continue
        checksum, name = match.groups()
        listed.add(name)
        if name not in published.files:
            yield Fault("checksum", "", name, f"{SUMS} lists a missing file.", _AGAIN)
        elif digest(published.files[name]) != checksum:
            message = "The content does not fit its checksum."
            yield Fault("checksum", "", name, message, "Download the file again, or publish again.")
    own_names = OWN | RECORDED | {name.partition("/")[0] for name in listed if "/" in name}
    for name in published.files:
        if name in listed or name in (SUMS, SIGNATURE):  # the signature signs the checksums
            continue
        first = name.partition("/")[0]
        # Only advice for a file or folder that the publication never writes, unless it is signed:
        # then nothing may be added, such as a script that takes over the whole site.
        own = not own_names.isdisjoint((first, first.partition(".")[0]))
        advice = not own and SIGNATURE not in published.files
        remedy = (
            _AGAIN
            if own
            else "Remove it unless you put it there."
            if advice
            else "Remove it: nobody signed it."
        )
        yield Fault("checksum", "", name, f"The file is not in {SUMS}.", remedy, advice)


def _distributions(published: PublicationFiles, digest: Any) -> Iterator[Fault]:
    store = published.catalogue

    def object_of(node: Any, predicate: str) -> Any:
        quads = store.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return next((quad.object for quad in quads), None)

    def value(node: Any, predicate: str) -> str | None:
        return getattr(object_of(node, predicate), "value", None)

    for quad in store.quads_for_pattern(None, ox.NamedNode(DCAT.downloadURL), None):
        name = published.name_at(getattr(quad.object, "value", ""))
        path = published.files.get(name or "")
        if name is None or path is None:
            continue  # reported as a dead link
        node = quad.subject
        iri = getattr(node, "value", str(node))
        size = value(node, DCAT.byteSize)
        if size is not None and size != str(path.stat().st_size):
            message = f"The catalogue says {size} bytes, but the file has {path.stat().st_size}."
            yield Fault("distribution-size", iri, name, message, _AGAIN)
        checksum_node = object_of(node, SPDX.checksum)
        checksum = None if checksum_node is None else value(checksum_node, SPDX.checksumValue)
        if checksum is not None and checksum.lower() != digest(path):
            message = "The checksum in the catalogue is not that of the file."
            yield Fault("distribution-checksum", iri, name, message, _AGAIN)
        media = value(node, DCAT.mediaType)
        if media is not None:
            packed = value(node, DCAT.compressFormat) or value(node, DCAT.packageFormat)
            yield from _media(media, packed, path, iri, name)


def _media(media: str, packed: str | None, path: Path, node: str, name: str) -> Iterator[Fault]:
    form, packing = file_reading.parts(path)
    known, outer = file_reading.FORMATS.get(form), file_reading.PACKINGS.get(packing)
    if known is None:
        return
    stated = _IANA.sub("", media)
    stated_packing = None if packed is None else _IANA.sub("", packed)
    expected = known if outer is None or stated_packing is not None else outer
    if stated not in (known, outer):
        message = f"The catalogue says {stated}, but the file is {expected} by its name."
        yield Fault("media-type", node, name, message, f"Give it dcat:mediaType {expected}.")
    if stated_packing is not None and stated_packing != outer:
        message = f"The catalogue says that it is packed as {stated_packing}, but it is {outer}."
        yield Fault("media-type", node, name, message, "Correct the packing in the catalogue.")


def _leads(published: PublicationFiles) -> Iterator[Fault]:
    """Yield references of the catalogue to missing files of the folder."""
    for predicate in _LEADS:
        for quad in published.catalogue.quads_for_pattern(None, predicate, None):
            iri = getattr(quad.object, "value", "")
            name = published.name_at(iri)
            if name is None or name in published.files or f"{name}.ttl" in published.files:
                continue
            yield Fault(
                "dead-link",
                getattr(quad.subject, "value", ""),
                published.file_of(quad.subject, published.catalogue),
                f"It refers to {iri}, but there is no such file.",
                _AGAIN,
            )
