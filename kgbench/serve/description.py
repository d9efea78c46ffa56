# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the server: SPARQL service description, and VoID with statistics."""

from __future__ import annotations

import asyncio
import json
from itertools import islice

import pyoxigraph as ox

from kgbench.rdf import queries, query_examples
from kgbench.rdf.statements import node, statements_about, text, type_statements
from kgbench.rdf.void import counts, partitions
from kgbench.serve.service import Service
from kgbench.serve.snapshot_follower import View
from kgbench.vocab import DCAT, DCTERMS, FOAF, FORMATS, RDFS, SD, VOID

_MOST_GRAPHS = 1_000
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPH_FORMATS = ("Turtle", "N-Triples", "JSON-LD", "RDF_XML", "N-Quads", "TriG")


def service_description(service: Service, root: str) -> list[ox.Quad]:
    """Describe the endpoint as ``sd:Service`` and ``dcat:DataService``, with its graphs."""
    endpoint, dataset = node(root + "sparql"), node(root + ".well-known/void#dataset")
    default = root + "sparql#default-graph"
    settings = service.settings
    quads = [
        *type_statements(endpoint, SD.Service, DCAT.DataService),
        *statements_about(
            endpoint,
            (DCTERMS["title"], text("SPARQL endpoint of a kgbench store")),
            (DCAT.endpointURL, endpoint),
            (SD.endpoint, endpoint),
            (SD.supportedLanguage, SD.SPARQL11Query),
            (SD.supportedLanguage, None if settings.token is None else SD.SPARQL11Update),
            (SD.feature, SD.UnionDefaultGraph if settings.union else None),
            (SD.defaultDataset, dataset),
            (DCAT.servesDataset, dataset),
            (RDFS.seeAlso, root + query_examples.SITE_PATH),
            *((SD.resultFormat, FORMATS[name]) for name in (*_RESULTS, *_GRAPH_FORMATS)),
        ),
        *type_statements(dataset, SD.Dataset),
        *statements_about(dataset, (SD.defaultGraph, default)),
        *type_statements(node(default), SD.Graph),
    ]
    for graph in islice(service.view.database.named_graphs(), _MOST_GRAPHS):
        named = ox.BlankNode()
        quads += statements_about(dataset, (SD.namedGraph, named))
        quads += [
            *type_statements(named, SD.NamedGraph),
            *statements_about(named, (SD.name, graph)),
        ]
    return quads


class Statistics:
    """Counts of classes and properties, computed on demand once per snapshot."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = asyncio.Lock()
        self._snapshot = ""
        self._counts: dict[str, dict[str, int]] = {}

    async def get(self, view: View) -> dict[str, dict[str, int]]:
        """Return ``classes`` and ``properties``: IRI -> number of statements in all graphs."""
        async with self._lock:
            if self._snapshot != view.name:
                self._counts = {
                    "classes": await self._count(view, "class-partitions", "class"),
                    "properties": await self._count(view, "property-partitions", "property"),
                }
                self._snapshot = view.name
            return self._counts

    async def _count(self, view: View, name: str, column: str) -> dict[str, int]:
        query = queries.bind(queries.load(name))
        answer = await self._service.pool.run(self._service.job(view, "json", query=query), view)
        rows = json.loads(await answer.whole())["results"]["bindings"]
        return {row[column]["value"]: int(row["count"]["value"]) for row in rows}


async def void(service: Service, statistics: Statistics, view: View, root: str) -> list[ox.Quad]:
    """Describe the store as ``void:Dataset`` with class and property partitions."""
    counted = await statistics.get(view)
    dataset = node(root + ".well-known/void#dataset")
    facts = {"triples": sum(counted["properties"].values()), **counted}
    return [
        *type_statements(node(root + ".well-known/void"), VOID.DatasetDescription),
        *statements_about(node(root + ".well-known/void"), (FOAF.primaryTopic, dataset)),
        *type_statements(dataset, VOID.Dataset, DCAT.Dataset),
        *statements_about(
            dataset,
            (DCTERMS["title"], text("Results recorded by kgbench")),
            (FOAF.homepage, root),
            (VOID.sparqlEndpoint, root + "sparql"),
            (VOID.uriSpace, text(service.settings.base)),
        ),
        *counts(dataset, facts),
        *partitions(dataset, facts, root + ".well-known/void#"),
    ]
