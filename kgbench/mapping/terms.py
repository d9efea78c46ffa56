# SPDX-License-Identifier: Apache-2.0
r"""Evaluation of term maps on records, with terms in N-Triples syntax.

A template is text with references in braces; ``\{``, ``\}`` and ``\\`` are escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import quote

import pyoxigraph as ox

from kgbench.mapping.document import BLANK, LITERAL, Expression, Record, TermMap, Value
from kgbench.mapping.limits import Budget, MappingError
from kgbench.vocab import RDF, XSD

_TOKEN: Final = re.compile(r"\\([{}\\])|[{}\\]|[^{}\\]+")
_ESCAPES: Final = {"\\": "a backslash escapes braces and backslashes only"}
_MISTAKES: Final = (
    {"}": "a closing brace has no opening one", **_ESCAPES},
    {"{": "there is a brace inside of braces", **_ESCAPES},
)
_UNRESERVED: Final = "-._~"
_LETTERS: Final = ((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), (0x10000, 0xEFFFD))


class Template(NamedTuple):
    """Pieces of text with a reference between each two adjacent pieces."""

    pieces: tuple[str, ...]
    references: tuple[str, ...]

    def filled(
        self,
        values: Callable[[str], Iterable[str]],
        written: Callable[[str], str],
        budget: Budget,
    ) -> list[str]:
        """Return the texts of a template, one for each combination of the values of its references.

        ``written`` converts each value before insertion.
        """
        columns = [[written(value) for value in values(name)] for name in self.references]
        result = []
        parts = [""] * (len(self.pieces) + len(self.references))
        parts[::2] = self.pieces
        for row in product(*columns):
            parts[1::2] = row
            text = "".join(parts)
            budget.spend("terms")
            budget.spend("characters", len(text))
            result.append(text)
        return result


def parse_template(text: str) -> Template:
    r"""Parse a template.

    >>> parse_template(r"a{b}\{c\}").pieces
    ('a', '{c}')

    Raises :class:`~kgbench.mapping.limits.MappingError` for braces that do not match, empty
    references, and backslashes before other characters.
    """
    parts, is_open = [""], False  # texts and references alternate
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece in _MISTAKES[is_open]:
            raise _error(text, _MISTAKES[is_open][piece])
        if piece in "{}":
            if is_open and not parts[-1]:
                raise _error(text, "there is nothing between the braces")
            is_open = not is_open
            parts.append("")
        else:
            parts[-1] += match[1] or piece
    if is_open:
        raise _error(text, "a brace is not closed")
    return Template(tuple(parts[::2]), tuple(parts[1::2]))


def encode_for_iri(value: str) -> str:
    """Percent-encode all characters of a value except those unreserved in IRIs (RFC 3987).

    >>> encode_for_iri("Zoë/K")
    'Zoë%2FK'
    """
    if value.isascii():
        return encode_for_uri(value)
    return "".join(c if _is_letter(c) else encode_for_uri(c) for c in value)


def encode_for_uri(value: str) -> str:
    """Percent-encode all characters of a value except those unreserved in URIs (RFC 3986)."""
    return quote(value, safe=_UNRESERVED)


def _is_letter(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _LETTERS)


def _error(text: str, reason: str) -> MappingError:
    return MappingError(f'the template "{text[:200]}" is ill-formed: {reason}')


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NO_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LANGUAGE: Final = re.compile(r"(?:[A-Za-z]{2,8}|[xi](?=-))(?:-[A-Za-z0-9]{1,8})*\Z")
_UNSAFE: Final = frozenset({"UnsafeIRI", "UnsafeURI"})
_ENCODERS: Final[dict[str, Callable[[str], str]]] = {
    "IRI": encode_for_iri,
    "URI": encode_for_uri,
}


class Terms:
    """An evaluator of term maps; equal values of blank nodes share one label."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._labels: dict[str, str] = {}
        self._fresh = 0
        self._templates: dict[str, Template] = {}

    def make_terms(self, term_map: TermMap, record: Record, base: str | None) -> list[str]:
        """Return the terms of a term map for a record; there are none if a reference has no value.

        Raises :class:`~kgbench.mapping.limits.MappingError` for invalid RDF: relative IRIs without
        a ``base``, IRIs with forbidden characters, ill-formed language tags.
        """
        expression = term_map.expression
        if expression.constant is not None:
            self._budget.spend("terms")
            return [expression.constant]
        if term_map.term_type == BLANK:
            return self._blank_nodes(expression, record)
        if term_map.term_type == LITERAL:
            return list(self._literals(term_map, record, base))
        encoder = _ENCODERS.get(term_map.term_type, str)
        texts = self.texts(expression, record, encoder)
        return [self._iri(text, base, unsafe=term_map.term_type in _UNSAFE) for text in texts]

    def texts(
        self, expression: Expression, record: Record, encoder: Callable[[str], str] = str
    ) -> list[str]:
        """Return the texts of an expression; ``encoder`` converts the values in templates."""
        if expression.constant is not None:
            return [_plain(expression.constant)]
        if expression.reference is not None:
            return [value.text for value in self._values(expression.reference, record)]
        assert expression.template is not None
        if expression.template not in self._templates:
            self._templates[expression.template] = parse_template(expression.template)
        template = self._templates[expression.template]
        return template.filled(
            lambda name: (value.text for value in record.values(name)), encoder, self._budget
        )

    def _values(self, reference: str, record: Record) -> list[Value]:
        values = record.values(reference)
        for value in values:
            self._budget.spend("terms")
            self._budget.spend("characters", len(value.text))
        return values

    def _blank_nodes(self, expression: Expression, record: Record) -> list[str]:
        if expression == Expression():
            self._budget.spend("terms")
            self._fresh += 1
            return [f"_:f{self._fresh}"]
        texts = self.texts(expression, record)
        return [self._labels.setdefault(text, f"_:b{len(self._labels)}") for text in texts]

    def _literals(self, term_map: TermMap, record: Record, base: str | None) -> Iterator[str]:
        if term_map.language is not None:
            tags = self.texts(term_map.language, record)
            for text, tag in product(self.texts(term_map.expression, record), tags):
                if not _LANGUAGE.match(tag):
                    raise MappingError(f'"{tag[:100]}" is no language tag')
                yield f"{_quoted(text)}@{tag.lower()}"
        elif term_map.datatype is not None:
            datatypes = [
                self._iri(text, base, unsafe=False)
                for text in self.texts(term_map.datatype, record, encode_for_iri)
            ]
            for text, datatype in product(self.texts(term_map.expression, record), datatypes):
                yield _typed(text, datatype)
        elif term_map.expression.reference is not None:
            for value in self._values(term_map.expression.reference, record):
                natural = None if value.datatype is None else f"<{value.datatype}>"
                yield _typed(value.natural, natural)
        else:
            yield from map(_quoted, self.texts(term_map.expression, record))

    def _iri(self, text: str, base: str | None, *, unsafe: bool) -> str:
        if not _SCHEME.match(text):
            if base is None:
                raise MappingError(f"<{text[:200]}> is a relative IRI, and there is no base IRI")
            text = base + text
        if ">" in text or "\n" in text or (not unsafe and _NO_IRI.search(text)):
            raise MappingError(f"<{text[:200]}> has characters that no IRI has")
        return f"<{text}>"


def normalise_constant(term: str) -> str:
    """Normalise a constant: its language tag becomes lower case.

    >>> normalise_constant('"a"@EN')
    '"a"@en'
    """
    head, quote, tail = term.rpartition('"')
    return f"{head}{quote}{tail.lower()}" if quote and tail.startswith("@") else term


def _typed(text: str, datatype: str | None) -> str:
    if datatype is None or datatype == f"<{XSD.string}>":
        return _quoted(text)
    if datatype == f"<{RDF.langString}>":
        raise MappingError("literals of the datatype rdf:langString need a language")
    return f"{_quoted(text)}^^{datatype}"


def _quoted(text: str) -> str:
    return str(ox.Literal(text))


def _plain(term: str) -> str:
    """Return the IRI or the lexical form of a constant."""
    if term.startswith("<"):
        return term[1:-1]
    (quad,) = ox.parse(f"<urn:s> <urn:p> {term} .", ox.RdfFormat.N_TRIPLES)
    assert isinstance(quad.object, ox.Literal)
    return quad.object.value
