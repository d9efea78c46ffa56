# SPDX-License-Identifier: Apache-2.0
"""Stores over the graphs in ``tests/graphs``, for tests of analyses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from kgbench.analysis.index import ANALYSES
from kgbench.api.connection import Connection
from kgbench.api.results import Results
from kgbench.scores.selection import Selection
from kgbench.store import Block, EmbeddedStore, Iris, open_store
from kgbench.store.databases import Database
from kgbench.vocab import BASE, KGB

GRAPHS = Path(__file__).parents[1] / "graphs"


class GraphStore(Database):
    """A read-only store over one TriG file, without declarations."""

    def __init__(self, name: str) -> None:
        self.iris = Iris()
        self.location = name
        self.database = ox.Store()
        path = str(GRAPHS / f"{name}.trig")
        self._db = self.database
        self.database.bulk_load(path=path, format=ox.RdfFormat.TRIG, base_iri=BASE)

    def query(self, text: str) -> object:
        """Return the answer to a query."""
        return self.database.query(text)


class Opened(Connection):
    """A connection for the Python API to a store that the tests keep open."""

    def __init__(self, store: GraphStore) -> None:
        super().__init__(store.location)
        self._store = store

    def close(self) -> None:
        """Leave the store open for the tests."""


def results(store: GraphStore, **chosen: str) -> Results:
    """Return the results in a store, as ``kgbench.open`` does."""
    return Results(Opened(store), **chosen)


@cache
def graph(name: str) -> GraphStore:
    """Return the store over ``graphs/NAME.trig``."""
    return GraphStore(name)


def small() -> GraphStore:
    """Return the store with scores of two models on three tasks."""
    return graph("analysis_scores")


def altered(*updates: str) -> GraphStore:
    """Return the small store after SPARQL updates; IRIs in them may be relative to the base."""
    store = GraphStore("analysis_scores")
    for update in updates:
        store.database.update(f"BASE <{BASE}> PREFIX kgb: <{KGB}> {update}")
    return store


def iri(path: str) -> str:
    """Return the IRI at a path below the base."""
    return BASE + path


def owned(name: str, location: str = "memory:") -> EmbeddedStore:
    """Return a writable store with all declarations and the graphs of one TriG file."""
    store = open_store(location)
    blocks: dict[str, list[str]] = {}
    parsed = ox.parse(path=str(GRAPHS / f"{name}.trig"), format=ox.RdfFormat.TRIG, base_iri=BASE)
    for quad in parsed:
        if quad.predicate.value not in (KGB.changeStamp, KGB.declaredDigest):  # set by the store
            blocks.setdefault(quad.graph_name.value, []).append(f"{quad.triple} .")
    store.write([Block(graph, triples) for graph, triples in blocks.items()])
    return store


def parts(name: str, store: GraphStore, selection: Selection, **arguments: object) -> Mapping:
    """Return the scores behind the cells of the table of an analysis."""
    analysis = ANALYSES[name]
    return analysis.parts(store, selection, analysis.arguments(**arguments))
