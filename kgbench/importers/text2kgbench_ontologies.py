# SPDX-License-Identifier: Apache-2.0
"""Conversion of Text2KGBench ontologies to OWL, and comparison with their Turtle files."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox

from kgbench.characters import without_bom
from kgbench.datasets.text2kgbench import Part
from kgbench.datasets.text2kgbench_problems import Problem
from kgbench.errors import ImportRefused
from kgbench.rdf import string
from kgbench.tasks.text2kg_turtle import BASE, class_iri, property_iri
from kgbench.vocab import DCTERMS, OWL, RDF, RDFS


def ontology_iri(part: Part) -> str:
    """Return the IRI of the ontology of a part."""
    return f"{BASE}{part.ontology.id}"


def owl(part: Part) -> list[str]:
    """Convert the ontology's JSON to triples: classes, properties, labels, domains and ranges.

    Domains and ranges that are not concepts of the ontology are left out (and reported as
    problems).
    """
    ontology = part.ontology
    ontology_node = f"<{ontology_iri(part)}>"
    lines = [
        f"{ontology_node} <{RDF.type}> <{OWL.Ontology}> .",
        f"{ontology_node} <{RDFS.label}> {string(ontology.title)} .",
        f"{ontology_node} <{DCTERMS.identifier}> {string(ontology.id)} .",
    ]
    for concept in ontology.concepts:
        node = f"<{class_iri(ontology.id, concept.id)}>"
        lines += _term(node, OWL.Class, concept.label, ontology_node)
    for relation in ontology.relations:
        node = f"<{property_iri(ontology.id, relation.id)}>"
        lines += _term(node, OWL.ObjectProperty, relation.label, ontology_node)
        for prop, concept_id in ((RDFS.domain, relation.domain), (RDFS.range, relation.range)):
            if concept_id in ontology.concept_labels:
                lines.append(f"{node} <{prop}> <{class_iri(ontology.id, concept_id)}> .")
    return lines


def turtle_differences(root: Path, part: Part) -> list[Problem]:
    """Compare the Turtle file of an ontology, if there is one, with its JSON.

    Raises :class:`~kgbench.errors.ImportRefused` for a file that does not parse.
    """
    path = root / part.collection / "ontologies" / "owl" / f"ont_{part.number}_{part.name}.ttl"
    if not path.is_file():
        return []
    try:
        graph = list(ox.parse(without_bom(path.read_bytes()), ox.RdfFormat.TURTLE))
    except (SyntaxError, ValueError, OSError) as error:
        raise ImportRefused(f"{path} is not valid Turtle: {error}") from error
    triples = {f"{quad.subject} {quad.predicate} {quad.object} ." for quad in graph}
    terms = {ox.NamedNode(OWL.Class), ox.NamedNode(OWL.ObjectProperty)}
    named = {quad.subject for quad in graph if quad.object in terms}
    theirs = {line for line in triples if any(line.startswith(f"{node} ") for node in named)}
    ours = {line for line in owl(part) if RDFS.isDefinedBy not in line and "#" in line.split()[0]}
    only_json = [f"only in JSON: {line}" for line in sorted(ours - theirs)]
    only_turtle = [f"only in Turtle: {line}" for line in sorted(theirs - ours)]
    return [
        Problem("turtle-differs", part.ontology.id, difference)
        for difference in (*only_json, *only_turtle)
    ]


def _term(node: str, kind: str, label: str, ontology: str) -> list[str]:
    return [
        f"{node} <{RDF.type}> <{kind}> .",
        f"{node} <{RDFS.label}> {string(label)} .",
        f"{node} <{RDFS.isDefinedBy}> {ontology} .",
    ]
