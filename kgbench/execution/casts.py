# SPDX-License-Identifier: Apache-2.0
"""Casts to the integer types derived from ``xsd:integer``, which SPARQL 1.1 does not define.

Most endpoints support them, so published queries use them (``xsd:int(?price)``). The result is that
of the cast to ``xsd:integer`` (XPath and XQuery Functions and Operators 3.1, section 19.1), typed
as ``xsd:integer``, so that arithmetic works with it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Final

import pyoxigraph as ox

from kgbench.vocab import XSD

_INTEGER: Final = ox.NamedNode(XSD.integer)
_DERIVED: Final = (
    "int",
    "long",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "unsignedInt",
    "unsignedLong",
    "unsignedShort",
    "unsignedByte",
    "nonPositiveInteger",
    "negativeInteger",
)
_LONGEST: Final = 40  # digits of a value; values with huge exponents would fill the memory


def to_integer(*terms: object) -> ox.Literal | None:
    """Cast the only term of ``terms`` to ``xsd:integer``; ``None`` is an expression error."""
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
