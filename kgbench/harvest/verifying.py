# SPDX-License-Identifier: Apache-2.0
"""Whom a publication is by, and which data it has, before any of the data are fetched."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kgbench.errors import ImportRefused, SignatureError
from kgbench.harvest.fetching import Limits, Source
from kgbench.harvest.sources import Harvested
from kgbench.publish.checks.signatures import signed
from kgbench.publish.recipe import FILE as RECIPE
from kgbench.publish.settings import checked_base
from kgbench.publish.signing import KEYS, SIGNATURE, SUMS
from kgbench.signing import proofs
from kgbench.signing.history import History
from kgbench.signing.proofs import Document, Stated
from kgbench.vocab import DCAT, DCTERMS, KGB

_LINE: Final = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)
_PART: Final = re.compile(r"data/(?!all\.)[A-Za-z0-9._-]+\.nq(\.zst|\.gz|\.zip)?")
_NOTE: Final = 64 << 20  # bytes of SHA256SUMS


@dataclass(frozen=True)
class Offer:
    """What a source offers: who signed it, and its data with their digests.

    ``parts`` are SHA-256 of files by path, ``canonical`` those of RDFC-1.0 where it is signed.
    """

    base: str
    version: int
    sums: str
    history: History
    parts: dict[str, str]
    signer: str | None = None
    canonical: dict[str, str] = field(default_factory=dict)


def offer(
    source: Source,
    keys: Collection[str],
    known: Harvested | None,
    scratch: Path,
    limits: Limits,
    *,
    unsigned: bool,
) -> Offer:
    """What ``source`` offers, verified.

    ``keys`` (Multikeys) are trusted, and where there are none those that were before; ``known`` is
    what was harvested before. A source without signatures is refused unless ``unsigned``. Raises
    :class:`~kgbench.errors.ImportRefused` and :class:`~kgbench.errors.SignatureError`.
    """
    document = _document(source, SIGNATURE, scratch, limits)
    if document is None:
        _sums(source, scratch, limits, None)  # refuses what is no publication at all
        if keys or not unsigned or (known is not None and known.signer is not None):
            raise ImportRefused(
                "it is not signed (or not any more), so nobody says who published it: ask its "
                "publisher for a signature; --unsigned takes sources that never had one"
            )
        return _unsigned(source, scratch, limits)
    base = _base(document)
    if known is not None and known.base != base:
        raise ImportRefused(f"its base was {known.base}, and is {base} now: it is another one")
    listed = _document(source, KEYS, scratch, limits)
    if listed is None:
        raise ImportRefused(f"it has a signature, and no {KEYS}")
    iri = f"{base}{KEYS}"
    trusted = keys or (() if known is None else known.history.entries)
    history = History.trusted(listed, iri, trusted)
    _refuse_returned(known, history)
    stated = Stated(signed(document, history, iri))
    signer = proofs.claimed(document).method.partition("#")[2]
    subject = f"{base}{SIGNATURE}"
    sums = stated.one(f"{base}{SUMS}", KGB.fileDigest) or ""
    version = int(stated.one(subject, DCAT.version) or 0)
    if known is not None and version < known.version:
        raise ImportRefused(
            f"it has version {version}, and version {known.version} was harvested before"
        )
    names = [one.removeprefix(base) for one in stated.all(subject, DCTERMS.hasPart)]
    told = {n: stated.one(base + n, KGB.canonicalDigest) or "" for n in names if n != SUMS}
    listing = _sums(source, scratch, limits, sums)
    missing = [name for name in told if name not in listing or not _PART.fullmatch(name)]
    if missing:
        raise ImportRefused(f"it signs data that {SUMS} does not list: {missing[0][:100]}")
    parts = {name: listing[name] for name in told}
    return Offer(base, version, sums, history, parts, signer, told)


def _document(source: Source, name: str, scratch: Path, limits: Limits) -> Document | None:
    place = scratch / name
    if not source.get(name, place, limits, proofs.LARGEST):
        return None
    try:
        return proofs.read(place.read_bytes())
    except SignatureError as error:
        raise SignatureError(f"its {name} is not usable: {error}") from error


def _base(document: Document) -> str:
    subject = document.get("id")
    if not isinstance(subject, str) or not subject.endswith(f"/{SIGNATURE}"):
        raise SignatureError("the signature is not that of a publication")
    return checked_base(subject.removesuffix(SIGNATURE))


def _refuse_returned(known: Harvested | None, history: History) -> None:
    """Refuse a list of keys in which a revoked key is good again, or one has gone."""
    for before in () if known is None else known.keys:
        now = history.entries.get(before.key)
        if now is None or (before.revoked is not None and now.revoked is None):
            what = "is not listed any more" if now is None else "was revoked, and is not any more"
            raise SignatureError(f"its key {before.key} {what}")


def _sums(source: Source, scratch: Path, limits: Limits, expected: str | None) -> dict[str, str]:
    place = scratch / SUMS
    if not source.get(SUMS, place, limits, _NOTE):
        raise ImportRefused(f"it has no {SUMS}: it is no publication of kgbench")
    content = place.read_bytes()
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise SignatureError(f"its {SUMS} is not the one that was signed: files were changed since")
    lines = content.decode("utf-8", "replace").splitlines()
    found = (_LINE.fullmatch(line) for line in lines)
    return {match[2]: match[1] for match in found if match is not None}


def _unsigned(source: Source, scratch: Path, limits: Limits) -> Offer:
    listing = _sums(source, scratch, limits, None)
    place = scratch / RECIPE
    if not source.get(RECIPE, place, limits, proofs.LARGEST):
        raise ImportRefused(f"it has no {RECIPE}: it is no publication of kgbench")
    content = place.read_bytes()
    if hashlib.sha256(content).hexdigest() != listing.get(RECIPE):
        raise ImportRefused(
            f"the checksum of its {RECIPE} is another one: files were changed since"
        )
    try:
        said = json.loads(content)
        base, version = checked_base(str(said["base"])), int(said["versions"][-1]["number"])
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ImportRefused(f"its {RECIPE} cannot be read") from None
    sums = hashlib.sha256((scratch / SUMS).read_bytes()).hexdigest()
    parts = {name: told for name, told in listing.items() if _PART.fullmatch(name)}
    return Offer(base, version, sums, History([]), parts)
