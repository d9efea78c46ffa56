# SPDX-License-Identifier: Apache-2.0
"""The data graph of a validation: all quads of a database as one set of triples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.rdf.quads import Quads
from kgbench.vocab import RDF, RDFS

Term: TypeAlias = Any
"""A subject or object of pyoxigraph."""

TYPE = ox.NamedNode(RDF.type)
_SUBCLASS = ox.NamedNode(RDFS.subClassOf)
_CACHE_SIZE = 50_000  # most cached nodes, which bounds memory for databases of any size


class IllFormedShapes(ResourceError):
    """Shapes cannot be used for validation; the message gives the reasons."""


class Data:
    """A reader of triples by node with a bounded cache."""

    def __init__(self, quads: Quads) -> None:
        self._pattern = quads.quads_for_pattern
        self.about = lru_cache(_CACHE_SIZE)(self._about)
        self.types = lru_cache(_CACHE_SIZE)(self._types)
        self.subclasses = lru_cache(None)(self._subclasses)

    @cached_property
    def store(self) -> ox.Store:
        """The triples as the default graph of a database, for queries."""
        store = ox.Store()
        store.extend(self.quads(ox.DefaultGraph()))
        return store

    def quads(self, graph: ox.NamedNode | ox.DefaultGraph) -> Iterator[ox.Quad]:
        """Yield all triples as quads of one graph."""
        for quad in self._pattern(None, None, None, None):
            yield ox.Quad(quad.subject, quad.predicate, quad.object, graph)

    def values(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct values of ``predicate`` at ``node``."""
        return self.about(node).get(predicate, [])

    def sources(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct nodes at which ``predicate`` has the value ``node``."""
        return list({q.subject: None for q in self._pattern(None, predicate, node, None)})

    def subjects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the nodes that have ``predicate``."""
        return list({q.subject: None for q in self._pattern(None, predicate, None, None)})

    def objects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the distinct values of ``predicate`` in the whole data."""
        return list({q.object: None for q in self._pattern(None, predicate, None, None)})

    def instances(self, cls: ox.NamedNode) -> list[Term]:
        """Return the nodes of a class and of its subclasses."""
        nodes: dict[Term, None] = {}
        for subclass in self.subclasses(cls):
            nodes.update((q.subject, None) for q in self._pattern(None, TYPE, subclass, None))
        return list(nodes)

    def is_a(self, node: Term, cls: ox.NamedNode) -> bool:
        """Return whether ``node`` is an instance of a class or of one of its subclasses."""
        return not self.types(node).isdisjoint(self.subclasses(cls))

    def _about(self, node: Term) -> dict[ox.NamedNode, list[Term]]:
        if isinstance(node, ox.Literal):
            return {}
        objects_by_predicate: dict[ox.NamedNode, dict[Term, None]] = {}
        for quad in self._pattern(node, None, None, None):
            objects_by_predicate.setdefault(quad.predicate, {})[quad.object] = None
        return {predicate: list(objects) for predicate, objects in objects_by_predicate.items()}

    def _types(self, node: Term) -> frozenset[Term]:
        if isinstance(node, ox.Literal):
            return frozenset()
        return frozenset(q.object for q in self._pattern(node, TYPE, None, None))

    def _subclasses(self, cls: ox.NamedNode) -> frozenset[Term]:
        result, queue = {cls}, [cls]
        while queue:
            for subclass in self.sources(queue.pop(), _SUBCLASS):
                if subclass not in result:
                    result.add(subclass)
                    queue.append(subclass)
        return frozenset(result)
