# SPDX-License-Identifier: Apache-2.0
"""Casts to the integer types derived from ``xsd:integer``, which SPARQL 1.1 does not define.

Most endpoints support them, so published queries use them (``xsd:int(?price)``). The result is that
of the cast to ``xsd:integer`` (XPath and XQuery Functions and Operators 3.1, section 19.1), typed
as ``xsd:integer``, so that arithmetic works with it. Numbers are truncated; strings must have
the lexical form of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
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
_BOOLEAN: Final = ox.NamedNode(XSD.boolean)
_BOOLEANS: Final = {"true": "1", "1": "1", "false": "0", "0": "0"}
_STRING: Final = ox.NamedNode(XSD.string)
_CAST: Final = frozenset(
    ox.NamedNode(f"{XSD}{name}")
    for name in (*_DERIVED, "integer", "decimal", "float", "double", "boolean", "string")
)
_SPACE: Final = " \t\r\n"
_DIGITS: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_LONGEST: Final = 40  # digits of a value; values with huge exponents would fill the memory


def to_integer(*terms: object) -> ox.Literal | None:
    """Cast the only term of ``terms`` to ``xsd:integer``; ``None`` is an expression error."""
    term = terms[0] if len(terms) == 1 else None
    if not isinstance(term, ox.Literal):
        return None
    text = term.value.strip(_SPACE)
    if term.datatype == _BOOLEAN:
        text = _BOOLEANS.get(text, "")
    lexical = _DIGITS if term.datatype == _STRING else _NUMBER
    if term.datatype not in _CAST or lexical.fullmatch(text) is None:
        return None
    value = Decimal(text)
    if value.adjusted() > _LONGEST:
        return None
    return ox.Literal(str(int(value)), datatype=_INTEGER)


FUNCTIONS: Final[dict[ox.NamedNode, Callable[..., ox.Literal | None]]] = {
    ox.NamedNode(f"{XSD}{name}"): to_integer for name in _DERIVED
}
