# SPDX-License-Identifier: Apache-2.0
"""Parser and writer of RDF terms in N-Triples syntax."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
