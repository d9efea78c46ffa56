# SPDX-License-Identifier: Apache-2.0
"""Ontologies and facts of Text2KG as Turtle, and Turtle answers as facts.

Classes and properties have the IRIs of the published OWL files: below
``https://cenguix.github.io/Text2KGBench/ONTOLOGY/``, ``concepts#ID`` and ``relations#ID``.

Turtle cannot represent lone surrogates. Literals have U+FFFD in their place; IRIs have their
percent-encoded bytes as if in UTF-8, so that different identifiers stay different.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgbench.rdf import storable, string
from kgbench.scoring.facts import Fact, Ontology, Triple
from kgbench.scoring.stems import folded
from kgbench.vocab import OWL, RDF, RDFS

BASE = "https://cenguix.github.io/Text2KGBench/"
ENTITY = "http://example.org/entity/"


def class_iri(ontology: str, concept: str) -> str:
    """Return the IRI of a concept, from the ids of the ontology and the concept."""
    return f"{BASE}{_encoded(ontology)}/concepts#{_encoded(concept)}"


def property_iri(ontology: str, relation: str) -> str:
    """Return the IRI of a relation, from the ids of the ontology and the relation."""
    return f"{BASE}{_encoded(ontology)}/relations#{_encoded(relation)}"


def written_ontology(ontology: Ontology) -> str:
    """Return the ontology as Turtle in its order, without domains or ranges other than concepts."""
    lines = [
        f"@prefix owl: <{OWL}> .",
        f"@prefix rdfs: <{RDFS}> .",
        f"@prefix concept: <{BASE}{_encoded(ontology.id)}/concepts#> .",
        f"@prefix relation: <{BASE}{_encoded(ontology.id)}/relations#> .",
        "",
    ]
    for concept in ontology.concepts:
        label = _literal(concept.label)
        lines.append(f"{_named('concept', concept.id)} a owl:Class ; rdfs:label {label} .")
    for relation in ontology.relations:
        parts = [f"{_named('relation', relation.id)} a rdf:Property ; rdfs:label "]
        parts.append(_literal(relation.label))
        for prop, concept_id in (("domain", relation.domain), ("range", relation.range)):
            if concept_id in ontology.concept_labels:
                parts.append(f" ; rdfs:{prop} {_named('concept', concept_id)}")
        lines.append("".join([*parts, " ."]))
    lines.insert(0, f"@prefix rdf: <{RDF}> .")
    return "\n".join(lines)


def written_facts(facts: Sequence[Fact], ontology: Ontology) -> str:
    """Return facts as Turtle with labelled and typed entities.

    Facts outside the ontology are left out.
    """
    lines = [
        f"@prefix rdfs: <{RDFS}> .",
        f"@prefix concept: <{BASE}{_encoded(ontology.id)}/concepts#> .",
        f"@prefix relation: <{BASE}{_encoded(ontology.id)}/relations#> .",
        "",
    ]
    types: dict[str, set[str]] = {}
    statements = []
    for fact in facts:
        relations = ontology.relations_named.get(fact.relation.replace(" ", "_"))
        if not relations:
            continue
        relation = relations[0]
        types.setdefault(fact.subject, set()).update(_concept(ontology, relation.domain))
        value = _literal(fact.object)
        if relation.range in ontology.concept_labels:
            types.setdefault(fact.object, set()).add(relation.range)
            value = f"<{ENTITY}{_encoded(fact.object)}>"
        subject = f"<{ENTITY}{_encoded(fact.subject)}>"
        statements.append(f"{subject} {_named('relation', relation.id)} {value} .")
    for name, concepts in types.items():
        kinds = ", ".join(_named("concept", concept) for concept in sorted(concepts))
        of_type = f"a {kinds} ; " if kinds else ""
        lines.append(f"<{ENTITY}{_encoded(name)}> {of_type}rdfs:label {_literal(name)} .")
    return "\n".join([*lines, *statements])


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The content of a graph: facts with names, and classes (concept ids) by folded names."""

    triples: tuple[Triple, ...]
    types: Mapping[str, set[str]]


def read_facts(ntriples: Sequence[str], ontology: Ontology) -> GraphFacts:
    """Read the facts of a parsed answer.

    The name of an entity is its ``rdfs:label``, else its local name. The name of a property of the
    ontology is its label; that of any other property is its IRI, so that it never conforms. Labels
    and types are not facts.
    """
    graph = list(ox.parse("\n".join(ntriples), ox.RdfFormat.N_TRIPLES))
    labels = {
        quad.subject: quad.object.value
        for quad in graph
        if quad.predicate.value == RDFS.label and isinstance(quad.object, ox.Literal)
    }
    names = {property_iri(ontology.id, r.id): r.name for r in ontology.relations}
    concepts = {class_iri(ontology.id, c.id): c.id for c in ontology.concepts}
    types: dict[str, set[str]] = {}
    triples = []
    for quad in graph:
        subject = _name(quad.subject, labels)
        if quad.predicate.value == RDF.type:
            if isinstance(quad.object, ox.NamedNode) and quad.object.value in concepts:
                types.setdefault(folded(subject), set()).add(concepts[quad.object.value])
        elif quad.predicate.value != RDFS.label:
            relation = names.get(quad.predicate.value, quad.predicate.value)
            triples.append((subject, relation, _name(quad.object, labels)))
    return GraphFacts(tuple(triples), types)


def _name(term: object, labels: Mapping[object, str]) -> str:
    if term in labels:
        return labels[term]
    if isinstance(term, ox.NamedNode):
        iri = term.value.rstrip("/#")
        return unquote(iri[max(iri.rfind("/"), iri.rfind("#")) + 1 :])
    return term.value if isinstance(term, ox.Literal | ox.BlankNode) else str(term)


def _concept(ontology: Ontology, concept: str) -> set[str]:
    return {concept} if concept in ontology.concept_labels else set()


def storable_facts(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return facts with subjects and objects in the form that a Turtle answer can express."""
    return tuple(
        Fact(storable(fact.subject).value, fact.relation, storable(fact.object).value)
        for fact in facts
    )


def _literal(text: str) -> str:
    return string(storable(text).value)


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _named(prefix: str, local: str) -> str:
    """Return a prefixed name; Turtle allows the percent signs of the encoded local name."""
    return f"{prefix}:{_escaped(_encoded(local))}"


def _escaped(local: str) -> str:
    return re.sub(r"([~.-])", r"\\\1", local)
