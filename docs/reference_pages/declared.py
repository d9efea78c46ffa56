# SPDX-License-Identifier: Apache-2.0
"""What the Turtle files of the repository declare, read for the reference pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache

import pyoxigraph as ox
from rdflib import SKOS, Graph, Namespace
from rdflib.term import Identifier, Node

from kgbench import resources
from kgbench.rdf.declared import quads

KGB = Namespace("https://w3id.org/kgbench/ns#")
SCHEMA = Namespace("https://schema.org/")
CSVW = Namespace("http://www.w3.org/ns/csvw#")


@cache
def graph(folder: str, pattern: str) -> Graph:
    """Return all files of a declared folder that match ``pattern``, in one graph."""
    found = Graph()
    for path in resources.files(folder, pattern):
        content = path.read_bytes()
        triples = ox.serialize(
            (quad.triple for quad in quads(content)), format=ox.RdfFormat.N_TRIPLES
        )
        found.parse(triples, format="nt")
        written = ox.parse(content, ox.RdfFormat.TURTLE)
        deque(written, maxlen=0)  # the prefixes are known at the end
        for prefix, namespace in written.prefixes.items():
            found.bind(prefix, namespace)
    return found


def text(found: Graph, subject: Node, *properties: Node) -> str:
    """Return the value of the first of these properties that ``subject`` has, or nothing."""
    values = (found.value(subject, each, any=True) for each in properties)
    return next((str(value) for value in values if value is not None), "")


def label(found: Graph, subject: Node) -> str:
    """Return the short name of a declared thing."""
    return text(found, subject, SKOS.notation)


def short(found: Graph, term: Node) -> str:
    """Return a term as Turtle writes it, with its prefix."""
    return term.n3(found.namespace_manager) if isinstance(term, Identifier) else str(term)


def named(found: Graph, kind: Node) -> Iterator[tuple[str, Node]]:
    """Yield the things of a class with their short names, in the order of the names."""
    things = {(label(found, each), each) for each in found.subjects(None, kind)}
    yield from sorted(things, key=lambda pair: (pair[0].casefold(), str(pair[1])))


def cell(words: str) -> str:
    """Return ``words`` as they can stand in a cell of a table."""
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")
