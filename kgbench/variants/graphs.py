# SPDX-License-Identifier: Apache-2.0
"""Graphs as sorted tuples of triples with stable blank node labels, and the profile of a graph.

The profile has the instances and their kinds, links, attributes, and fixed triples. A kind is a set
of classes that instances have. Triples about classes and properties are the schema, which no
variant changes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.characters import BOM
from kgbench.scoring import agreement, result_sets
from kgbench.vocab import OWL, RDF, RDFS, XSD

Triple: TypeAlias = tuple[str, str, str]
"""Subject, predicate and object, each in N-Triples syntax."""

_LABEL = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|(_:[^\s<>"]+)')
_WORD = re.compile(r"[^\W_]+")
_STRINGS = (XSD.string, "@")


class TypedLiteral(NamedTuple):
    """A literal: its lexical form, and its datatype IRI, or ``@`` if it has a language tag."""

    lexical: str
    datatype: str

    @property
    def is_text(self) -> bool:
        """Whether the literal is a string, with or without a language."""
        return self.datatype in _STRINGS


@lru_cache(maxsize=8)
def read(text: str, media: str = "turtle") -> tuple[Triple, ...]:
    """Return the triples of a document's default graph, sorted, each once.

    ``media`` is ``turtle`` (N-Triples included), ``xml`` or ``json-ld``. Blank nodes are labelled
    in the order in which they occur, because parsers label them at random.
    Raises :class:`SyntaxError` if the document does not parse.
    """
    parsed = ox.parse(text.removeprefix(BOM).encode("utf-8"), _FORMATS[media], base_iri=_BASE)
    lines = ox.serialize((quad.triple for quad in parsed), format=ox.RdfFormat.N_TRIPLES)
    assert lines is not None
    content = lines.decode("utf-8")
    labels: dict[str, str] = {}

    def relabelled(match: re.Match[str]) -> str:
        label = match.group(1)
        return match.group() if label is None else labels.setdefault(label, f"_:b{len(labels)}")

    parsed_triples = {
        tuple(agreement.terms(_LABEL.sub(relabelled, line) if "_:" in line else line))
        for line in content.split("\n")[:-1]
    }
    return tuple(sorted((s, p, o) for s, p, o in parsed_triples))


def as_ntriples(triples: Iterable[Triple]) -> str:
    """Return ``triples`` as an N-Triples document."""
    return "".join([f"{s} {p} {o} .\n" for s, p, o in triples])


def literal(term: str) -> TypedLiteral | None:
    """Parse a term as a literal; ``None`` for an IRI or a blank node.

    >>> literal('"1"^^<http://www.w3.org/2001/XMLSchema#integer>').lexical
    '1'
    """
    if not term.startswith('"'):
        return None
    tail = term[term.rindex('"') + 1 :]
    datatype = tail[3:-1] if tail.startswith("^^") else "@" if tail else _STRINGS[0]
    return TypedLiteral(result_sets.term_value(term, {}), datatype)


def words(text: str) -> str:
    """Return the words of a text in lower case, between single spaces, with a space at either end.

    ``words(part) in words(whole)`` tests whether ``whole`` contains the words of ``part`` in a row.

    >>> words("Price: 778,15 EUR")
    ' price 778 15 eur '
    """
    return f" {' '.join(_WORD.findall(text.lower()))} "


_BASE = "https://document.invalid/"
_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "xml": ox.RdfFormat.RDF_XML,
    "json-ld": ox.RdfFormat.JSON_LD,
}


TYPE = f"<{RDF.type}>"
_SUBCLASS = f"<{RDFS.subClassOf}>"
_VOCABULARIES = tuple(f"<{namespace}" for namespace in (RDF, RDFS, OWL))
_STRUCTURAL = (f"<{RDF}", f"<{OWL}")
_FIRST = f"<{RDF.first}>"
_UNSPECIFIC = frozenset((f"<{OWL}NamedIndividual>", f"<{OWL}Thing>", f"<{RDFS}Resource>"))


class Facet(NamedTuple):
    """A property of the instances of one kind."""

    property: str
    kind: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of a graph.

    ``kinds`` maps every instance to its kind, ``members`` every kind to its instances, sorted.
    ``links`` are triples between instances and ``attributes`` those from an instance to a value (a
    literal, or an IRI that the graph does not describe), both by facet of the subject. ``fixed``
    are all other triples. ``anchored`` are instances that the schema refers to.
    """

    kinds: Mapping[str, str]
    members: Mapping[str, tuple[str, ...]]
    links: Mapping[Facet, tuple[tuple[str, str], ...]]
    attributes: Mapping[Facet, tuple[tuple[str, str], ...]]
    fixed: tuple[Triple, ...]
    anchored: frozenset[str]

    def facets(self) -> Iterator[Facet]:
        """Yield all facets, sorted."""
        yield from sorted({*self.links, *self.attributes})

    def values(self, facet: Facet) -> dict[str, list[str]]:
        """Return the objects of a facet by subject."""
        values_by_subject: dict[str, list[str]] = defaultdict(list)
        for pairs in (self.links, self.attributes):
            for subject, value in pairs.get(facet, ()):
                values_by_subject[subject].append(value)
        return values_by_subject


@dataclass(slots=True)
class _Parts:
    links: dict[Facet, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[Facet, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    fixed: list[Triple] = field(default_factory=list)


def compute_profile(triples: tuple[Triple, ...]) -> Profile:
    """Compute the profile of a graph."""
    kinds = _kinds(triples)
    parts = _Parts()
    anchored: set[str] = set()
    for s, p, o in triples:
        kind = kinds.get(s)
        if kind is None or p.startswith(_STRUCTURAL):
            parts.fixed.append((s, p, o))
            if kind is None and o in kinds:
                anchored.add(o)
        elif o in kinds:
            parts.links[Facet(p, kind)].append((s, o))
        else:
            parts.attributes[Facet(p, kind)].append((s, o))
    members: dict[str, list[str]] = defaultdict(list)
    for instance in sorted(kinds):
        members[kinds[instance]].append(instance)
    return Profile(
        kinds,
        {kind: tuple(instances) for kind, instances in members.items()},
        {facet: tuple(pairs) for facet, pairs in parts.links.items()},
        {facet: tuple(pairs) for facet, pairs in parts.attributes.items()},
        tuple(parts.fixed),
        frozenset(anchored),
    )


def _kinds(triples: tuple[Triple, ...]) -> dict[str, str]:
    """Return the kind of every instance: its classes, or its properties if it has no class."""
    classes: dict[str, set[str]] = defaultdict(set)
    used: dict[str, set[str]] = defaultdict(set)
    schema: set[str] = set()
    for s, p, o in triples:
        schema.add(p)
        used[s].add(p)
        if p == TYPE:
            schema.add(o)
            if o.startswith(_VOCABULARIES) and o not in _UNSPECIFIC:
                schema.add(s)
            elif o not in _UNSPECIFIC:
                classes[s].add(o)
        elif p == _SUBCLASS:
            schema |= {s, o}
        elif p == _FIRST:
            schema.add(s)
    return {
        s: " ".join(sorted(classes[s])) if s in classes else f"with {' '.join(sorted(used[s]))}"
        for s in used
        if s not in schema
    }
