# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the server: SPARQL service description, and VoID with statistics."""

from __future__ import annotations

import asyncio
from itertools import islice

import pyoxigraph as ox

from kgbench.pages.snapshot import View
from kgbench.rdf import queries, query_examples
from kgbench.rdf.statements import node, statements_about, text, type_statements
from kgbench.serve.service import Service
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
    """The statistics of the store in VoID, computed on demand once per snapshot and address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = asyncio.Lock()
        self._counted: tuple[str, str] | None = None
        self._quads: list[ox.Quad] = []

    async def void(self, view: View, root: str) -> list[ox.Quad]:
        """Describe the store as ``void:Dataset`` with class and property partitions."""
        async with self._lock:
            if self._counted != (view.name, root):
                self._quads = await self._describe(view, root)
                self._counted = (view.name, root)
            return self._quads

    async def _describe(self, view: View, root: str) -> list[ox.Quad]:
        service, document = self._service, root + ".well-known/void"
        dataset = node(document + "#dataset")
        declared = queries.load("publish/statistics")
        query = queries.bind(declared, document=document, dataset=dataset)
        answer = await service.pool.run(service.job(view, "nt", query=query), view)
        about = statements_about(
            dataset,
            (DCTERMS["title"], text("Results recorded by kgbench")),
            (FOAF.homepage, root),
            (VOID.sparqlEndpoint, root + "sparql"),
            (VOID.uriSpace, text(service.settings.base)),
        )
        return [
            *type_statements(dataset, DCAT.Dataset),
            *about,
            *ox.parse(await answer.whole(), ox.RdfFormat.N_TRIPLES),
        ]
