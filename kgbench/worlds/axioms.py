# SPDX-License-Identifier: Apache-2.0
"""Axioms of generated ontologies: each kind as templates in Turtle and in English.

All axioms are in the profile OWL 2 RL, whose rules find all facts about named individuals that
follow by the direct semantics (OWL 2 Profiles, theorem PR1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds.model import NAMESPACE

ONTOLOGY: Final = f"{NAMESPACE}ontology/"
PREFIXES: Final = {
    "o": ONTOLOGY,
    "owl": str(OWL),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}
PREFIX_LINES: Final = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())


class Kind(NamedTuple):
    """A kind of axiom with its templates.

    ``terms`` has a letter for each term: ``c`` a class, ``p`` a property, ``i`` an individual.
    ``turtle`` and ``words`` are templates: ``{0}`` is the first term, and in words ``{a0}`` is the
    first term with its article.
    """

    terms: str
    turtle: str
    words: str


_OF: Final = "[ a owl:Restriction ; owl:onProperty {} ; owl:{} {} ]"
_MOST: Final = '"1"^^xsd:nonNegativeInteger'


def _restricted(at: str, name: str, value: str) -> str:
    return _OF.format(at, name, value)


KINDS: Final[Mapping[str, Kind]] = {
    "subclass": Kind("cc", "{0} rdfs:subClassOf {1} .", "Every {0} is {a1}."),
    "equivalent": Kind(
        "cc",
        "{0} owl:equivalentClass {1} .",
        "Every {0} is {a1}, and every {1} is {a0}.",
    ),
    "intersection": Kind(
        "ccc",
        "[ a owl:Class ; owl:intersectionOf ( {0} {1} ) ] rdfs:subClassOf {2} .",
        "Whatever is both {a0} and {a1} is {a2}.",
    ),
    "union": Kind(
        "ccc",
        "[ a owl:Class ; owl:unionOf ( {0} {1} ) ] rdfs:subClassOf {2} .",
        "Whatever is {a0} or {a1} is {a2}.",
    ),
    "disjoint": Kind("cc", "{0} owl:disjointWith {1} .", "Nothing is both {a0} and {a1}."),
    "complement": Kind(
        "cc",
        "{0} rdfs:subClassOf [ a owl:Class ; owl:complementOf {1} ] .",
        "No {0} is {a1}.",
    ),
    "domain": Kind("pc", "{0} rdfs:domain {1} .", "Whatever has {a0} is {a1}."),
    "range": Kind("pc", "{0} rdfs:range {1} .", "Whatever is {a0} of something is {a1}."),
    "subproperty": Kind(
        "pp",
        "{0} rdfs:subPropertyOf {1} .",
        "Every {0} of a thing is also {a1} of that thing.",
    ),
    "inverse": Kind(
        "pp",
        "{0} owl:inverseOf {1} .",
        "One thing is {a0} of another exactly when the other is {a1} of the first.",
    ),
    "symmetric": Kind(
        "p",
        "{0} a owl:SymmetricProperty .",
        "If one thing is {a0} of another, then the other is {a0} of the first.",
    ),
    "transitive": Kind(
        "p",
        "{0} a owl:TransitiveProperty .",
        "Every {0} of {a0} of a thing is also {a0} of that thing.",
    ),
    "chain": Kind(
        "ppp",
        "{2} owl:propertyChainAxiom ( {0} {1} ) .",
        "Every {1} of {a0} of a thing is {a2} of that thing.",
    ),
    "some": Kind(
        "pcc",
        _restricted("{0}", "someValuesFrom", "{1}") + " rdfs:subClassOf {2} .",
        "Whatever has {a0} that is {a1} is {a2}.",
    ),
    "all": Kind(
        "cpc",
        "{0} rdfs:subClassOf " + _restricted("{1}", "allValuesFrom", "{2}") + " .",
        "Whatever is {a1} of {a0} is {a2}.",
    ),
    "with": Kind(
        "pic",
        _restricted("{0}", "hasValue", "{1}") + " rdfs:subClassOf {2} .",
        "Whatever has {1} as {a0} is {a2}.",
    ),
    "value": Kind(
        "cpi",
        "{0} rdfs:subClassOf " + _restricted("{1}", "hasValue", "{2}") + " .",
        "Every {0} has {2} as {a1}.",
    ),
    "functional": Kind(
        "p", "{0} a owl:FunctionalProperty .", "Nothing has two different things as {a0}."
    ),
    "inverse-functional": Kind(
        "p",
        "{0} a owl:InverseFunctionalProperty .",
        "Nothing is {a0} of two different things.",
    ),
    "most": Kind(
        "cp",
        "{0} rdfs:subClassOf " + _restricted("{1}", "maxCardinality", _MOST) + " .",
        "No {0} has two different things as {a1}.",
    ),
    "asymmetric": Kind(
        "p",
        "{0} a owl:AsymmetricProperty .",
        "If one thing is {a0} of another, then the other is not {a0} of the first.",
    ),
    "irreflexive": Kind("p", "{0} a owl:IrreflexiveProperty .", "Nothing is {a0} of itself."),
    "disjoint-properties": Kind(
        "pp",
        "{0} owl:propertyDisjointWith {1} .",
        "No {0} of a thing is also {a1} of that thing.",
    ),
    "type": Kind("ic", "{0} a {1} .", "{0} is {a1}."),
    "link": Kind("ipi", "{0} {1} {2} .", "{2} is {a1} of {0}."),
    "same": Kind("ii", "{0} owl:sameAs {1} .", "{0} and {1} are the same thing."),
    "different": Kind("ii", "{0} owl:differentFrom {1} .", "{0} and {1} are different things."),
}
FACTS: Final = frozenset({"type", "link", "same", "different"})


class Axiom(NamedTuple):
    """An axiom: its kind and its terms, which are local names of IRIs."""

    kind: str
    terms: tuple[str, ...]

    @property
    def turtle(self) -> str:
        """The axiom as a line of Turtle."""
        return KINDS[self.kind].turtle.format(*(f"o:{term}" for term in self.terms))

    @property
    def triples(self) -> tuple[ox.Triple, ...]:
        """The triples of the axiom, with new blank nodes in every call."""
        return tuple(triples([self]))

    def words(self, labels: Mapping[str, str]) -> str:
        """Return the axiom as an English sentence with the labels of its terms."""
        named = [labels[term] for term in self.terms]
        articles = {f"a{index}": with_article(label) for index, label in enumerate(named)}
        sentence = KINDS[self.kind].words.format(*named, **articles)
        return sentence[0].upper() + sentence[1:]


def axiom(kind: str, *terms: str) -> Axiom:
    """Build an axiom of a kind."""
    return Axiom(kind, terms)


def triples(axioms: Iterable[Axiom]) -> list[ox.Triple]:
    """Return the triples of axioms, with new blank nodes in every call."""
    text = "\n".join([PREFIX_LINES, *(item.turtle for item in axioms)])
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE)]


def in_short(text: str, names: Mapping[str, str]) -> list[Axiom]:
    """Return the axioms in a short notation; ``names`` are the terms that its letters stand for.

    >>> in_short("symmetric p, x p y, x c", {"p": "P", "x": "a", "y": "b", "c": "C"})[1:]
    [Axiom(kind='link', terms=('a', 'P', 'b')), Axiom(kind='type', terms=('a', 'C'))]
    """
    result: list[Axiom] = []
    for item in filter(None, text.split(", ")):
        kind, *letters = item.split(" ")
        if kind not in KINDS:
            kind, letters = "link" if len(letters) > 1 else "type", [kind, *letters]
        result.append(Axiom(kind, tuple(names[letter] for letter in letters)))
    return result


def signature(axioms: Iterable[Axiom]) -> dict[str, list[str]]:
    """Return the classes (``c``), properties (``p``) and individuals (``i``) of axioms, sorted."""
    names_by_sort: dict[str, set[str]] = {"c": set(), "p": set(), "i": set()}
    for item in axioms:
        for sort, name in zip(KINDS[item.kind].terms, item.terms, strict=True):
            names_by_sort[sort].add(name)
    return {sort: sorted(names) for sort, names in names_by_sort.items()}


def document(axioms: Iterable[Axiom]) -> str:
    """Write axioms as a Turtle document: declarations, then one axiom per line."""
    axiom_list = list(axioms)
    lines = [
        PREFIX_LINES,
        "",
        *declarations(signature(axiom_list)),
        "",
        *(item.turtle for item in axiom_list),
    ]
    return "\n".join(lines)


def declarations(terms: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the declarations of classes, properties and individuals as lines of Turtle."""
    kinds = {"c": "Class", "p": "ObjectProperty", "i": "NamedIndividual"}
    return [f"o:{name} a owl:{kind} ." for sort, kind in kinds.items() for name in terms[sort]]


def with_article(label: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if label[0] in 'aeiouAEIOU' else 'a'} {label}"


def is_regular(axioms: Iterable[Axiom]) -> bool:
    """Return whether axioms meet the global restrictions of OWL 2 DL on properties.

    Property chains must respect a strict order of properties, and only simple properties may be
    functional, asymmetric and so on: properties that are not transitive, have no chain, and have no
    such property below them. Source: OWL 2 Structural Specification, section 11.2.
    """
    below: dict[str, set[str]] = {}
    composite: set[str] = set()
    simple: set[str] = set()
    inverses: list[tuple[str, ...]] = []
    for kind, terms in axioms:
        if kind == "subproperty":
            below.setdefault(terms[1], set()).add(terms[0])
        elif kind == "chain":
            below.setdefault(terms[2], set()).update(terms[:2])
            composite.add(terms[2])
        elif kind == "transitive":
            composite.add(terms[0])
        elif kind == "inverse":
            inverses.append(terms)
        elif kind in {"most", "functional", "inverse-functional", *_OF_SIMPLE}:
            simple.update(terms[1:] if kind == "most" else terms)
    # A property and its inverse have the same position in the order.
    leader = {prop: prop for prop in {name for pair in inverses for name in pair}}
    for first, second in inverses:
        old, new = leader[first], leader[second]
        leader = {name: new if head == old else head for name, head in leader.items()}
    merged: dict[str, set[str]] = {}
    for name, subproperties in below.items():
        target = merged.setdefault(leader.get(name, name), set())
        target.update(leader.get(below_name, below_name) for below_name in subproperties)
    composites = {leader.get(name, name) for name in composite}
    return all(
        (under := _under(name, merged)) is not None and not under & composites
        for name in {leader.get(name, name) for name in simple}
    ) and all(_under(name, merged) is not None for name in merged)


_OF_SIMPLE: Final = ("asymmetric", "irreflexive", "disjoint-properties")


def _under(name: str, below: Mapping[str, set[str]]) -> set[str] | None:
    """Return a property with all properties below it; ``None`` if it is below itself."""
    result, queue = {name}, [name]
    while queue:
        for subproperty in below.get(queue.pop(), ()):
            if subproperty == name:
                return None
            if subproperty not in result:
                result.add(subproperty)
                queue.append(subproperty)
    return result
