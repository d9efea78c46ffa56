# SPDX-License-Identifier: Apache-2.0
"""Verification of a publication's signer and list of data before the data are downloaded.

Files are read from the given folder or address only: redirects are not followed, so no other host
is contacted. All files of a source share one budget.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from kgbench.api import KGB, ImportRefused
from kgbench.errors import SignatureError
from kgbench.net import web
from kgbench.net.limits import Budget, bare
from kgbench.plugins.harvest.sources import HarvestedSource
from kgbench.publish.settings import RECIPE, checked_base
from kgbench.publish.signing import KEYS, SIGNATURE, SUMS
from kgbench.signing import proofs
from kgbench.signing.key_list import KeyEntry, KeyList
from kgbench.signing.proofs import Document, Statements
from kgbench.vocab import DCAT, DCTERMS

_NAME: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")
_LINE: Final = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)
_PART: Final = re.compile(r"data/(?!all\.)[A-Za-z0-9._-]+\.nq(\.zst|\.gz|\.zip)?")
_MOST_DIGITS: Final = 9
_LARGEST_SUMS: Final = 64 << 20  # bytes of SHA256SUMS


@dataclass(frozen=True)
class Source:
    """A source of publications: a folder, or the http(s) address of one."""

    address: str

    @classmethod
    def named(cls, text: str) -> Source:
        """Return the source that a user names.

        Raises :class:`~kgbench.errors.ImportRefused` if it is neither a folder nor a usable
        address.
        """
        if "://" not in text:
            if not Path(text).is_dir():
                raise ImportRefused(f"{text} is neither a folder nor an http or https address")
            return cls(str(Path(text).resolve()))
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.query or parts.fragment or parts.username or parts.password:
            raise ImportRefused(
                f"{bare(text)} is not the http or https address of a folder, without user, query "
                "and fragment"
            )
        return cls(text if text.endswith("/") else f"{text}/")

    def get(self, name: str, target: Path, budget: Budget, max_bytes: int | None = None) -> bool:
        """Copy the file ``name`` of the source to ``target``; return whether it exists.

        ``max_bytes`` is the limit for this file. Raises :class:`~kgbench.errors.ImportRefused`.
        """
        if not _NAME.fullmatch(name):
            raise ImportRefused(f"it lists an unsafe file name: {name[:100]!r}")
        if "://" in self.address:
            try:
                web.download(urljoin(self.address, name), target, budget, max_bytes, follow=False)
            except FileNotFoundError:
                return False
            return True
        allowed = budget.bytes if max_bytes is None else min(max_bytes, budget.bytes)
        if not self._copy(name, target, allowed):
            return False
        budget.spend(target.stat().st_size)
        return True

    def _copy(self, name: str, target: Path, max_bytes: int) -> bool:
        path = Path(self.address, name)
        # A link could lead to any file of this machine; the address itself has no links.
        if os.path.realpath(path) != str(path) or not path.is_file():
            return False
        if path.stat().st_size > max_bytes:
            raise ImportRefused(f"{name} is larger than {max_bytes} bytes")
        shutil.copyfile(path, target)
        return True


@dataclass(frozen=True)
class VerifiedOffer:
    """The verified offer of a source: its signer, and its data files with their digests.

    ``parts`` has the SHA-256 of files by path, ``canonical`` the RDFC-1.0 digests of a signed
    source.
    """

    base: str
    version: int
    sums: str
    keys: KeyList
    parts: dict[str, str]
    signer: str | None = None
    canonical: dict[str, str] = field(default_factory=dict)


def verified_offer(
    source: Source,
    keys: Collection[str],
    known: HarvestedSource | None,
    scratch: Path,
    budget: Budget,
    *,
    revoked: Collection[KeyEntry],
    unsigned: bool,
) -> VerifiedOffer:
    """Verify what ``source`` offers, and return it.

    ``keys`` (Multikeys) are trusted, or without them the signer of the last harvest, which is
    ``known``; ``revoked`` are known to be revoked. A source without signature is refused unless
    ``unsigned``. Raises :class:`~kgbench.errors.ImportRefused` and
    :class:`~kgbench.errors.SignatureError`.
    """
    document = _document(source, SIGNATURE, scratch, budget)
    if document is None:
        _sums(source, scratch, budget, None)  # refuses a folder that is not a publication
        if keys or not unsigned or (known is not None and known.signer is not None):
            raise ImportRefused(
                "it is not signed (or no longer signed), so its publisher is unknown: ask for a "
                "signature; --unsigned accepts sources that never had one"
            )
        offer = _unsigned(source, scratch, budget)
        _refuse_other_base(known, offer.base)
        return _same_source(offer, known)
    base = _base(document)
    _refuse_other_base(known, base)
    listed = _document(source, KEYS, scratch, budget)
    if listed is None:
        raise ImportRefused(f"it has a signature, but no {KEYS}")
    iri = f"{base}{KEYS}"
    pinned = () if known is None or known.signer is None else (known.signer,)
    trusted = keys or pinned
    listed_keys = KeyList.published(listed, iri, trusted, revoked)
    stated = Statements(listed_keys.verify(document, iri, trusted))
    signer = proofs.claimed_proof(document).method.partition("#")[2]
    subject = f"{base}{SIGNATURE}"
    sums = stated.one(f"{base}{SUMS}", KGB.fileDigest) or ""
    version = _number(stated.one(subject, DCAT.version))
    names = [part.removeprefix(base) for part in stated.all(subject, DCTERMS.hasPart)]
    canonical = {n: stated.one(base + n, KGB.canonicalDigest) or "" for n in names if n != SUMS}
    listing = _sums(source, scratch, budget, sums)
    missing = [name for name in canonical if name not in listing or not _PART.fullmatch(name)]
    if missing:
        raise ImportRefused(
            f"its signature covers data that {SUMS} does not list: {missing[0][:100]}"
        )
    parts = {name: listing[name] for name in canonical}
    offer = VerifiedOffer(base, version, sums, listed_keys, parts, signer, canonical)
    return _same_source(offer, known)


def _refuse_other_base(known: HarvestedSource | None, base: str) -> None:
    if known is not None and known.base != base:
        raise ImportRefused(f"its base was {known.base}, and is now {base}: it is another source")


def _same_source(offer: VerifiedOffer, known: HarvestedSource | None) -> VerifiedOffer:
    """Return the offer; refuse an earlier version of ``known``, or the same with other data."""
    if known is None or (known.sums, known.version) == (offer.sums, offer.version):
        return offer
    if offer.version < known.version:
        raise ImportRefused(
            f"it has version {offer.version}, but version {known.version} was harvested before"
        )
    # Pages and packing can change within a version, but data cannot.
    if known.canonical and offer.canonical:
        before, now = known.canonical, offer.canonical
    else:
        before, now = known.parts, offer.parts
    if offer.version == known.version and before and set(before.values()) != set(now.values()):
        raise ImportRefused(
            f"its version {offer.version} has other data than the version {known.version} that was "
            "harvested before: a publisher gives changed data a new version"
        )
    return offer


def _document(source: Source, name: str, scratch: Path, budget: Budget) -> Document | None:
    path = scratch / name
    if not source.get(name, path, budget, proofs.LARGEST):
        return None
    try:
        return proofs.read(path.read_bytes())
    except SignatureError as error:
        raise SignatureError(f"its {name} cannot be used: {error}") from error


def _base(document: Document) -> str:
    subject = document.get("id")
    if not isinstance(subject, str) or not subject.endswith(f"/{SIGNATURE}"):
        raise SignatureError("the signature is not for a publication")
    return checked_base(subject.removesuffix(SIGNATURE))


def _number(version: str | None) -> int:
    if version is None or len(version) > _MOST_DIGITS or not version.isdecimal():
        raise SignatureError(f"its signature states no usable version: '{(version or '')[:40]}'")
    return int(version)


def _sums(source: Source, scratch: Path, budget: Budget, expected: str | None) -> dict[str, str]:
    path = scratch / SUMS
    if not source.get(SUMS, path, budget, _LARGEST_SUMS):
        raise ImportRefused(f"it has no {SUMS}: it is not a publication of kgbench")
    content = path.read_bytes()
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise SignatureError(f"its {SUMS} differs from the signed one: files were changed")
    lines = content.decode("utf-8", "replace").splitlines()
    matches = (_LINE.fullmatch(line) for line in lines)
    return {match[2]: match[1] for match in matches if match is not None}


def _unsigned(source: Source, scratch: Path, budget: Budget) -> VerifiedOffer:
    listing = _sums(source, scratch, budget, None)
    path = scratch / RECIPE
    if not source.get(RECIPE, path, budget, proofs.LARGEST):
        raise ImportRefused(f"it has no {RECIPE}: it is not a publication of kgbench")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != listing.get(RECIPE):
        raise ImportRefused(f"the checksum of its {RECIPE} does not fit: files were changed")
    try:
        recipe = json.loads(content)
        base, version = checked_base(str(recipe["base"])), int(recipe["versions"][-1]["number"])
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ImportRefused(f"its {RECIPE} cannot be read") from None
    sums = hashlib.sha256((scratch / SUMS).read_bytes()).hexdigest()
    parts = {name: checksum for name, checksum in listing.items() if _PART.fullmatch(name)}
    return VerifiedOffer(base, version, sums, KeyList([]), parts)
