# SPDX-License-Identifier: Apache-2.0
"""The files of a published folder: checksums, sizes and media types, and that dumps agree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.publish.addresses import OWN, RECORDED
from kgbench.publish.checks import reading
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault
from kgbench.vocab import DCAT, FOAF, SPDX, VOID

_AGAIN = "Publish again."
_SUMS = "SHA256SUMS"
_SIGNATURE = "signature.jsonld"  # it signs the checksums
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_IANA = re.compile(r"https?://www\.iana\.org/assignments/media-types/")
_LEADS = [
    ox.NamedNode(iri)
    for iri in (
        *(DCAT.downloadURL, DCAT.accessURL, DCAT.landingPage, DCAT.previousVersion),
        *(DCAT.hasVersion, FOAF.homepage, FOAF.page, VOID.dataDump),
    )
]


def check(published: Published) -> Iterator[Fault]:
    """What is wrong with the files of a folder and with what the catalogue says of them."""
    digest = cache(sha256)
    yield from _sums(published, digest)
    yield from _distributions(published, digest)
    yield from _leads(published)


def agreement(published: Published) -> Iterator[Fault]:
    """Dumps of one part that do not hold the same, and one of everything that does not."""
    counts: dict[str, dict[str, int]] = {}
    for path in sorted((published.folder / "data").glob("*")):
        form, name = reading.parts(path)[0], published.name(path)
        if form not in (".nq", ".trig", ".ttl"):
            continue
        try:
            number = reading.count(path, published.password)
        except PublicationRefused:
            continue
        except reading.Unreadable as error:
            yield Fault("readable", "", name, f"The file {error}.", _AGAIN)
            continue
        counts.setdefault(path.name.split(".")[0], {})[form] = number
    for part, found in counts.items():
        if len({found[form] for form in (".nq", ".trig") if form in found}) > 1:
            said = ", ".join(f"{form} {number}" for form, number in sorted(found.items()))
            message = f"The dumps of the same part differ in size: {said} quads."
            yield Fault("dumps-agree", "", f"data/{part}.*", message, _AGAIN)
        if found.get(".ttl", 0) > found.get(".nq", found.get(".ttl", 0)):
            message = "The Turtle has more triples than the N-Quads have quads."
            yield Fault("dumps-agree", "", f"data/{part}.*", message, _AGAIN)
    whole = counts.pop("all", {}).get(".nq")
    parts = sum(found.get(".nq", 0) for found in counts.values())
    if whole is not None and whole != parts:
        message = f"The dump of everything has {whole} quads, its parts have {parts}."
        yield Fault("dumps-agree", "", "data/all.*", message, _AGAIN)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()


def _sums(published: Published, digest: Any) -> Iterator[Fault]:
    root = published.folder
    if not (root / _SUMS).is_file():
        yield Fault("checksum", "", _SUMS, "There is no file of checksums.", _AGAIN)
        return
    listed = set()
    for line in (root / _SUMS).read_text(encoding="utf-8", errors="replace").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            message = f"A line is none of a checksum: {line[:100]}"
            yield Fault("checksum", "", _SUMS, message, _AGAIN)
            continue
        wanted, name = found.groups()
        listed.add(name)
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            yield Fault("checksum", "", name, f"{_SUMS} lists a file that is not there.", _AGAIN)
        elif digest(path) != wanted:
            message = "The content is not what its checksum says."
            yield Fault("checksum", "", name, message, "Take the file anew, or publish again.")
    ours = OWN | RECORDED | {name.partition("/")[0] for name in listed if "/" in name}
    for name in published.files:
        if name in listed or name in (_SUMS, _SIGNATURE):
            continue
        first = name.partition("/")[0]
        advice = ours.isdisjoint(
            (first, first.partition(".")[0])
        )  # beside the publication, not in it
        remedy = "Remove it unless you have put it there." if advice else _AGAIN
        yield Fault("checksum", "", name, f"The file is not in {_SUMS}.", remedy, advice)


def _distributions(published: Published, digest: Any) -> Iterator[Fault]:
    store = published.catalogue

    def stated(node: Any, predicate: str) -> Any:
        found = store.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return next((quad.object for quad in found), None)

    def value(node: Any, predicate: str) -> str | None:
        return getattr(stated(node, predicate), "value", None)

    for quad in store.quads_for_pattern(None, ox.NamedNode(DCAT.downloadURL), None):
        path = published.path(getattr(quad.object, "value", ""))
        if path is None or not path.is_file():
            continue  # told by where references lead
        node, name = quad.subject, published.name(path)
        said = getattr(node, "value", str(node))
        size = value(node, DCAT.byteSize)
        if size is not None and size != str(path.stat().st_size):
            message = f"The catalogue says {size} bytes, the file has {path.stat().st_size}."
            yield Fault("distribution-size", said, name, message, _AGAIN)
        sealed = stated(node, SPDX.checksum)
        checksum = None if sealed is None else value(sealed, SPDX.checksumValue)
        if checksum is not None and checksum.lower() != digest(path):
            message = "The checksum in the catalogue is not that of the file."
            yield Fault("distribution-checksum", said, name, message, _AGAIN)
        media = value(node, DCAT.mediaType)
        if media is not None:
            packed = value(node, DCAT.compressFormat) or value(node, DCAT.packageFormat)
            yield from _media(media, packed, path, said, name)


def _media(media: str, packed: str | None, path: Path, node: str, name: str) -> Iterator[Fault]:
    form, packing = reading.parts(path)
    known, outer = reading.FORMATS.get(form), reading.PACKINGS.get(packing)
    if known is None:
        return
    given = _IANA.sub("", media)
    around = None if packed is None else _IANA.sub("", packed)
    wanted = known if outer is None or around is not None else outer
    if given not in (known, outer):
        message = f"The catalogue says {given}, the file is {wanted} by its name."
        yield Fault("media-type", node, name, message, f"Give it dcat:mediaType {wanted}.")
    if around is not None and around != outer:
        message = f"The catalogue says that it is packed as {around}, and it is {outer}."
        yield Fault("media-type", node, name, message, "Correct how it says to be packed.")


def _leads(published: Published) -> Iterator[Fault]:
    """References of the catalogue into the folder that lead nowhere."""
    for predicate in _LEADS:
        for quad in published.catalogue.quads_for_pattern(None, predicate, None):
            iri = getattr(quad.object, "value", "")
            path = published.path(iri)
            if path is None or path.is_file() or path.with_name(f"{path.name}.ttl").is_file():
                continue
            yield Fault(
                "dead-link",
                getattr(quad.subject, "value", ""),
                published.file_of(quad.subject, published.catalogue),
                f"Leads to {iri}, and there is no such file.",
                _AGAIN,
            )
