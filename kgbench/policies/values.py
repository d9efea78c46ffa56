# SPDX-License-Identifier: Apache-2.0
"""RDF terms in N-Triples syntax, and a key for the value of each, by the form of a policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Final, NamedTuple

from kgbench.policies import times
from kgbench.scoring.result_sets import shorten_iri
from kgbench.vocab import XSD

Key = Callable[[str], str]

_DIGITS: Final = 10  # significant digits compared: means of engines differ after the fifteenth
_LARGEST: Final = 400  # a power of ten beyond all doubles: huge exponents would fill the memory
NUMERIC: Final = frozenset(
    f"{XSD}{name}"
    for name in (
        "integer",
        "decimal",
        "double",
        "float",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "unsignedByte",
    )
)
_LITERAL: Final = re.compile(
    r'"((?:[^"\\]|\\.)*+)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?\Z', re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


class Term(NamedTuple):
    """An RDF term: ``kind`` is ``uri``, ``bnode``, ``literal`` or ``triple``, as in SPARQL-JSON.

    The ``value`` of a triple term is the whole term.
    """

    kind: str
    value: str
    language: str | None = None
    datatype: str | None = None


def parse_term(term: str) -> Term:
    """Parse an N-Triples term; text that is neither IRI nor literal is a blank node's label.

    >>> parse_term('"1"^^<http://e.org/i>')
    Term(kind='literal', value='1', language=None, datatype='http://e.org/i')
    >>> parse_term("<http://e.org/a>").kind, parse_term("_:b0").value
    ('uri', 'b0')
    """
    if term.startswith("<<("):
        return Term("triple", term)
    if term.startswith("<") and not term.startswith("<<"):
        return Term("uri", term[1:-1])
    literal = _LITERAL.match(term)
    if literal is None:
        return Term("bnode", term.removeprefix("_:"))
    value, language, datatype = literal.groups()
    return Term("literal", _ESCAPE.sub(_character, value), language, datatype)


def format_term(term: Term) -> str:
    """Return ``term`` as N-Triples writes it; :func:`parse_term` reverses it."""
    if term.kind == "triple":
        return term.value
    if term.kind == "uri":
        return f"<{term.value}>"
    if term.kind == "bnode":
        return f"_:{term.value}"
    quoted = f'"{term.value.translate(_ESCAPES)}"'
    if term.language is not None:
        return f"{quoted}@{term.language}"
    return quoted if term.datatype is None else f"{quoted}^^<{term.datatype}>"


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CHARACTERS.get(match[3], match[3])


def key(form: str, prefixes: Mapping[str, str]) -> Key:
    """Return the function from N-Triples terms to keys; equal values have equal keys.

    ``form`` is one of :data:`FORMS`; only forms that shorten IRIs use ``prefixes``.
    """
    return partial(prefixed, prefixes=prefixes) if form == "prefixed" else FORMS[form]


def lexical(term: str) -> str:
    """Return the lexical form only: an IRI and a literal with the same text are the same value."""
    return parse_term(term).value


def prefixed(term: str, prefixes: Mapping[str, str] | None = None) -> str:
    """Return an IRI shortened by a prefix if one fits, or a literal's lexical form.

    An IRI that no prefix fits is in angle brackets.
    """
    parsed = parse_term(term)
    if parsed.kind == "uri":
        return shorten_iri(parsed.value, prefixes or {})
    return parsed.value if parsed.kind == "literal" else term


def whole(term: str) -> str:
    """Return the whole term, with datatype and language; ``xsd:string`` counts as no datatype."""
    return term.removesuffix(f"^^<{XSD.string}>")


def by_value(term: str) -> str:
    """Return a key by a value (of numbers, times, binary data), a text's characters, or the term.

    Numbers of all numeric datatypes are compared with ten digits, times as
    :func:`kgbench.policies.times.canonical` says. The language of a text is ignored. Labels of
    blank nodes have no meaning outside their result, so all blank nodes are equal.

    >>> one = by_value(f'"1"^^<{XSD.integer}>')
    >>> one == by_value(f'"1.0"^^<{XSD.double}>'), one == by_value('"1"')
    (True, False)
    >>> noon = by_value(f'"2020-01-01T12:00:00Z"^^<{XSD.dateTime}>')
    >>> noon == by_value(f'"2020-01-01T13:00:00.0+01:00"^^<{XSD.dateTime}>')
    True
    """
    parsed = parse_term(term)
    if parsed.kind != "literal":
        return "blank" if parsed.kind == "bnode" else term
    if parsed.datatype in NUMERIC:
        return f"number {_number(parsed.value)}"
    if parsed.datatype is None or parsed.datatype == XSD.string:
        return f"text {parsed.value}"
    if parsed.datatype == XSD.boolean:
        return f"boolean {({'1': 'true', '0': 'false'}).get(parsed.value, parsed.value)}"
    if (text := times.canonical(parsed.value, parsed.datatype)) is not None:
        return f"{times.datatype_of_value(parsed.datatype)} {text}"
    return term


def with_canonical_time(term: str) -> str:
    """Return ``term``, a literal of a time or of binary data in its canonical form.

    Graphs are compared with such terms; their other values are compared as they are written.
    """
    if not times.has_forms(term[term.rfind("^^<") + 3 : -1]):
        return term
    parsed = parse_term(term)
    text = times.canonical(parsed.value, parsed.datatype)
    return term if text is None else format_term(parsed._replace(value=text))


FORMS: Final[Mapping[str, Key]] = {
    "lexical": lexical,
    "prefixed": prefixed,
    "whole": whole,
    "by-value": by_value,
}
"""The key functions of values, by the word that policies use."""


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
