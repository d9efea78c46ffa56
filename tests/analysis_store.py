# SPDX-License-Identifier: Apache-2.0
"""Stores over the graphs in ``tests/graphs``, as analyses read them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyoxigraph as ox

from kgbench.api.connection import Connection
from kgbench.api.results import Results
from kgbench.store import Block, EmbeddedStore, Iris, open_store
from kgbench.vocab import BASE, KGB

GRAPHS = Path(__file__).parent / "graphs"


class GraphStore:
    """A read-only store over one TriG file, without anything declared in it."""

    def __init__(self, name: str) -> None:
        self.iris = Iris()
        self.location = name
        self.database = ox.Store()
        path = str(GRAPHS / f"{name}.trig")
        self.database.bulk_load(path=path, format=ox.RdfFormat.TRIG, base_iri=BASE)

    def query(self, text: str) -> object:
        """What a store answers."""
        return self.database.query(text)


class Opened(Connection):
    """What the Python API reads through, over a store that the tests go on using."""

    def __init__(self, store: GraphStore) -> None:
        super().__init__(store.location)
        self._store = store

    def close(self) -> None:
        """Leave the store to the tests."""


def results(store: GraphStore, **chosen: str) -> Results:
    """The results in a store, as ``kgbench.open`` gives them."""
    return Results(Opened(store), **chosen)


@cache
def graph(name: str) -> GraphStore:
    """The store over ``graphs/NAME.trig``."""
    return GraphStore(name)


def small() -> GraphStore:
    """Scores of two models on three tasks."""
    return graph("analysis_scores")


def altered(*updates: str) -> GraphStore:
    """The small store after SPARQL updates; IRIs in them may stand below the base."""
    store = GraphStore("analysis_scores")
    for update in updates:
        store.database.update(f"BASE <{BASE}> PREFIX kgb: <{KGB}> {update}")
    return store


def iri(path: str) -> str:
    """The IRI at a path below the base."""
    return BASE + path


def owned(name: str, location: str = "memory:") -> EmbeddedStore:
    """A store that can be written, with everything declared and the graphs of one TriG file."""
    store = open_store(location)
    blocks: dict[str, list[str]] = {}
    parsed = ox.parse(path=str(GRAPHS / f"{name}.trig"), format=ox.RdfFormat.TRIG, base_iri=BASE)
    for quad in parsed:
        if quad.predicate.value not in (KGB.changeStamp, KGB.declaredDigest):  # the store's own
            blocks.setdefault(quad.graph_name.value, []).append(f"{quad.triple} .")
    store.write([Block(graph, triples) for graph, triples in blocks.items()])
    return store
