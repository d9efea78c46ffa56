# SPDX-License-Identifier: Apache-2.0
"""Lists of a signer's public keys with their dates.

``KEYFILE.keys`` is the signer's list. A publication contains it as a controller document (W3C
Controlled Identifiers 1.0). A listed key is not trusted because it is listed: readers name the keys
that they trust. A revoked key vouches for nothing, whatever time its signature claims, because the
thief of a key also writes the time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench import files
from kgbench.errors import SignatureError
from kgbench.signing.keys import public_bytes, public_key
from kgbench.signing.proofs import Document, Statements, claimed_proof, document, parse_time, verify
from kgbench.vocab import DCTERMS, RDFS, SEC

SUFFIX: Final = ".keys"
_MOST: Final = 1_000  # keys that a document may list


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A public key (Multikey) with its times of creation and revocation (ISO 8601)."""

    key: str
    created: str = ""
    revoked: str | None = None
    reason: str | None = None


class KeyList:
    """Public keys, oldest first."""

    def __init__(self, entries: Iterable[KeyEntry] = ()) -> None:
        self.entries = {entry.key: entry for entry in entries}

    @classmethod
    def read(cls, path: Path) -> KeyList:
        """Read the list beside the key file ``path``.

        Raises :class:`~kgbench.errors.SignatureError` if it cannot be read.
        """
        list_path = path.with_name(path.name + SUFFIX)
        try:
            return cls(
                KeyEntry(**item) for item in json.loads(list_path.read_text(encoding="utf-8"))
            )
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise SignatureError(
                f"{list_path} cannot be read ({why}): it lists your public keys, so name another "
                "key, or restore the file from a copy"
            ) from None

    @classmethod
    def given(cls, texts: Iterable[str]) -> KeyList:
        """Return the keys that a user names: public keys, their files, or files of lists.

        Raises :class:`~kgbench.errors.SignatureError` for anything else.
        """
        entries: list[KeyEntry] = []
        for text in texts:
            if text.endswith(SUFFIX):
                listed = cls.read(Path(text.removesuffix(SUFFIX)))
                entries += listed.entries.values()
                for key in listed.entries:
                    public_bytes(key)
            else:
                entries.append(KeyEntry(public_key(text)))
        # A revocation counts also where the same key is named a second time.
        keys = cls(sorted(entries, key=lambda entry: entry.revoked is not None))
        if entries and not keys.usable:
            raise SignatureError("all keys that were given are revoked: name one that is not")
        return keys

    @property
    def usable(self) -> list[str]:
        """The keys that are not revoked."""
        return [entry.key for entry in self.entries.values() if entry.revoked is None]

    @property
    def revoked(self) -> list[KeyEntry]:
        """The keys that are revoked."""
        return [entry for entry in self.entries.values() if entry.revoked is not None]

    def keep(self, path: Path) -> None:
        """Write the list beside the key file ``path``, atomically."""
        list_path = path.with_name(path.name + SUFFIX)
        text = json.dumps([asdict(entry) for entry in self.entries.values()], indent=1)
        try:
            files.write(list_path, text + "\n")
        except OSError as error:
            raise SignatureError(f"{list_path} cannot be written: {error.strerror}") from None

    def adding(self, key: str, now: datetime) -> KeyList:
        """Return the list with a new key."""
        return KeyList([*self.entries.values(), KeyEntry(key, _text(now))])

    def revoking(self, key: str, reason: str, now: datetime) -> KeyList:
        """Return the list in which ``key`` is revoked.

        Raises :class:`~kgbench.errors.SignatureError` for an unknown, already revoked or newest
        key.
        """
        if key not in self.entries:
            raise SignatureError(f"the list has no key {key}")
        if key == list(self.entries)[-1]:
            raise SignatureError(
                f"the key {key} is the newest: make another one first (keys new --after), and "
                "revoke it there"
            )
        if self.entries[key].revoked is not None:
            raise SignatureError(f"the key {key} is already revoked")
        entry = replace(self.entries[key], revoked=_text(now), reason=reason)
        return self.knowing([entry])

    def knowing(self, revoked: Iterable[KeyEntry]) -> KeyList:
        """Return the list in which its keys among ``revoked`` are revoked, too."""
        known = {entry.key: entry for entry in revoked if entry.key in self.entries}
        return KeyList((self.entries | known).values())

    # --- published ---------------------------------------------------------------------------

    def document(self, iri: str) -> Document:
        """Return the controller document with the IRI ``iri``."""
        return document(
            {
                "id": iri,
                "verificationMethod": [_method(iri, entry) for entry in self.entries.values()],
                "assertionMethod": [f"{iri}#{key}" for key in self.usable],
            }
        )

    @classmethod
    def published(
        cls,
        secured: Document,
        iri: str,
        trusted: Collection[str],
        revoked: Iterable[KeyEntry] = (),
    ) -> KeyList:
        """Return the keys of a controller document that one of them signed.

        ``trusted`` are the keys that may have signed it, any listed key if it is empty; ``revoked``
        are keys that are known to be revoked. Raises :class:`~kgbench.errors.SignatureError`.
        """
        unsigned = {name: part for name, part in secured.items() if name != "proof"}
        listed = cls(_entries(Statements(unsigned), iri)).knowing(revoked)
        listed.verify(secured, iri, trusted)
        return listed

    def verify(self, secured: Document, iri: str, trusted: Collection[str]) -> Document:
        """Verify a document that a key of this list signed, and return it without its proof.

        ``iri`` names the list, and ``trusted`` is as in :meth:`published`. Raises
        :class:`~kgbench.errors.SignatureError` for an invalid signature, and for an unknown,
        revoked or untrusted key.
        """
        method = claimed_proof(secured).method
        start, _, key = method.partition("#")
        entry = self.entries.get(key)
        if start != iri or entry is None:
            raise SignatureError(f"it is signed by {method}, which is not a key of {iri}")
        if entry.revoked is not None:
            why = f" ({entry.reason})" if entry.reason else ""
            raise SignatureError(
                f"it is signed by the key {key}, which was revoked at {entry.revoked}{why} and "
                "vouches for nothing: ask its publisher to sign with another key"
            )
        if trusted and key not in trusted:
            raise SignatureError(
                f"it is signed by the key {key}, which is not trusted: a new key of its publisher "
                "must reach you by other means than the publication"
            )
        return verify(secured, key)


def standing(signer: str | None, *, vouched: bool) -> str:
    """Return in words who signed a publication, and whether a key that the user named did."""
    if signer is None:
        return "unsigned"
    named = "vouched for" if vouched else "not vouched for, because no given key signed it"
    return f"signed by {signer}, {named}"


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
        parse_time(created)
        revoked, reason = stated.one(method, SEC.revoked), stated.one(method, RDFS.comment)
        entries.append(KeyEntry(key, created, revoked, reason))
    return iter(sorted(entries, key=lambda entry: parse_time(entry.created)))


def _method(iri: str, entry: KeyEntry) -> Mapping[str, str]:
    values = {
        "id": f"{iri}#{entry.key}",
        "type": "Multikey",
        "controller": iri,
        "publicKeyMultibase": entry.key,
        "created": entry.created,
        "revoked": entry.revoked,
        "reason": entry.reason,
    }
    return {name: value for name, value in values.items() if value is not None}


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
