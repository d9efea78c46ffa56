# SPDX-License-Identifier: Apache-2.0
"""The queries in ``queries/`` as SPARQL examples in RDF, with their texts and descriptions.

The format is that of the SIB endpoints (https://github.com/sib-swiss/sparql-examples):
``sh:select`` is the text, ``rdfs:comment`` the description, ``schema:target`` an endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgbench.rdf import queries
from kgbench.rdf.declared import shipped
from kgbench.vocab import RDFS, SCHEMA, SH

SITE_PATH = ".well-known/sparql-examples"
"""The path of the examples on a site or server, relative to its root."""


def text_triples(name: str) -> Iterator[ox.Triple]:
    """Yield the triples about a query that are derived from its ``.rq`` file."""
    query = queries.load(name)
    (node,) = shipped("queries", f"{name}.ttl").instances(SH.SPARQLExecutable)
    comment = ox.Literal(query.description, language="en")
    yield ox.Triple(node, ox.NamedNode(RDFS.comment), comment)
    yield ox.Triple(node, ox.NamedNode(SH.select), ox.Literal(query.text))


def examples(target: str | None) -> list[ox.Quad]:
    """Return all queries, prefixes and parameters as quads; ``target`` is an endpoint's URL."""
    triples: dict[ox.Triple, None] = {}
    for name in queries.names():
        declared = shipped("queries", f"{name}.ttl")
        triples |= dict.fromkeys(quad.triple for quad in declared.graph)
        triples |= dict.fromkeys(text_triples(name))
        (node,) = declared.instances(SH.SPARQLExecutable)
        if target is not None:
            triples[ox.Triple(node, ox.NamedNode(SCHEMA.target), ox.NamedNode(target))] = None
    for name in ("prefixes", "parameters", "columns"):
        triples |= dict.fromkeys(quad.triple for quad in shipped("queries", f"{name}.ttl").graph)
    return [ox.Quad(triple.subject, triple.predicate, triple.object) for triple in triples]
