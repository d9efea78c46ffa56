# SPDX-License-Identifier: Apache-2.0
"""Data Integrity proofs of the suite ``eddsa-rdfc-2022`` (W3C, Data Integrity EdDSA 1.0, 3.2).

A document is JSON-LD under the single context that kgbench knows: no other context can change its
meaning, and none is fetched. Signatures cover RDF statements, so readers take values from these
(:class:`Statements`) and never from the JSON, which may contain more. The signed bytes are the
SHA-256 of the canonical proof options, followed by the SHA-256 of the canonical document.

A quad without blank nodes has the same canonical line in every data set, so the canonical form is
the sorted set of these lines. Data sets with blank nodes or triple terms are refused: labelling
blank nodes can take exponential time (RDFC-1.0, section 7.1), and kgbench signs none. Data sets of
any size are canonicalised in bounded memory: sorted runs of lines are kept in temporary files and
merged.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import SignatureError
from kgbench.signing.keys import SigningKey, decode, encode, verifies
from kgbench.vocab import XSD

_AT_ONCE: Final = 200_000  # lines sorted in memory


def canonical(quads: Iterable[ox.Quad]) -> bytes:
    """Return the canonical N-Quads of a small data set; raises like :func:`digest`."""
    return b"".join(_merged(_lines(quads), None))


def digest(quads: Iterable[ox.Quad], scratch: Path | None = None) -> str:
    """Return the SHA-256 (hex) of the canonical N-Quads; temporary files go to ``scratch``.

    Raises :class:`~kgbench.errors.SignatureError` at the first blank node or triple term.
    """
    hasher = hashlib.sha256()
    for line in _merged(_lines(quads), scratch):
        hasher.update(line)
    return hasher.hexdigest()


def _lines(quads: Iterable[ox.Quad]) -> Iterator[list[bytes]]:
    """Yield batches of canonical lines, unsorted."""
    batch: list[ox.Quad] = []
    for quad in quads:
        if _cannot_be_signed(quad):
            raise SignatureError(
                "it has blank nodes or triple terms, which kgbench neither signs nor verifies"
            )
        batch.append(quad)
        if len(batch) >= _AT_ONCE:
            yield _serialised(batch)
            batch = []
    yield _serialised(batch)


def _serialised(quads: list[ox.Quad]) -> list[bytes]:
    out = io.BytesIO()
    ox.serialize(quads, out, ox.RdfFormat.N_QUADS)
    return out.getvalue().splitlines(keepends=True)


def _cannot_be_signed(quad: ox.Quad) -> bool:
    return (
        isinstance(quad.object, ox.BlankNode | ox.Triple)
        or isinstance(quad.subject, ox.BlankNode)
        or isinstance(quad.graph_name, ox.BlankNode)
    )


def _merged(batches: Iterator[list[bytes]], scratch: Path | None) -> Iterator[bytes]:
    """Yield all lines sorted by code point, without duplicates."""
    with ExitStack() as stack:
        runs: list[Iterable[bytes]] = []
        newest_batch: list[bytes] = []
        for batch in batches:
            if newest_batch:
                runs.append(_spooled(newest_batch, stack, scratch))
            batch.sort()  # the order of UTF-8 bytes is that of code points
            newest_batch = batch
        for line, _ in groupby(heapq.merge(*runs, newest_batch)):
            yield line


def _spooled(lines: list[bytes], stack: ExitStack, scratch: Path | None) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - the stack closes it
    stack.enter_context(file)
    file.writelines(lines)
    file.seek(0)
    return file


LARGEST: Final = 1 << 20
"""The most bytes of a signed document."""

_DEEPEST: Final = 12  # levels of nesting
_KIND: Final = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-rdfc-2022"}
_PURPOSE: Final = "assertionMethod"
Document = dict[str, Any]


class Proof(NamedTuple):
    """The verification method and time that a proof claims."""

    method: str
    created: datetime


@cache
def context() -> dict[str, Any]:
    """Return the JSON-LD context of all signed documents."""
    loaded: dict[str, Any] = json.loads(resources.text("ontology", "signed.jsonld"))["@context"]
    return loaded


def document(content: Mapping[str, Any]) -> Document:
    """Return a document with the context, ready for signing."""
    return {"@context": context(), **content}


def document_of_quads(quads: Iterable[ox.Quad]) -> Document:
    """Return a document that states the given quads of the default graph.

    Raises :class:`~kgbench.errors.SignatureError` for several subjects and for blank nodes.
    """
    values: dict[str, Any] = {}
    subjects = set()
    for quad in quads:
        subjects.add(_name(quad.subject))
        values.setdefault(quad.predicate.value, []).append(_object(quad.object))
    if len(subjects) != 1:
        raise SignatureError("a document for signing must have exactly one subject")
    return document({"id": subjects.pop(), **values})


def secure(unsigned: Document, key: SigningKey, method: str, now: datetime) -> Document:
    """Return the document with a proof by ``key``; ``method`` is its verification method (IRI)."""
    options = {
        "id": f"{unsigned['id'].partition('#')[0]}#proof",
        **_KIND,
        "created": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "verificationMethod": method,
        "proofPurpose": _PURPOSE,
    }
    value = encode(key.sign(_signed_bytes(unsigned, options)))
    return {**unsigned, "proof": {**options, "proofValue": value}}


def claimed_proof(secured: Document) -> Proof:
    """Return what the proof of a document claims, without verifying it.

    Raises :class:`~kgbench.errors.SignatureError` if there is no proof of this suite.
    """
    proof = secured.get("proof")
    if not isinstance(proof, dict) or any(proof.get(name) != _KIND[name] for name in _KIND):
        raise SignatureError("the document has no proof of the suite eddsa-rdfc-2022")
    method, created = proof.get("verificationMethod"), proof.get("created")
    if proof.get("proofPurpose") != _PURPOSE or not isinstance(method, str):
        raise SignatureError("the proof is not an assertion by a named key")
    return Proof(method, parse_time(created))


def verify(secured: Document, key: str) -> Document:
    """Verify that ``key`` (Multikey) signed a document, and return the document without its proof.

    Raises :class:`~kgbench.errors.SignatureError` if it did not, or if the document was changed.
    """
    claimed_proof(secured)
    options = dict(secured["proof"])
    value = options.pop("proofValue", None)
    unsigned = {name: part for name, part in secured.items() if name != "proof"}
    if not isinstance(value, str) or not verifies(
        key, decode(value), _signed_bytes(unsigned, options)
    ):
        raise SignatureError("the signature does not fit: the document was changed, or forged")
    return unsigned


def read(content: bytes) -> Document:
    """Parse a signed document from untrusted bytes.

    Raises :class:`~kgbench.errors.SignatureError` for anything but a document under our context.
    """
    if len(content) > LARGEST:
        raise SignatureError(f"the document has more than {LARGEST} bytes")
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        raise SignatureError("the document is not JSON") from None
    if not isinstance(parsed, dict) or parsed.get("@context") != context():
        raise SignatureError("the document does not use the context of kgbench's signed documents")
    _refuse_nested({name: part for name, part in parsed.items() if name != "@context"}, _DEEPEST)
    return parsed


def serialise(secured: Document) -> str:
    """Serialise a signed document as text."""
    return json.dumps(secured, indent=1, ensure_ascii=False) + "\n"


def quads(unsigned: Document) -> list[ox.Quad]:
    """Return the statements of a document."""
    try:
        return list(ox.parse(json.dumps(unsigned).encode(), ox.RdfFormat.JSON_LD))
    except SyntaxError as error:
        raise SignatureError(f"the document is not valid JSON-LD: {error.msg}") from None


class Statements:
    """The statements of a document, indexed by subject and predicate."""

    def __init__(self, unsigned: Document) -> None:
        self._values: dict[tuple[str, str], list[str]] = {}
        for quad in quads(unsigned):
            if isinstance(quad.subject, ox.NamedNode) and not isinstance(quad.object, ox.Triple):
                key = (quad.subject.value, quad.predicate.value)
                self._values.setdefault(key, []).append(quad.object.value)

    def all(self, subject: str, predicate: str) -> list[str]:
        """Return all values, sorted."""
        return sorted(self._values.get((subject, predicate), []))

    def one(self, subject: str, predicate: str) -> str | None:
        """Return the only value, or ``None`` if there is none.

        Raises :class:`~kgbench.errors.SignatureError` if there are several.
        """
        values = self.all(subject, predicate)
        if len(values) > 1:
            raise SignatureError(f"the document states several values of {predicate}")
        return values[0] if values else None


def parse_time(text: object) -> datetime:
    """Parse a time with its zone; return it in UTC.

    Raises :class:`~kgbench.errors.SignatureError` for anything else.
    """
    try:
        parsed = datetime.fromisoformat(str(text))
        moment = None if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):  # near the years 1 and 9999 other zones have no such time
        moment = None
    if moment is None:
        raise SignatureError(f"the time '{str(text)[:40]}' in a signed document cannot be read")
    return moment


def _signed_bytes(unsigned: Document, proof_options: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed (section 3.2.4)."""
    all_options = {"@context": unsigned["@context"], **proof_options}
    return b"".join(
        hashlib.sha256(canonical(quads(part))).digest() for part in (all_options, unsigned)
    )


def _refuse_nested(value: Any, levels: int) -> None:
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise SignatureError(f"the document is nested more than {_DEEPEST} levels deep")
    if isinstance(value, dict) and "@context" in value:
        raise SignatureError("the document has a second context inside")
    for part in value.values() if isinstance(value, dict) else value:
        _refuse_nested(part, levels - 1)


def _name(term: Any) -> str:
    if not isinstance(term, ox.NamedNode):
        raise SignatureError("a document for signing must not have blank nodes")
    return term.value


def _object(term: Any) -> dict[str, str]:
    if not isinstance(term, ox.Literal):
        return {"@id": _name(term)}
    if term.language is not None:
        return {"@value": term.value, "@language": term.language}
    if term.datatype.value == XSD.string:
        return {"@value": term.value}
    return {"@value": term.value, "@type": term.datatype.value}
