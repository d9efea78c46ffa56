# SPDX-License-Identifier: Apache-2.0
"""Values of sources with their natural RDF datatypes, and the records that have them."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from math import isfinite, isnan
from typing import Final, NamedTuple, Protocol

from kgbench.vocab import XSD

_DIGITS: Final = 17  # significant digits that distinguish all values of xsd:double


class Value(NamedTuple):
    """A value as text, with the datatype of its natural mapping (``None``: a plain string)."""

    text: str
    datatype: str | None = None

    @property
    def natural(self) -> str:
        """The lexical form of the natural mapping: canonical for xsd:double."""
        return canonical_double(self.text) if self.datatype == XSD.double else self.text


class Record(Protocol):
    """One item of an iteration: a row, an element, or a part of a JSON document."""

    @abstractmethod
    def values(self, reference: str) -> list[Value]:
        """Return the values of a reference in this record; empty if there is none.

        Raises :class:`~kgbench.mapping.limits.MappingError` if the reference is ill-formed.
        """


def canonical_double(text: str) -> str:
    """Return the canonical form of an ``xsd:double`` by XML Schema 1.0.

    >>> canonical_double("30"), canonical_double("0.015"), canonical_double("-inf")
    ('3.0E1', '1.5E-2', '-INF')
    """
    number = float(text)
    if not isfinite(number):
        return "NaN" if isnan(number) else "INF" if number > 0 else "-INF"
    if number == 0:
        return "0.0E0"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits)).rstrip("0")[:_DIGITS] or "0"
    power = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{power}"
