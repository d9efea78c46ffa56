# SPDX-License-Identifier: Apache-2.0
"""What counts as the same value: one key for each RDF term, by the form that a policy names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Final

from kgbench.policies.terms import read
from kgbench.scoring.result_sets import shortened
from kgbench.vocab import XSD

Key = Callable[[str], str]

_DIGITS: Final = 10  # that two numbers must share: means of engines differ behind the fifteenth
_LARGEST: Final = 400  # a power of ten beyond all doubles; hostile exponents would fill the memory
NUMERIC: Final = frozenset(
    f"{XSD}{name}"
    for name in (
        *("integer", "decimal", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)


def key(form: str, prefixes: Mapping[str, str]) -> Key:
    """The function from N-Triples terms to keys that two equal values share.

    ``form`` is one of :data:`FORMS`; ``prefixes`` serve only to shorten IRIs, where it does so.
    """
    return partial(prefixed, prefixes=prefixes) if form == "prefixed" else FORMS[form]


def lexical(term: str) -> str:
    """The lexical form alone: an IRI and a literal of the same text are the same value."""
    return read(term).value


def prefixed(term: str, prefixes: Mapping[str, str] | None = None) -> str:
    """An IRI by prefix where one fits, else in angle brackets; a literal by its lexical form."""
    found = read(term)
    if found.kind == "uri":
        return shortened(found.value, prefixes or {})
    return found.value if found.kind == "literal" else term


def whole(term: str) -> str:
    """The whole term, with datatype and language; ``xsd:string`` is no datatype of its own."""
    return term.removesuffix(f"^^<{XSD.string}>")


def by_value(term: str) -> str:
    """A number by its value, a text by its characters; every other term whole.

    Numbers of all numeric datatypes are compared with ten digits. The language of a text does not
    count. Labels of blank nodes mean nothing outside their result, so all blank nodes are equal.

    >>> one = by_value(f'"1"^^<{XSD.integer}>')
    >>> one == by_value(f'"1.0"^^<{XSD.double}>'), one == by_value('"1"')
    (True, False)
    """
    found = read(term)
    if found.kind != "literal":
        return "blank" if found.kind == "bnode" else term
    if found.datatype in NUMERIC:
        return f"number {_number(found.value)}"
    if found.datatype is None or found.datatype == XSD.string:
        return f"text {found.value}"
    if found.datatype == XSD.boolean:
        return f"boolean {({'1': 'true', '0': 'false'}).get(found.value, found.value)}"
    return term


FORMS: Final[Mapping[str, Key]] = {
    "lexical": lexical,
    "prefixed": prefixed,
    "whole": whole,
    "by-value": by_value,
}
"""What a value can be, by the word that policies use."""


def _number(text: str) -> str:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return text
    if not value.is_finite() or not -_LARGEST < value.adjusted() < _LARGEST:
        return str(value)
    rounded = Decimal(f"{value:.{_DIGITS - 1}e}")
    if value == value.to_integral_value() and value.adjusted() >= _DIGITS:
        return str(int(value))
    return format(rounded.normalize() + 0, "f")
