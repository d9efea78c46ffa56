# SPDX-License-Identifier: Apache-2.0
"""The vocabulary: every class, property and concept of ``ontology/kgbench.ttl``."""

from __future__ import annotations

from collections.abc import Iterator

from rdflib import OWL, RDF, RDFS, SKOS, Graph
from rdflib.term import Node

from docs.reference_pages.declared import KGB, SCHEMA, cell, graph, short, text

INTRODUCTION = """\
# Vocabulary

The namespace is `https://w3id.org/kgbench/ns#`, its prefix `kgb`. Standard terms have priority:
PROV-O for activities, DQV for metrics, Data Cube for tables, SKOS for concepts, and Dublin Core
and schema.org for the rest. `ontology/kgbench.ttl` declares only terms that these vocabularies
lack. This page is generated from that file. [The data model](../data-model.md) shows how the terms
are used together.

[![The classes of results and the properties between them](vocabulary.svg)](vocabulary.svg)
"""


def page() -> str:
    """Return the page in Markdown."""
    found = graph("ontology", "kgbench.ttl")
    return "\n".join([INTRODUCTION, *_classes(found), *_properties(found), *_concepts(found)])


def _terms(found: Graph, *kinds: Node) -> list[Node]:
    terms = {each for kind in kinds for each in found.subjects(RDF.type, kind)}
    return sorted((term for term in terms if str(term).startswith(str(KGB))), key=str)


def _classes(found: Graph) -> Iterator[str]:
    yield "## Classes\n"
    for term in _terms(found, OWL.Class):
        yield from _heading(found, term)
        yield from _related(found, term, "subclass of", RDFS.subClassOf)
        yield from _related(found, term, "close to", SKOS.closeMatch)


def _properties(found: Graph) -> Iterator[str]:
    yield "## Properties\n"
    for term in _terms(found, OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property):
        yield from _heading(found, term)
        yield from _related(found, term, "of", RDFS.domain, SCHEMA.domainIncludes)
        yield from _related(found, term, "values", RDFS.range, SCHEMA.rangeIncludes)
        yield from _related(found, term, "subproperty of", RDFS.subPropertyOf)
        yield from _related(found, term, "close to", SKOS.closeMatch)


def _concepts(found: Graph) -> Iterator[str]:
    yield "## Outcomes\n"
    yield "How an answer or a call ended. Errors are counted separately from wrong answers.\n"
    yield "| outcome | meaning | error | retried |\n|---|---|---|---|"
    for term in sorted(found.subjects(RDF.type, SKOS.Concept), key=str):
        flags = [text(found, term, each) for each in (KGB.isError, KGB.askAgain)]
        words = " | ".join("yes" if flag == "true" else "no" for flag in flags)
        yield f"| `{short(found, term)}` | {cell(text(found, term, SKOS.definition))} | {words} |"
    yield ""


def _heading(found: Graph, term: Node) -> Iterator[str]:
    yield f"### {short(found, term)}\n"
    yield f"{text(found, term, SKOS.definition)}\n"
    note = text(found, term, SKOS.note)
    if note:
        yield f"{note}\n"


def _related(found: Graph, term: Node, words: str, *properties: Node) -> Iterator[str]:
    others = sorted({short(found, o) for each in properties for o in found.objects(term, each)})
    if others:
        yield f"*{words}* " + ", ".join(f"`{other}`" for other in others) + "\n"
