# SPDX-License-Identifier: Apache-2.0
"""Axioms of generated ontologies: each kind in Turtle, in words, and what it makes of facts.

All lie within the profile OWL 2 RL. There, its rules find all facts about named individuals that
follow by the direct semantics, too (OWL 2 Profiles, theorem PR1).
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
HEAD: Final = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())


class Kind(NamedTuple):
    """A kind of axiom.

    ``terms`` says what its places are for: ``c`` a class, ``p`` a property, ``i`` an individual.
    ``turtle`` and ``words`` are templates; ``{0}`` is the term at the first place, and in words
    ``{a0}`` has its article.
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
    """An axiom: its kind, with a term (the local name of an IRI) at each place."""

    kind: str
    terms: tuple[str, ...]

    @property
    def turtle(self) -> str:
        """The axiom as a line of Turtle."""
        return KINDS[self.kind].turtle.format(*(f"o:{one}" for one in self.terms))

    @property
    def triples(self) -> tuple[ox.Triple, ...]:
        """The triples of the axiom; blank nodes are new every time."""
        return tuple(triples([self]))

    def words(self, labels: Mapping[str, str]) -> str:
        """Return the axiom as a sentence with the labels of its terms."""
        named = [labels[one] for one in self.terms]
        articles = {f"a{place}": with_article(label) for place, label in enumerate(named)}
        said = KINDS[self.kind].words.format(*named, **articles)
        return said[0].upper() + said[1:]


def axiom(kind: str, *terms: str) -> Axiom:
    """Return an axiom of a kind."""
    return Axiom(kind, terms)


def triples(axioms: Iterable[Axiom]) -> list[ox.Triple]:
    """Return the triples of axioms; blank nodes are new every time."""
    text = "\n".join([HEAD, *(one.turtle for one in axioms)])
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE)]


def signature(axioms: Iterable[Axiom]) -> dict[str, list[str]]:
    """Return the classes (``c``), properties (``p``) and individuals (``i``) in axioms, sorted."""
    found: dict[str, set[str]] = {"c": set(), "p": set(), "i": set()}
    for one in axioms:
        for sort, name in zip(KINDS[one.kind].terms, one.terms, strict=True):
            found[sort].add(name)
    return {sort: sorted(names) for sort, names in found.items()}


def document(axioms: Iterable[Axiom]) -> str:
    """Axioms as a document of Turtle: declarations, then an axiom a line."""
    shown = list(axioms)
    lines = [HEAD, "", *declarations(signature(shown)), "", *(one.turtle for one in shown)]
    return "\n".join(lines)


def declarations(terms: Mapping[str, Iterable[str]]) -> list[str]:
    """Return what says which terms are classes, properties and individuals, as lines of Turtle."""
    kinds = {"c": "Class", "p": "ObjectProperty", "i": "NamedIndividual"}
    return [f"o:{name} a owl:{kind} ." for sort, kind in kinds.items() for name in terms[sort]]


def with_article(label: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if label[0] in 'aeiouAEIOU' else 'a'} {label}"


def regular(axioms: Iterable[Axiom]) -> bool:
    """Return whether axioms keep to the restrictions that OWL 2 DL has on properties as a whole.

    There is an order of properties below which chains stay, and what only simple properties may be
    (functional, asymmetric, ...) is said of no transitive property, chain or property above one.
    Source: OWL 2 Structural Specification, section 11.2.
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
    # A property and its inverse have the same place in the order.
    leader = {one: one for one in {name for pair in inverses for name in pair}}
    for first, second in inverses:
        old, new = leader[first], leader[second]
        leader = {one: new if of == old else of for one, of in leader.items()}
    merged: dict[str, set[str]] = {}
    for name, others in below.items():
        target = merged.setdefault(leader.get(name, name), set())
        target.update(leader.get(one, one) for one in others)
    composites = {leader.get(one, one) for one in composite}
    return all(
        (under := _under(one, merged)) is not None and not under & composites
        for one in {leader.get(one, one) for one in simple}
    ) and all(_under(one, merged) is not None for one in merged)


_OF_SIMPLE: Final = ("asymmetric", "irreflexive", "disjoint-properties")


def _under(name: str, below: Mapping[str, set[str]]) -> set[str] | None:
    """Return a property with all below it; ``None`` if it is below itself."""
    found, left = {name}, [name]
    while left:
        for one in below.get(left.pop(), ()):
            if one == name:
                return None
            if one not in found:
                found.add(one)
                left.append(one)
    return found
