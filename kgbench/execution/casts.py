# SPDX-License-Identifier: Apache-2.0
"""Casts to the integer types derived from ``xsd:integer``, which SPARQL 1.1 leaves out.

Most endpoints know them, so published queries use them (``xsd:int(?price)``). The value is that of
the cast to ``xsd:integer`` (XPath and XQuery Functions and Operators 3.1, section 19.1), as such
an integer, so that arithmetic goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

import pyoxigraph as ox

from kgbench.vocab import XSD

_INTEGER: Final = ox.NamedNode(XSD.integer)
_DERIVED: Final = (
    *("int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"),
    *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    *("nonPositiveInteger", "negativeInteger"),
)
_LONGEST: Final = 40  # digits of a value; hostile exponents would fill the memory


def to_integer(*terms: object) -> ox.Literal | None:
    """The one term of ``terms`` as an ``xsd:integer``; ``None`` is an error of the expression."""
    term = terms[0] if len(terms) == 1 else None
    if not isinstance(term, ox.Literal):
        return None
    text = {"true": "1", "false": "0"}.get(term.value, term.value.strip())
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > _LONGEST:
        return None
    return ox.Literal(str(int(value)), datatype=_INTEGER)


FUNCTIONS: Final[dict[ox.NamedNode, Callable[..., ox.Literal | None]]] = {
    ox.NamedNode(f"{XSD}{name}"): to_integer for name in _DERIVED
}
