# SPDX-License-Identifier: Apache-2.0
"""The questions in ``queries/`` as SPARQL examples: their texts beside their descriptions.

As the SIB endpoints publish theirs (https://github.com/sib-swiss/sparql-examples): ``sh:select`` is
the text, ``rdfs:comment`` says what it asks, ``schema:target`` names an endpoint that answers it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgbench.rdf import queries
from kgbench.rdf.declared import shipped
from kgbench.vocab import RDFS, SCHEMA, SH

PLACE = ".well-known/sparql-examples"
"""Where a site or server has them, relative to its root."""


def stated(name: str) -> Iterator[ox.Triple]:
    """What the description of the query called ``name`` leaves to its ``.rq`` file."""
    query = queries.load(name)
    (node,) = shipped("queries", f"{name}.ttl").instances(SH.SPARQLExecutable)
    comment = ox.Literal(query.description, language="en")
    yield ox.Triple(node, ox.NamedNode(RDFS.comment), comment)
    yield ox.Triple(node, ox.NamedNode(SH.select), ox.Literal(query.text))


def examples(target: str | None) -> list[ox.Quad]:
    """All questions with prefixes and parameters; ``target`` is the URL of an endpoint."""
    found: dict[ox.Triple, None] = {}
    for name in queries.names():
        declared = shipped("queries", f"{name}.ttl")
        found |= dict.fromkeys(quad.triple for quad in declared.graph)
        found |= dict.fromkeys(stated(name))
        (node,) = declared.instances(SH.SPARQLExecutable)
        if target is not None:
            found[ox.Triple(node, ox.NamedNode(SCHEMA.target), ox.NamedNode(target))] = None
    for name in ("prefixes", "parameters", "columns"):
        found |= dict.fromkeys(quad.triple for quad in shipped("queries", f"{name}.ttl").graph)
    return [ox.Quad(one.subject, one.predicate, one.object) for one in found]
