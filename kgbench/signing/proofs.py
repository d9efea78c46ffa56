# SPDX-License-Identifier: Apache-2.0
"""Data Integrity proofs of the suite ``eddsa-rdfc-2022`` (W3C, Data Integrity EdDSA 1.0, 3.2).

A document is JSON-LD under the one context that kgbench knows, so that nobody can change what it
states by another context, and nothing is fetched. Its statements are what is signed, so readers
take values from them (:class:`Stated`), never from the JSON, which may hold more. The signature is
over the SHA-256 of the canonical options of the proof, followed by that of the canonical document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import SignatureError
from kgbench.signing.canonical import canonical
from kgbench.signing.keys import SigningKey, verifies
from kgbench.signing.multibase import decode, encode
from kgbench.vocab import XSD

LARGEST: Final = 1 << 20
"""The most bytes of a signed document."""

_DEEPEST: Final = 12
_KIND: Final = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-rdfc-2022"}
_PURPOSE: Final = "assertionMethod"
Document = dict[str, Any]


class Proof(NamedTuple):
    """Who signed a document and when, as its proof says."""

    method: str
    created: datetime


@cache
def context() -> dict[str, Any]:
    """The context of all signed documents."""
    found: dict[str, Any] = json.loads(resources.text("ontology", "signed.jsonld"))["@context"]
    return found


def document(content: Mapping[str, Any]) -> Document:
    """A document with the context, to be signed."""
    return {"@context": context(), **content}


def of_quads(quads: Iterable[ox.Quad]) -> Document:
    """A document that states what ``quads`` of the default graph do, all about one subject.

    Raises :class:`~kgbench.errors.SignatureError` for several subjects and for blank nodes.
    """
    values: dict[str, Any] = {}
    subjects = set()
    for quad in quads:
        subjects.add(_name(quad.subject))
        values.setdefault(quad.predicate.value, []).append(_object(quad.object))
    if len(subjects) != 1:
        raise SignatureError("a document to be signed is about one subject")
    return document({"id": subjects.pop(), **values})


def secure(unsigned: Document, key: SigningKey, method: str, now: datetime) -> Document:
    """The document with a proof by ``key``, whose verification method is the IRI ``method``."""
    said = {
        "id": f"{unsigned['id'].partition('#')[0]}#proof",
        **_KIND,
        "created": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "verificationMethod": method,
        "proofPurpose": _PURPOSE,
    }
    value = encode(key.sign(_hashed(unsigned, said)))
    return {**unsigned, "proof": {**said, "proofValue": value}}


def claimed(secured: Document) -> Proof:
    """What the proof of a document says, true or not.

    Raises :class:`~kgbench.errors.SignatureError` where there is no proof of this suite.
    """
    said = secured.get("proof")
    if not isinstance(said, dict) or any(said.get(name) != _KIND[name] for name in _KIND):
        raise SignatureError("the document has no proof of the suite eddsa-rdfc-2022")
    method, created = said.get("verificationMethod"), said.get("created")
    if said.get("proofPurpose") != _PURPOSE or not isinstance(method, str):
        raise SignatureError("the proof is not an assertion by a named key")
    return Proof(method, moment(created))


def verify(secured: Document, key: str) -> Document:
    """The document without its proof, which ``key`` (Multikey) has made.

    Raises :class:`~kgbench.errors.SignatureError` where it has not, or something was changed since.
    """
    claimed(secured)
    said = dict(secured["proof"])
    value = said.pop("proofValue", None)
    unsigned = {name: part for name, part in secured.items() if name != "proof"}
    if not isinstance(value, str) or not verifies(key, decode(value), _hashed(unsigned, said)):
        raise SignatureError("the signature does not fit: the document was changed, or forged")
    return unsigned


def read(content: bytes) -> Document:
    """A signed document from its bytes, which may be anything.

    Raises :class:`~kgbench.errors.SignatureError` for what is no document under our context.
    """
    if len(content) > LARGEST:
        raise SignatureError("the document is larger than any that is signed")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise SignatureError("the document is no JSON") from None
    if not isinstance(found, dict) or found.get("@context") != context():
        raise SignatureError("the document is not under the context of kgbench's signed documents")
    _refuse_nested({name: part for name, part in found.items() if name != "@context"}, _DEEPEST)
    return found


def written(secured: Document) -> str:
    """A signed document as text."""
    return json.dumps(secured, indent=1, ensure_ascii=False) + "\n"


def quads(unsigned: Document) -> list[ox.Quad]:
    """What a document states."""
    try:
        return list(ox.parse(json.dumps(unsigned).encode(), ox.RdfFormat.JSON_LD))
    except SyntaxError as error:
        raise SignatureError(f"the document is no JSON-LD: {error.msg}") from None


class Stated:
    """The statements of a document, for reading value by value."""

    def __init__(self, unsigned: Document) -> None:
        self._values: dict[tuple[str, str], list[str]] = {}
        for quad in quads(unsigned):
            if isinstance(quad.subject, ox.NamedNode) and not isinstance(quad.object, ox.Triple):
                place = (quad.subject.value, quad.predicate.value)
                self._values.setdefault(place, []).append(quad.object.value)

    def all(self, subject: str, predicate: str) -> list[str]:
        """All values, sorted."""
        return sorted(self._values.get((subject, predicate), []))

    def one(self, subject: str, predicate: str) -> str | None:
        """The only value; ``None`` where there is none.

        Raises :class:`~kgbench.errors.SignatureError` where there are several.
        """
        values = self.all(subject, predicate)
        if len(values) > 1:
            raise SignatureError(f"the document states several values of {predicate}")
        return values[0] if values else None


def moment(text: object) -> datetime:
    """A time with its zone; raises :class:`~kgbench.errors.SignatureError` for anything else."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise SignatureError(f"the time '{str(text)[:40]}' in a signed document cannot be read")
    return found


def _hashed(unsigned: Document, said: Mapping[str, Any]) -> bytes:
    """What is signed (section 3.2.4)."""
    options = {"@context": unsigned["@context"], **said}
    parts = (hashlib.sha256(canonical(quads(one))).digest() for one in (options, unsigned))
    return b"".join(parts)


def _refuse_nested(value: Any, levels: int) -> None:
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise SignatureError("the document is nested more deeply than any that is signed")
    if isinstance(value, dict) and "@context" in value:
        raise SignatureError("the document changes its context inside")
    for part in value.values() if isinstance(value, dict) else value:
        _refuse_nested(part, levels - 1)


def _name(term: Any) -> str:
    if not isinstance(term, ox.NamedNode):
        raise SignatureError("a document to be signed has a blank node")
    return term.value


def _object(term: Any) -> dict[str, str]:
    if not isinstance(term, ox.Literal):
        return {"@id": _name(term)}
    if term.language is not None:
        return {"@value": term.value, "@language": term.language}
    if term.datatype.value == XSD.string:
        return {"@value": term.value}
    return {"@value": term.value, "@type": term.datatype.value}
