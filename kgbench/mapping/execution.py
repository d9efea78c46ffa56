# SPDX-License-Identifier: Apache-2.0
r"""Execution of mappings by the semantics of RML core (2024) and R2RML (2012).

Unlike in relational databases, joins compare texts. The graphs of a triple are the union of those
of the subject map and of the predicate-object map.

Term maps are evaluated on records, with terms in N-Triples syntax. A template is text with
references in braces; ``\{``, ``\}`` and ``\\`` are escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import quote

import pyoxigraph as ox

from kgbench.mapping.document import (
    BLANK,
    LITERAL,
    Expression,
    PredicateObjectMap,
    Record,
    Reference,
    TermMap,
    TriplesMap,
    Value,
    is_default_graph,
)
from kgbench.mapping.limits import Budget, MappingError
from kgbench.mapping.reading import triples_maps
from kgbench.mapping.sources import Data, Sources
from kgbench.vocab import RDF, XSD

Row = tuple[str, ...]
_TYPE: Final = f"<{RDF.type}>"
JoinIndex = dict[tuple[str, ...], list[str]]


def execute_mapping(
    mapping: Iterable[ox.Triple], data: Data, base: str | None = None
) -> frozenset[Row]:
    """Execute a mapping and return rows of N-Triples terms, with the graph last if it is named.

    ``base`` is the base IRI of mappings without their own. Raises
    :class:`~kgbench.mapping.limits.MappingError` if the mapping is ill-formed, names sources that
    are not in ``data``, produces invalid RDF, or exceeds the
    :class:`~kgbench.mapping.limits.Budget`.
    """
    budget = Budget()
    maps = triples_maps(mapping)
    sources = Sources(data, budget)
    try:
        return _Execution(maps, sources, budget, base).rows()
    finally:
        sources.close()


class _Execution:
    """A single execution of triples maps."""

    def __init__(
        self, maps: Sequence[TriplesMap], sources: Sources, budget: Budget, base: str | None
    ) -> None:
        self._maps = {triples_map.name: triples_map for triples_map in maps}
        self._sources = sources
        self._budget = budget
        self._base = base
        self._terms = Terms(budget)
        self._join_indexes: dict[tuple[str, tuple[Expression, ...]], JoinIndex] = {}
        self._rows: dict[Row, None] = {}

    def rows(self) -> frozenset[Row]:
        for triples_map in self._maps.values():
            for part in triples_map.parts:
                self._check(triples_map, part)
            for record in self._sources.records(triples_map.source):
                self._record(triples_map, record)
        return frozenset(self._rows)

    def _check(self, triples_map: TriplesMap, part: PredicateObjectMap) -> None:
        for object_map in part.objects:
            if not isinstance(object_map, Reference) or object_map.joins:
                continue
            if self._maps[object_map.parent].source != triples_map.source:
                raise MappingError(
                    f"{triples_map.name} refers to {object_map.parent} without a join condition, "
                    "but their sources differ"
                )

    def _record(self, triples_map: TriplesMap, record: Record) -> None:
        base = triples_map.base or self._base
        subjects = self._terms.make_terms(triples_map.subject, record, base)
        if not subjects:
            return
        own = list(self._graphs(triples_map.graphs, record, base))
        for row in product(subjects, (_TYPE,), triples_map.classes, own or ("",)):
            self._add(row)
        for part in triples_map.parts:
            graphs = [*own, *self._graphs(part.graphs, record, base)] or [""]
            predicates = [
                term
                for predicate in part.predicates
                for term in self._terms.make_terms(predicate, record, base)
            ]
            objects = [
                term
                for object_map in part.objects
                for term in self._objects(object_map, record, base)
            ]
            for row in product(subjects, predicates, objects, graphs):
                self._add(row)

    def _add(self, row: Row) -> None:
        *triple, graph = row
        cells = (*triple, graph) if graph else tuple(triple)
        if cells not in self._rows:
            self._budget.spend("triples")
            self._rows[cells] = None
        else:
            self._budget.spend("terms")

    def _graphs(self, maps: Iterable[TermMap], record: Record, base: str | None) -> Iterator[str]:
        """Yield the names of graphs; the default graph has the name ``""``."""
        for graph_map in maps:
            for name in self._terms.make_terms(graph_map, record, base):
                yield "" if is_default_graph(name[1:-1]) else name

    def _objects(
        self, object_map: TermMap | Reference, record: Record, base: str | None
    ) -> list[str]:
        if isinstance(object_map, TermMap):
            terms = self._terms.make_terms(object_map, record, base)
            return (
                [normalise_constant(term) for term in terms]
                if object_map.expression.constant
                else terms
            )
        parent = self._maps[object_map.parent]
        if not object_map.joins:
            return self._terms.make_terms(parent.subject, record, parent.base or self._base)
        joined = self._join_index(parent, tuple(side for _, side in object_map.joins))
        values = [self._terms.texts(side, record) for side, _ in object_map.joins]
        result: list[str] = []
        for key in product(*values):
            matching = joined.get(key, [])
            self._budget.spend("terms", 1 + len(matching))
            result += matching
        return result

    def _join_index(self, parent: TriplesMap, sides: tuple[Expression, ...]) -> JoinIndex:
        """Return the subjects of a triples map by the values of its side of a join."""
        key = (parent.name, sides)
        if key not in self._join_indexes:
            subjects_by_values: JoinIndex = {}
            for record in self._sources.records(parent.source):
                subjects = self._terms.make_terms(parent.subject, record, parent.base or self._base)
                for values in product(*(self._terms.texts(side, record) for side in sides)):
                    self._budget.spend("terms", 1 + len(subjects))
                    subjects_by_values.setdefault(values, []).extend(subjects)
            self._join_indexes[key] = subjects_by_values
        return self._join_indexes[key]


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
