# SPDX-License-Identifier: Apache-2.0
"""The history of a signer's keys: their order of succession and revocations.

The private key that a new key replaces endorses it with a proof. Readers who know the earlier key
can therefore trust the later one. ``KEYFILE.keys`` holds the history up to a key. A publication
contains it as a controller document (W3C Controlled Identifiers 1.0), signed by the newest key.
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
from kgbench.signing.proofs import Document, Proof, Statements
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS, SEC

SUFFIX: Final = ".keys"
_MOST: Final = 1_000  # keys that a document may list


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A public key (Multikey) with its times of creation and revocation (ISO 8601).

    ``follows`` is the key that it replaces, and ``endorsement`` the proof by that key.
    """

    key: str
    created: str
    follows: str | None = None
    endorsement: str | None = None
    revoked: str | None = None
    reason: str | None = None

    def revoked_at(self, when: datetime) -> bool:
        """Return whether the key was revoked at ``when`` or earlier."""
        return self.revoked is not None and proofs.parse_time(self.revoked) <= when


class KeyHistory:
    """The keys of one signer, oldest first."""

    def __init__(self, entries: Collection[KeyEntry]) -> None:
        self.entries = {entry.key: entry for entry in entries}

    @classmethod
    def start(cls, key: str, now: datetime) -> KeyHistory:
        """Start a history with a first key."""
        return cls([KeyEntry(key, _text(now))])

    @classmethod
    def read(cls, path: Path) -> KeyHistory:
        """Read the history beside the key file ``path``.

        Raises :class:`~kgbench.errors.SignatureError` if it cannot be read.
        """
        history_path = path.with_name(path.name + SUFFIX)
        try:
            items = json.loads(history_path.read_text(encoding="utf-8"))
            return cls([KeyEntry(**item) for item in items])
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise SignatureError(
                f"{history_path} cannot be read ({why}): it lists the predecessors of {path}, so "
                "name another key, or restore the file from a copy"
            ) from None

    def keep(self, path: Path) -> None:
        """Write the history beside the key file ``path``, atomically."""
        history_path = path.with_name(path.name + SUFFIX)
        unfinished = history_path.with_name(f".{history_path.name}.unfinished")
        text = json.dumps([asdict(entry) for entry in self.entries.values()], indent=1)
        try:
            unfinished.write_text(text + "\n", encoding="utf-8")
            unfinished.replace(history_path)
        except OSError as error:
            raise SignatureError(f"{history_path} cannot be written: {error.strerror}") from None

    def with_successor(self, old: SigningKey, new: str, now: datetime) -> KeyHistory:
        """Return the history in which ``new`` replaces ``old``, whose private key endorses it."""
        created = _text(now)
        secured = proofs.secure(_succession(old.public, new), old, _own_method(old.public), now)
        entry = KeyEntry(new, created, old.public, secured["proof"]["proofValue"])
        return KeyHistory([*self.entries.values(), entry])

    def revoking(self, key: str, reason: str, now: datetime) -> KeyHistory:
        """Return the history in which ``key`` is revoked.

        Raises :class:`~kgbench.errors.SignatureError` for an unknown, already revoked or newest
        key.
        """
        if key not in self.entries:
            raise SignatureError(f"the history has no key {key}")
        if key == list(self.entries)[-1]:
            raise SignatureError(
                f"the key {key} is the newest: make its successor first, and revoke it there"
            )
        if self.entries[key].revoked is not None:
            raise SignatureError(f"the key {key} is already revoked")
        revoked_entry = replace(self.entries[key], revoked=_text(now), reason=reason)
        return KeyHistory([{**self.entries, key: revoked_entry}[name] for name in self.entries])

    # --- published ---------------------------------------------------------------------------

    def document(self, iri: str) -> Document:
        """Return the controller document with the IRI ``iri``."""
        usable = [f"{iri}#{e.key}" for e in self.entries.values() if e.revoked is None]
        return proofs.document(
            {
                "id": iri,
                "verificationMethod": [_method(iri, entry) for entry in self.entries.values()],
                "assertionMethod": usable,
            }
        )

    @classmethod
    def trusted(cls, secured: Document, iri: str, keys: Collection[str]) -> KeyHistory:
        """Return the keys of a signed controller document, if it can be trusted.

        The key that signed it must be among ``keys``, or replace one of them through endorsements.
        Without ``keys`` any valid signature by a listed key suffices. Raises
        :class:`~kgbench.errors.SignatureError`.
        """
        unsigned = {name: part for name, part in secured.items() if name != "proof"}
        history = cls(list(_entries(Statements(unsigned), iri)))
        proof = proofs.claimed_proof(secured)
        signer = history.signer(proof, iri)
        proofs.verify(secured, signer.key)
        if keys and not history._endorsement_chain(signer.key).intersection(keys):
            raise SignatureError(
                f"it is signed by the key {signer.key}, which is not trusted and which no trusted "
                "key endorsed"
            )
        return history

    def signer(self, proof: Proof, iri: str) -> KeyEntry:
        """Return the entry of the key that a proof names.

        Raises :class:`~kgbench.errors.SignatureError` if the key is unknown, or was revoked when
        the proof was made.
        """
        start, _, key = proof.method.partition("#")
        entry = self.entries.get(key)
        if start != iri or entry is None:
            raise SignatureError(f"it is signed by {proof.method}, which is not a key of {iri}")
        if entry.revoked_at(proof.created):
            why = f" ({entry.reason})" if entry.reason else ""
            raise SignatureError(
                f"it was signed at {_text(proof.created)} by the key {key}, which was revoked at "
                f"{entry.revoked}{why}"
            )
        return entry

    def _endorsement_chain(self, key: str) -> set[str]:
        """Return ``key`` and all earlier keys that lead to it by endorsements."""
        reached: set[str] = set()
        current: str | None = key
        while current is not None and current not in reached:
            reached.add(current)
            entry = self.entries.get(current)
            current = entry.follows if entry is not None and _endorsed(entry) else None
        return reached


def _entries(stated: Statements, iri: str) -> Iterator[KeyEntry]:
    methods = stated.all(iri, SEC.verificationMethod)
    if not methods or len(methods) > _MOST:
        raise SignatureError(f"the document of keys lists {len(methods)} keys, not 1 to {_MOST}")
    entries = []
    for method in methods:
        key = stated.one(method, SEC.publicKeyMultibase)
        created = stated.one(method, DCTERMS.created)
        if key is None or created is None or method != f"{iri}#{key}":
            raise SignatureError(f"the key {method} in the document of keys is malformed")
        public_bytes(key)
        proofs.parse_time(created)
        follows = stated.one(method, PROV.wasRevisionOf)
        entries.append(
            KeyEntry(
                key,
                created,
                None if follows is None else follows.rpartition("#")[2],
                stated.one(method, KGB.endorsement),
                stated.one(method, SEC.revoked),
                stated.one(method, RDFS.comment),
            )
        )
    return iter(sorted(entries, key=lambda entry: proofs.parse_time(entry.created)))


def _method(iri: str, entry: KeyEntry) -> Mapping[str, str]:
    fields = {
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
    return {name: value for name, value in fields.items() if value is not None}


def _succession(old: str, new: str) -> Document:
    """Return the statement that one key replaces another, independent of any publication."""
    return proofs.document({"id": f"did:key:{new}", "follows": f"did:key:{old}"})


def _endorsed(entry: KeyEntry) -> bool:
    """Return whether the replaced key has endorsed this entry."""
    if entry.follows is None or entry.endorsement is None:
        return False
    proof = {
        "id": f"did:key:{entry.key}#proof",
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-rdfc-2022",
        "created": entry.created,
        "verificationMethod": _own_method(entry.follows),
        "proofPurpose": "assertionMethod",
        "proofValue": entry.endorsement,
    }
    try:
        proofs.verify({**_succession(entry.follows, entry.key), "proof": proof}, entry.follows)
    except SignatureError:
        return False
    return True


def _own_method(key: str) -> str:
    """Return the verification method of a key as its own controller (did:key)."""
    return f"did:key:{key}#{key}"


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
