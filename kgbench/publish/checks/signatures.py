# SPDX-License-Identifier: Apache-2.0
"""Verification of the checksums and signatures of a publication."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, SignatureError
from kgbench.publish import dumps
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import OWN
from kgbench.publish.folder import checksum
from kgbench.publish.signing import CLAIMS, KEYS, SIGNATURE, SIGNED, SUMS
from kgbench.signing import proofs
from kgbench.signing.key_list import KeyEntry, KeyList, standing
from kgbench.signing.proofs import Document, Statements
from kgbench.vocab import DCTERMS, KGB

_TRUST = "Do not use it until its publisher explains this; ask for the right key by other means."
_AGAIN = "Publish again with --sign."
_PUBLISH = "Publish again."


def checksums(published: PublicationFiles) -> Iterator[Fault]:
    """Yield files that differ from their checksums, or have none."""
    if SUMS not in published.files:
        yield Fault("checksum", "", SUMS, "There is no file of checksums.", _PUBLISH)
        return
    listed = set()
    for line, match in published.sums():
        if match is None:
            message = f"A line is not a checksum: {line[:100]}"
            yield Fault("checksum", "", SUMS, message, _PUBLISH)
            continue
        sha256, name = match.groups()
        listed.add(name)
        if name not in published.files:
            yield Fault("checksum", "", name, f"{SUMS} lists a missing file.", _PUBLISH)
        elif checksum(published.files[name])[0] != sha256:
            message = "The content does not fit its checksum."
            yield Fault("checksum", "", name, message, "Download the file again, or publish again.")
    own_names = OWN | {name.partition("/")[0] for name in listed if "/" in name}
    message = f"The file is not in {SUMS}."
    for name in published.files:
        if name in listed or name in (SUMS, SIGNATURE):  # the signature signs the checksums
            continue
        first = name.partition("/")[0]
        # Only advice for a file or folder that the publication never writes, unless it is signed:
        # then nothing may be added, such as a script that takes over the whole site.
        if not own_names.isdisjoint((first, first.partition(".")[0])):
            yield Fault("checksum", "", name, message, _PUBLISH)
        elif SIGNATURE in published.files:
            yield Fault("checksum", "", name, message, "Remove it: nobody signed it.")
        else:
            remedy = "Remove it unless you put it there."
            yield Fault("checksum", "", name, message, remedy, advice=True)


class Signatures:
    """The signatures of a published folder.

    ``keys`` (Multikeys) are trusted, and ``revoked`` are known to be revoked. ``signer`` is the key
    that signed it, after :meth:`check`.
    """

    def __init__(
        self,
        published: PublicationFiles,
        keys: Collection[str],
        revoked: Collection[KeyEntry] = (),
    ) -> None:
        self._published = published
        self._keys = keys
        self._revoked = revoked
        self.signer: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is anything to check: a signature, or a key that must have signed."""
        files = self._published.files
        return bool(self._keys) or KEYS in files or SIGNATURE in files

    def check(self) -> Iterator[Fault]:
        """Yield the faults of the signatures."""
        files = self._published.files
        missing = [name for name in (KEYS, SIGNATURE) if name not in files]
        if missing:
            message = "The publication is not signed: the file is missing."
            yield from (Fault("unsigned", "", name, message, _AGAIN) for name in missing)
            return
        name = KEYS
        try:
            iri = f"{self._published.base}{KEYS}"
            listed = KeyList.published(_read(files[KEYS]), iri, self._keys, self._revoked)
            name = SIGNATURE
            secured = _read(files[SIGNATURE])
            content = listed.verify(secured, iri, self._keys)
            self.signer = proofs.claimed_proof(secured).method.partition("#")[2]
            yield from self._sealed(Statements(content))
        except SignatureError as error:
            yield _untrusted(name, error)
            return
        yield from self._claims(listed, iri)
        for entry in listed.revoked:
            why = f": {entry.reason}" if entry.reason else ""
            message = f"The key {entry.key} was revoked at {entry.revoked}{why}."
            remedy = "Trust nothing that it signed."
            yield Fault("revoked-key", "", KEYS, message, remedy, advice=True)
        if not self._keys:
            message = f"It is {standing(self.signer, vouched=False)}."
            remedy = "Give the publisher's key, from another source, with --key."
            yield Fault("unknown-key", "", KEYS, message, remedy, advice=True)

    def _sealed(self, stated: Statements) -> Iterator[Fault]:
        """Compare the signed checksums and digests with the files."""
        base, files = self._published.base or "", self._published.files
        signed_parts = stated.all(f"{base}{SIGNATURE}", DCTERMS.hasPart)
        sums = files[SUMS].read_bytes() if SUMS in files else b""
        if stated.one(f"{base}{SUMS}", KGB.fileDigest) != hashlib.sha256(sums).hexdigest():
            yield _untrusted(SUMS, "the checksums of the files differ from the signed ones")
        parts = {f"{base}{self._published.name(path)}": path for path in self._published.dumps}
        for iri in sorted({*parts, *signed_parts} - {f"{base}{SUMS}"}):
            name = iri.removeprefix(base)
            if iri not in parts or iri not in signed_parts:
                what = "not signed" if iri in parts else "signed, but missing"
                yield _untrusted(name, f"the data are {what}")
                continue
            try:
                actual = digest(parts[iri], self._published.password)
                if actual != stated.one(iri, KGB.canonicalDigest):
                    yield _untrusted(name, "the data differ from the signed data (RDFC-1.0)")
            except PublicationRefused:
                continue  # reported among the unreadable files
            except (dumps.Unreadable, SignatureError) as error:
                yield _untrusted(name, error)

    def _claims(self, listed: KeyList, iri: str) -> Iterator[Fault]:
        """Yield signed claims that are invalid, or differ from the published claims."""
        files = self._published.files
        for name in (name for name in files if name.startswith(f"{SIGNED}/")):
            unsigned = f"{CLAIMS}{name.removeprefix(SIGNED).removesuffix('.jsonld')}.ttl"
            try:
                stated = set(proofs.quads(listed.verify(_read(files[name]), iri, self._keys)))
            except SignatureError as error:
                yield _untrusted(name, error)
                continue
            if unsigned not in files or stated != set(dumps.quads(files[unsigned])):
                yield _untrusted(
                    name, f"the signed claim differs from the statements of {unsigned}"
                )


def digest(path: Path, password: str | None) -> str:
    """Return the RDFC-1.0 digest of N-Quads.

    Raises the same exceptions as :func:`kgbench.publish.dumps.opened`.
    """
    dumps.refuse_too_deep(path, password)
    with dumps.opened(path, password) as content:
        quads: Any = ox.parse(content, ox.RdfFormat.N_QUADS)
        return proofs.digest(quads)


def _untrusted(name: str, problem: object) -> Fault:
    text = str(problem)
    return Fault("signature", "", name, f"{text[:1].upper()}{text[1:]}.", _TRUST)


def _read(path: Path) -> Document:
    with path.open("rb") as file:
        return proofs.read(file.read(proofs.LARGEST + 1))
