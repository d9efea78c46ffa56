# SPDX-License-Identifier: Apache-2.0
"""The vocabulary avoids the pitfalls of OOPS! and has the metadata that FOOPS! checks."""

from __future__ import annotations

import pytest
import rdflib
from rdflib import DCTERMS, OWL, RDF, RDFS, SH, SKOS, VANN, XSD, URIRef
from rdflib.collection import Collection

from kgbench import resources
from kgbench.rdf.declared import shipped
from kgbench.store.declared import files
from kgbench.vocab import BASE, DQV, KGB, SCHEMA

ONTOLOGY = URIRef(str(KGB))
PROPERTIES = (OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property)
#: Terms of RDF and RDFS that OWL 2 DL reserves.
RESERVED = {RDF.List, RDF.Property, RDFS.Class, RDFS.Resource}
SCHEMES = {  # the property whose shape lists the values
    "cognitive-process": "cognitiveProcess",
    "knowledge": "knowledgeDimension",
    "complexity": "relationalComplexity",
    "feedback": "feedback",
    "pass-kind": "passKind",
    "aggregation": "aggregation",
}


def _graph(folder: str, name: str) -> rdflib.Graph:
    return rdflib.Graph().parse(resources.path(folder, name))


VOCABULARY = _graph("ontology", "kgbench.ttl")


def _ours(*kinds: URIRef) -> list[URIRef]:
    found = {s for kind in kinds for s in VOCABULARY.subjects(RDF.type, kind)}
    return sorted(s for s in found if isinstance(s, URIRef) and s.startswith(str(KGB)))


@pytest.mark.parametrize(
    "prop",
    [
        *(DCTERMS.title, DCTERMS.description, DCTERMS.abstract, DCTERMS.creator),
        *(DCTERMS.publisher, DCTERMS.created, DCTERMS.issued, DCTERMS.modified, DCTERMS.license),
        *(DCTERMS.bibliographicCitation, VANN.preferredNamespacePrefix),
        *(VANN.preferredNamespaceUri, OWL.versionIRI, OWL.versionInfo, RDFS.label),
    ],
)
def test_header_is_full(prop: URIRef) -> None:
    """The header has the creators, date, version and citation of the vocabulary."""
    assert len(list(VOCABULARY.objects(ONTOLOGY, prop))) == 1


def test_versions_are_described() -> None:
    """The version IRI ends with the number, and is described as a version."""
    this = VOCABULARY.value(ONTOLOGY, OWL.versionIRI)
    assert VOCABULARY.value(this, DCTERMS.isVersionOf) == ONTOLOGY
    assert str(this) == f"{BASE}ns/{VOCABULARY.value(this, OWL.versionInfo)}"
    assert VOCABULARY.value(this, OWL.versionInfo) == VOCABULARY.value(ONTOLOGY, OWL.versionInfo)


def test_properties_have_domains_and_ranges() -> None:
    """Each property has either a domain or domainIncludes, and a range or rangeIncludes."""
    for prop in _ours(*PROPERTIES):
        for words in (
            (RDFS.domain, URIRef(SCHEMA.domainIncludes)),
            (RDFS.range, URIRef(SCHEMA.rangeIncludes)),
        ):
            said = [word for word in words if (prop, word, None) in VOCABULARY]
            assert len(said) == 1, (prop, words)


def test_domains_and_ranges_are_no_intersections() -> None:
    """No property has two domains or ranges, because they would intersect (pitfall 19)."""
    for prop in _ours(*PROPERTIES):
        for word in (RDFS.domain, RDFS.range):
            assert len(list(VOCABULARY.objects(prop, word))) <= 1, prop


def test_ranges_fit_the_kind_of_property() -> None:
    """A datatype property has a range of literals, and an object property none (DL)."""
    multibase = "https://w3id.org/security#multibase"
    literal = (str(XSD), f"{RDF}langString", f"{RDF}JSON", multibase)
    for prop in _ours(OWL.ObjectProperty, OWL.DatatypeProperty):
        for value in VOCABULARY.objects(prop, RDFS.range):
            is_literal = str(value).startswith(literal)
            assert is_literal == ((prop, RDF.type, OWL.DatatypeProperty) in VOCABULARY), prop


def test_no_cycles_of_subclasses() -> None:
    """No class or property is below itself (pitfall 6)."""
    for word in (RDFS.subClassOf, RDFS.subPropertyOf):
        for term in set(VOCABULARY.subjects(word, None)):
            assert term not in set(VOCABULARY.transitive_objects(term, word)) - {term}
            assert (term, word, term) not in VOCABULARY


def test_subproperties_are_of_their_kind() -> None:
    """A property below another of the vocabulary has the same kind."""
    for term, above in VOCABULARY.subject_objects(RDFS.subPropertyOf):
        if str(above).startswith(str(KGB)):
            kinds = [
                set(VOCABULARY.objects(one, RDF.type)) & set(PROPERTIES) for one in (term, above)
            ]
            assert kinds[0] == kinds[1], term


def test_what_is_outside_of_owl_dl_says_why() -> None:
    """A term whose definition uses reserved terms of RDF has a note with the reason."""
    for term in _ours(OWL.Class, *PROPERTIES):
        used = {
            value
            for word in (RDFS.domain, RDFS.range, RDFS.subClassOf)
            for value in VOCABULARY.objects(term, word)
        }
        kinds = set(VOCABULARY.objects(term, RDF.type))
        if used & {*RESERVED, OWL.Class} or kinds & RESERVED:
            notes = " ".join(map(str, VOCABULARY.objects(term, SKOS.editorialNote)))
            assert "Outside OWL 2 DL" in notes, term


def test_deprecated_terms_name_their_successor() -> None:
    """A deprecated term names its successor."""
    for term in VOCABULARY.subjects(OWL.deprecated, None):
        assert VOCABULARY.value(term, DCTERMS.isReplacedBy) is not None


# --- SKOS and DQV --------------------------------------------------------------------------------


def _listed(prop: str) -> set[str]:
    """Return the values that the shapes allow for a property."""
    found = set()
    for name in ("tasks.ttl", "results.ttl"):
        shapes = _graph("shapes", name)
        for node in shapes.subjects(SH.path, URIRef(KGB[prop])):
            for values in shapes.objects(node, SH["in"]):
                found |= {str(value) for value in Collection(shapes, values)}
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fixed_values_are_concepts(scheme: str) -> None:
    """The values that a shape lists are the notations of concepts of the term's scheme."""
    concepts = _graph("ontology", "concepts.ttl")
    node = URIRef(f"{BASE}concept/{scheme}")
    members = list(concepts.subjects(SKOS.inScheme, node))
    assert {str(concepts.value(one, SKOS.notation)) for one in members} == _listed(SCHEMES[scheme])
    assert (URIRef(KGB[SCHEMES[scheme]]), RDFS.seeAlso, node) in VOCABULARY
    for one in members:
        for prop in (SKOS.prefLabel, SKOS.definition, SKOS.topConceptOf):
            assert concepts.value(one, prop) is not None, (one, prop)


def test_metrics_have_data_type_and_dimension() -> None:
    """Each metric expects doubles and belongs to a declared quality dimension."""
    declared = [shipped(*_parts(path)) for path in files()]
    known = set(_graph("ontology", "concepts.ttl").subjects(RDF.type, URIRef(DQV.Dimension)))
    metrics = [(one, metric) for one in declared for metric in one.instances(KGB.Metric)]
    assert len(metrics) > 200
    for one, metric in metrics:
        assert one.required(metric, DQV.expectedDataType) == str(XSD.double)
        assert URIRef(one.required(metric, DQV.inDimension)) in known


def _parts(path: object) -> tuple[str, ...]:
    parts = str(path).split("/")
    start = max(
        i
        for i, part in enumerate(parts)
        if part in {"ontology", "queries", "rubrics", "tasks", "store"}
    )
    return tuple(parts[start:])


@pytest.mark.parametrize("name", ["compass.ttl", "leaderboard.ttl"])
def test_axes_are_members_with_labels_and_a_scheme(name: str) -> None:
    """The axes of a compass or score set are its members, and concepts of a scheme."""
    declared = shipped("queries", name)
    sets = declared.subjects(KGB.axis)
    assert sets
    for one in sets:
        assert declared.texts(one, str(SKOS.member)) == declared.texts(one, KGB.axis)
        for axis in declared.objects(one, KGB.axis):
            found = shipped("queries", "compass.ttl")
            assert found.text(axis, str(SKOS.inScheme)) == f"{BASE}axis/"
            assert found.required(axis, str(SKOS.prefLabel)) == found.required(axis, RDFS.label)
