# SPDX-License-Identifier: Apache-2.0
"""Values of sources, with the datatypes that RDF has for them, and the records they come from."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from typing import Final, NamedTuple, Protocol

from kgbench.vocab import XSD

_DIGITS: Final = 17  # significant digits that tell all numbers of xsd:double apart


class Value(NamedTuple):
    """A value as text, and the datatype of the natural mapping (``None``: a plain string)."""

    text: str
    datatype: str | None = None

    @property
    def natural(self) -> str:
        """The lexical form of the natural mapping: canonical for xsd:double."""
        return canonical_double(self.text) if self.datatype == XSD.double else self.text


class Record(Protocol):
    """A row, an element, or part of a JSON document: what one iteration is about."""

    @abstractmethod
    def values(self, reference: str) -> list[Value]:
        """Return what a reference finds here: nothing where there is no value.

        Raises :class:`~kgbench.mapping.limits.MappingError` for an ill-formed reference.
        """


def canonical_double(text: str) -> str:
    """Return the canonical form of a number as XML Schema 1.0 has it.

    >>> canonical_double("30"), canonical_double("0.015")
    ('3.0E1', '1.5E-2')
    """
    number = float(text)
    if number == 0:
        return "0.0E0"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    whole = "".join(map(str, digits)).rstrip("0")[:_DIGITS] or "0"
    power = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{whole[0]}.{whole[1:] or '0'}E{power}"
