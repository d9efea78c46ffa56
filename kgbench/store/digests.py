# SPDX-License-Identifier: Apache-2.0
"""Counts and digests of graphs that do not depend on the engine.

The digest is the sum, modulo 2^256, of the SHA-256 of every triple, so it is independent of the
order and needs constant memory. Engines change the lexical forms of numbers and times, so these are
compared by value: ``1.0``, ``1`` and ``1e0`` are the same ``xsd:double``. Triples with blank nodes
are counted separately, as an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyoxigraph as ox

from kgbench.store.quirks import lexical
from kgbench.vocab import XSD

_MODULUS = 1 << 256
_FRACTION = re.compile(r"\.(\d*?)0*(?=Z|[+-]\d\d:\d\d$|$)")
_UTC = re.compile(r"[+-]00:00$")


@dataclass(slots=True)
class Digest:
    """An incremental count and digest of triples."""

    triples: int = 0
    blank: int = 0
    _sum: int = 0

    @property
    def value(self) -> str:
        """The digest, in 64 hexadecimal digits."""
        return f"{self._sum:064x}"

    def add(self, triple: ox.Triple) -> None:
        """Add a triple."""
        subject, predicate, value = triple
        self.triples += 1
        self.blank += isinstance(subject, ox.BlankNode) or isinstance(value, ox.BlankNode)
        line = f"{subject} {predicate} {_canonical(value)}"
        hashed = hashlib.sha256(line.encode("utf-8")).digest()
        self._sum = (self._sum + int.from_bytes(hashed, "big")) % _MODULUS

    def through(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
        """Yield ``triples``, and add each of them."""
        for triple in triples:
            self.add(triple)
            yield triple


def of(triples: Iterable[ox.Triple]) -> Digest:
    """Return the digest of ``triples``."""
    digest = Digest()
    for triple in triples:
        digest.add(triple)
    return digest


def _canonical(term: object) -> str:
    if isinstance(term, ox.Literal) and term.language is None:
        datatype = term.datatype.value
        form = _FORMS.get(datatype)
        if form is not None:
            return f'"{form(term.value)}"^^<{datatype}>'
    return str(term)


def _decimal(text: str) -> str:
    try:
        return f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text


def _integer(text: str) -> str:
    return str(int(text)) if re.fullmatch(r"[+-]?\d{1,4000}", text) else text


def _boolean(text: str) -> str:
    return {"0": "false", "1": "true"}.get(text, text)


def _moment(text: str) -> str:
    short = _FRACTION.sub(lambda match: f".{match[1]}" if match[1] else "", text, count=1)
    return _UTC.sub("Z", short)


_FORMS = {
    XSD.double: lexical,
    XSD.float: lexical,
    XSD.decimal: _decimal,
    XSD.integer: _integer,
    XSD.boolean: _boolean,
    XSD.dateTime: _moment,
}
