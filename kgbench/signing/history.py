# SPDX-License-Identifier: Apache-2.0
"""The history of a signer's keys: which key follows which, and which were revoked.

A key that follows another has its endorsement: a proof by the earlier key that says so. So readers
who know the earlier key trust the later one. ``KEYFILE.keys`` holds the history up to a key. A
publication has it as a controller document (W3C Controlled Identifiers 1.0), signed by the newest
key.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench.errors import SignatureError
from kgbench.signing import proofs
from kgbench.signing.keys import SigningKey
from kgbench.signing.multibase import public_bytes
from kgbench.signing.proofs import Document, Proof, Stated
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS, SEC

SUFFIX: Final = ".keys"
_MOST: Final = 1_000  # keys of one signer


@dataclass(frozen=True, slots=True)
class Entry:
    """A public key (Multikey): since when, after which, and since when and why it is revoked."""

    key: str
    created: str
    follows: str | None = None
    endorsement: str | None = None
    revoked: str | None = None
    reason: str | None = None

    def revoked_at(self, when: datetime) -> bool:
        """Whether the key was revoked by then."""
        return self.revoked is not None and proofs.moment(self.revoked) <= when


class History:
    """The keys of one signer, the newest last."""

    def __init__(self, entries: Collection[Entry]) -> None:
        self.entries = {entry.key: entry for entry in entries}

    @classmethod
    def begun(cls, key: str, now: datetime) -> History:
        """The history of a first key."""
        return cls([Entry(key, _text(now))])

    @classmethod
    def read(cls, path: Path) -> History:
        """The history of the key file ``path``.

        Raises :class:`~kgbench.errors.SignatureError` where it cannot be read.
        """
        place = path.with_name(path.name + SUFFIX)
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
            return cls([Entry(**one) for one in found])
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise SignatureError(
                f"{place} cannot be read ({why}): it lists the keys that {path} follows, so name "
                "another key, or restore it from a copy"
            ) from None

    def keep(self, path: Path) -> None:
        """Write the history beside the key file ``path``, in one step."""
        place = path.with_name(path.name + SUFFIX)
        unfinished = place.with_name(f".{place.name}.unfinished")
        text = json.dumps([asdict(entry) for entry in self.entries.values()], indent=1)
        try:
            unfinished.write_text(text + "\n", encoding="utf-8")
            unfinished.replace(place)
        except OSError as error:
            raise SignatureError(f"{place} cannot be written: {error.strerror}") from None

    def followed(self, old: SigningKey, new: str, now: datetime) -> History:
        """The history in which ``new`` follows ``old``, whose private key endorses it."""
        created = _text(now)
        endorsed = proofs.secure(_succession(old.public, new), old, _own_method(old.public), now)
        entry = Entry(new, created, old.public, endorsed["proof"]["proofValue"])
        return History([*self.entries.values(), entry])

    def revoking(self, key: str, reason: str, now: datetime) -> History:
        """The history in which ``key`` is revoked.

        Raises :class:`~kgbench.errors.SignatureError` for an unknown key and for the newest one.
        """
        if key not in self.entries:
            raise SignatureError(f"the history has no key {key}")
        if key == list(self.entries)[-1]:
            raise SignatureError(
                f"the key {key} is the newest: make another that follows it, and revoke it there"
            )
        if self.entries[key].revoked is not None:
            raise SignatureError(f"the key {key} is revoked already")
        changed = replace(self.entries[key], revoked=_text(now), reason=reason)
        return History([{**self.entries, key: changed}[one] for one in self.entries])

    # --- published ---------------------------------------------------------------------------

    def document(self, iri: str) -> Document:
        """The controller document with the IRI ``iri``."""
        usable = [f"{iri}#{e.key}" for e in self.entries.values() if e.revoked is None]
        return proofs.document(
            {
                "id": iri,
                "verificationMethod": [_method(iri, entry) for entry in self.entries.values()],
                "assertionMethod": usable,
            }
        )

    @classmethod
    def trusted(cls, secured: Document, iri: str, keys: Collection[str]) -> History:
        """The keys in a controller document, where one of ``keys`` vouches for them.

        The key that signed it is among ``keys``, or follows one of them by endorsements. Without
        ``keys`` the document vouches for itself. Raises :class:`~kgbench.errors.SignatureError`.
        """
        unsigned = {name: part for name, part in secured.items() if name != "proof"}
        found = cls(list(_entries(Stated(unsigned), iri)))
        proof = proofs.claimed(secured)
        signer = found.signer(proof, iri)
        proofs.verify(secured, signer.key)
        if keys and not found._reached(signer.key).intersection(keys):
            raise SignatureError(
                f"it is signed by the key {signer.key}, which is none that you trust, and follows "
                "none by endorsement"
            )
        return found

    def signer(self, proof: Proof, iri: str) -> Entry:
        """The key that a proof names, which was not revoked at its time.

        Raises :class:`~kgbench.errors.SignatureError`.
        """
        start, _, key = proof.method.partition("#")
        entry = self.entries.get(key)
        if start != iri or entry is None:
            raise SignatureError(f"it is signed by {proof.method}, which is no key of {iri}")
        if entry.revoked_at(proof.created):
            why = f" ({entry.reason})" if entry.reason else ""
            raise SignatureError(
                f"it was signed at {_text(proof.created)} by the key {key}, which is revoked since "
                f"{entry.revoked}{why}"
            )
        return entry

    def _reached(self, key: str) -> set[str]:
        """The key, and those before it that endorsed what follows them."""
        reached: set[str] = set()
        current: str | None = key
        while current is not None and current not in reached:
            reached.add(current)
            entry = self.entries.get(current)
            current = entry.follows if entry is not None and _endorsed(entry) else None
        return reached


def _entries(stated: Stated, iri: str) -> Iterator[Entry]:
    methods = stated.all(iri, SEC.verificationMethod)
    if not methods or len(methods) > _MOST:
        raise SignatureError(f"the document of keys lists {len(methods)} keys")
    found = []
    for method in methods:
        key = stated.one(method, SEC.publicKeyMultibase)
        created = stated.one(method, DCTERMS.created)
        if key is None or created is None or method != f"{iri}#{key}":
            raise SignatureError(f"the key {method} in the document of keys is not as it should be")
        public_bytes(key)
        proofs.moment(created)
        follows = stated.one(method, PROV.wasRevisionOf)
        found.append(
            Entry(
                key,
                created,
                None if follows is None else follows.rpartition("#")[2],
                stated.one(method, KGB.endorsement),
                stated.one(method, SEC.revoked),
                stated.one(method, RDFS.comment),
            )
        )
    return iter(sorted(found, key=lambda entry: proofs.moment(entry.created)))


def _method(iri: str, entry: Entry) -> Mapping[str, str]:
    said = {
        "id": f"{iri}#{entry.key}",
        "type": "Multikey",
        "controller": iri,
        "publicKeyMultibase": entry.key,
        "created": entry.created,
        "follows": f"{iri}#{entry.follows}" if entry.follows else None,
        "endorsement": entry.endorsement,
        "revoked": entry.revoked,
        "reason": entry.reason,
    }
    return {name: value for name, value in said.items() if value is not None}


def _succession(old: str, new: str) -> Document:
    """That one key follows another, wherever both are used."""
    return proofs.document({"id": f"did:key:{new}", "follows": f"did:key:{old}"})


def _endorsed(entry: Entry) -> bool:
    """Whether the key that an entry follows has endorsed it."""
    if entry.follows is None or entry.endorsement is None:
        return False
    said = {
        "id": f"did:key:{entry.key}#proof",
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-rdfc-2022",
        "created": entry.created,
        "verificationMethod": _own_method(entry.follows),
        "proofPurpose": "assertionMethod",
        "proofValue": entry.endorsement,
    }
    try:
        proofs.verify({**_succession(entry.follows, entry.key), "proof": said}, entry.follows)
    except SignatureError:
        return False
    return True


def _own_method(key: str) -> str:
    """The verification method of a key that stands for itself (did:key)."""
    return f"did:key:{key}#{key}"


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
