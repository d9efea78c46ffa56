# SPDX-License-Identifier: Apache-2.0
"""What the server says of itself: the service description, and VoID with its statistics."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import queries
from kgbench.serve.following import View
from kgbench.serve.service import Service
from kgbench.vocab import DCAT, DCTERMS, FOAF, RDF, SD, VOID, XSD

_MOST_GRAPHS = 1_000
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPH_FORMATS = ("Turtle", "N-Triples", "JSON-LD", "RDF_XML", "N-Quads", "TriG")
_FORMAT_BASE = "http://www.w3.org/ns/formats/"


def _node(iri: str) -> ox.NamedNode:
    return ox.NamedNode(iri)


def _quad(subject: Any, predicate: str, value: Any) -> ox.Quad:
    return ox.Quad(subject, _node(predicate), value)


def service_description(service: Service, root: str) -> list[ox.Quad]:
    """The endpoint as ``sd:Service`` and ``dcat:DataService``, with the graphs it has."""
    endpoint, dataset = _node(root + "sparql"), _node(root + ".well-known/void#dataset")
    default = _node(root + "sparql#default-graph")
    quads = [
        _quad(endpoint, RDF.type, _node(SD.Service)),
        _quad(endpoint, RDF.type, _node(DCAT.DataService)),
        _quad(endpoint, DCTERMS["title"], ox.Literal("SPARQL endpoint of a kgbench store")),
        _quad(endpoint, DCAT.endpointURL, endpoint),
        _quad(endpoint, SD.endpoint, endpoint),
        _quad(endpoint, SD.supportedLanguage, _node(SD.SPARQL11Query)),
        _quad(endpoint, SD.defaultDataset, dataset),
        _quad(endpoint, DCAT.servesDataset, dataset),
        _quad(dataset, RDF.type, _node(SD.Dataset)),
        _quad(dataset, SD.defaultGraph, default),
        _quad(default, RDF.type, _node(SD.Graph)),
    ]
    if service.settings.union:
        quads.append(_quad(endpoint, SD.feature, _node(SD.UnionDefaultGraph)))
    if service.settings.token is not None:
        quads.append(_quad(endpoint, SD.supportedLanguage, _node(SD.SPARQL11Update)))
    quads += [
        _quad(endpoint, SD.resultFormat, _node(_FORMAT_BASE + name))
        for name in (*_RESULTS, *_GRAPH_FORMATS)
    ]
    for place, graph in enumerate(service.view.database.named_graphs()):
        if place >= _MOST_GRAPHS:
            break
        named = ox.BlankNode()
        quads += [
            _quad(dataset, SD.namedGraph, named),
            _quad(named, RDF.type, _node(SD.NamedGraph)),
            _quad(named, SD.name, graph),
        ]
    return quads


class Statistics:
    """Counts of classes and properties, computed when asked for, once per snapshot."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._one = asyncio.Lock()
        self._of = ""
        self._found: dict[str, dict[str, int]] = {}

    async def get(self) -> dict[str, dict[str, int]]:
        """``classes`` and ``properties``: IRI to the number of statements, in all graphs."""
        async with self._one:
            view = self._service.view
            if self._of != view.name:
                self._found = {
                    "classes": await self._count(view, "class-partitions", "class"),
                    "properties": await self._count(view, "property-partitions", "property"),
                }
                self._of = view.name
            return self._found

    async def _count(self, view: View, name: str, column: str) -> dict[str, int]:
        text = queries.bind(queries.load(name))
        answer = await self._service.pool.run(self._service.job(view, "json", query=text))
        rows = json.loads(await answer.whole())["results"]["bindings"]
        return {row[column]["value"]: int(row["count"]["value"]) for row in rows}


async def void(service: Service, statistics: Statistics, root: str) -> list[ox.Quad]:
    """The store as ``void:Dataset`` with its class and property partitions."""
    found = await statistics.get()
    dataset = _node(root + ".well-known/void#dataset")
    document = _node(root + ".well-known/void")
    total = sum(found["properties"].values())
    quads = [
        _quad(document, RDF.type, _node(VOID.DatasetDescription)),
        _quad(document, FOAF.primaryTopic, dataset),
        _quad(dataset, RDF.type, _node(VOID.Dataset)),
        _quad(dataset, RDF.type, _node(DCAT.Dataset)),
        _quad(dataset, DCTERMS["title"], ox.Literal("Results recorded by kgbench")),
        _quad(dataset, FOAF.homepage, _node(root)),
        _quad(dataset, VOID.sparqlEndpoint, _node(root + "sparql")),
        _quad(dataset, VOID.uriSpace, ox.Literal(service.settings.base)),
        _quad(dataset, VOID.triples, _integer(total)),
        _quad(dataset, VOID.classes, _integer(len(found["classes"]))),
        _quad(dataset, VOID.properties, _integer(len(found["properties"]))),
    ]
    for iri, count in sorted(found["classes"].items()):
        part = ox.BlankNode()
        quads += [
            _quad(dataset, VOID.classPartition, part),
            _quad(part, VOID["class"], _node(iri)),
            _quad(part, VOID.entities, _integer(count)),
        ]
    for iri, count in sorted(found["properties"].items()):
        part = ox.BlankNode()
        quads += [
            _quad(dataset, VOID.propertyPartition, part),
            _quad(part, VOID.property, _node(iri)),
            _quad(part, VOID.triples, _integer(count)),
        ]
    return quads


def _integer(value: int) -> ox.Literal:
    return ox.Literal(str(value), datatype=_node(XSD.integer))
