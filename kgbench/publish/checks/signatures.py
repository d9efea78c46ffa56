# SPDX-License-Identifier: Apache-2.0
"""Who signed a publication, and whether it is what was signed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, SignatureError
from kgbench.publish.checks import reading
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault
from kgbench.publish.claims import PLACE as CLAIMS
from kgbench.publish.signing import KEYS, SIGNATURE, SIGNED, SUMS
from kgbench.signing import canonical, proofs
from kgbench.signing.history import History
from kgbench.signing.proofs import Document, Stated
from kgbench.vocab import DCTERMS, KGB

_TRUST = "Take nothing from it until its publisher says why; ask for the right key by another way."
_AGAIN = "Publish again with --sign."


class Signatures:
    """The signatures of a published folder; ``keys`` (Multikeys) are those that are trusted.

    ``signer`` is the key that signed it, once it was checked.
    """

    def __init__(self, published: Published, keys: Collection[str]) -> None:
        self._published = published
        self._keys = keys
        self.signer: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is anything to check: a signature, or a key that it must be by."""
        files = self._published.files
        return bool(self._keys) or KEYS in files or SIGNATURE in files

    def check(self) -> Iterator[Fault]:
        """What is wrong with the signatures."""
        files = self._published.files
        missing = [name for name in (KEYS, SIGNATURE) if name not in files]
        if missing:
            message = "The publication is not signed: the file is missing."
            yield from (Fault("unsigned", "", name, message, _AGAIN) for name in missing)
            return
        name = KEYS
        try:
            iri = f"{self._published.base}{KEYS}"
            history = History.trusted(_read(files[KEYS]), iri, self._keys)
            name = SIGNATURE
            secured = _read(files[SIGNATURE])
            whole = signed(secured, history, iri)
            self.signer = proofs.claimed(secured).method.partition("#")[2]
        except SignatureError as error:
            yield Fault("signature", "", name, f"{_sentence(error)}", _TRUST)
            return
        yield from self._sealed(Stated(whole))
        yield from self._claims(history, iri)
        yield from self._advice(history)

    def _sealed(self, stated: Stated) -> Iterator[Fault]:
        """What the signature says of the checksums and of the data, compared with the files."""
        base, files = self._published.base, self._published.files
        found = stated.all(f"{base}{SIGNATURE}", DCTERMS.hasPart)
        sums = files.get(SUMS)
        told = "" if sums is None else hashlib.sha256(sums.read_bytes()).hexdigest()
        if stated.one(f"{base}{SUMS}", KGB.fileDigest) != told:
            message = "The checksums of the files are not those that were signed."
            yield Fault("signature", "", SUMS, message, _TRUST)
        parts = {f"{base}{self._published.name(path)}": path for path in self._published.dumps}
        for iri in sorted({*parts, *found} - {f"{base}{SUMS}"}):
            path = parts.get(iri)
            name = iri.removeprefix(base or "")
            if path is None or iri not in found:
                what = "signed, and there is no such part" if path is None else "not signed"
                yield Fault("signature", "", name, f"The data are {what}.", _TRUST)
                continue
            try:
                same = digest(path, self._published.password) == stated.one(
                    iri, KGB.canonicalDigest
                )
            except PublicationRefused:
                continue  # told among what cannot be read
            except (reading.Unreadable, SignatureError) as error:
                yield Fault("signature", "", name, _sentence(error), _TRUST)
                continue
            if not same:
                message = "The data are not those that were signed (RDFC-1.0)."
                yield Fault("signature", "", name, message, _TRUST)

    def _claims(self, history: History, iri: str) -> Iterator[Fault]:
        """Signed claims that do not fit, or are not what the publication states."""
        files = self._published.files
        for name in files:
            if not name.startswith(f"{SIGNED}/"):
                continue
            plain = f"{CLAIMS}{name.removeprefix(SIGNED).removesuffix('.jsonld')}.ttl"
            try:
                stated = set(proofs.quads(signed(_read(files[name]), history, iri)))
            except SignatureError as error:
                yield Fault("signature", "", name, _sentence(error), _TRUST)
                continue
            if plain not in files or stated != set(reading.quads(files[plain])):
                message = f"The signed claim is not what {plain} states."
                yield Fault("signature", "", name, message, _TRUST)

    def _advice(self, history: History) -> Iterator[Fault]:
        for entry in history.entries.values():
            if entry.revoked is not None:
                why = f": {entry.reason}" if entry.reason else ""
                message = f"The key {entry.key} is revoked since {entry.revoked}{why}."
                remedy = f"Trust {self.signer} instead; what it signed before stays valid."
                yield Fault("revoked-key", "", KEYS, message, remedy, advice=True)
        if not self._keys:
            message = f"It is signed by {self.signer}, and nobody has said whether that is right."
            remedy = "Name the key that you have from its publisher: --key."
            yield Fault("unknown-key", "", KEYS, message, remedy, advice=True)


def signed(secured: Document, history: History, iri: str) -> Document:
    """A document that a key of ``history`` signed, without its proof.

    ``iri`` names the document of keys. Raises :class:`~kgbench.errors.SignatureError`.
    """
    signer = history.signer(proofs.claimed(secured), iri)
    return proofs.verify(secured, signer.key)


def digest(path: Path, password: str | None) -> str:
    """The RDFC-1.0 digest of N-Quads; raises as :func:`kgbench.publish.checks.reading.opened`."""
    reading.refuse_too_deep(path, password)
    try:
        with reading.opened(path, password) as content:
            quads: Any = ox.parse(content, ox.RdfFormat.N_QUADS)
            return canonical.digest(quads)
    except SyntaxError as error:
        raise reading.Unreadable(f"cannot be read: {error}") from error


def _read(path: Path) -> Document:
    with path.open("rb") as file:
        return proofs.read(file.read(proofs.LARGEST + 1))


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
