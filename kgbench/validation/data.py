# SPDX-License-Identifier: Apache-2.0
"""The graph that is validated: all quads of a database as one set of triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import pyoxigraph as ox

from kgbench.vocab import RDF, RDFS

Term: TypeAlias = Any
"""A subject or object as pyoxigraph has it."""

TYPE = ox.NamedNode(RDF.type)
_SUBCLASS = ox.NamedNode(RDFS.subClassOf)
_KEPT = 50_000  # nodes that are remembered: those of the dialogues at hand, whatever the size


class Quads(Protocol):
    """What :class:`Data` reads: a store or a dataset."""

    def quads_for_pattern(
        self, subject: Any, predicate: Any, value: Any, graph_name: Any = None, /
    ) -> Iterator[Any]:
        """Yield the quads with these parts."""


class Memory:
    """Quads as they were written: a store normalises literals, and derived datatypes with them."""

    def __init__(self, quads: Iterable[Any]) -> None:
        self._by_subject: dict[Any, list[Any]] = {}
        self._by_predicate: dict[Any, list[Any]] = {}
        for quad in quads:
            self._by_subject.setdefault(quad.subject, []).append(quad)
            self._by_predicate.setdefault(quad.predicate, []).append(quad)

    def quads_for_pattern(
        self,
        subject: Any,
        predicate: Any,
        value: Any,
        graph_name: Any = None,  # noqa: ARG002 - all graphs are one here
        /,
    ) -> Iterator[Any]:
        """Yield the quads with these parts."""
        if subject is not None:
            found = self._by_subject.get(subject, [])
        else:
            found = self._by_predicate.get(predicate, [])
        for quad in found:
            if predicate in (None, quad.predicate) and value in (None, quad.object):
                yield quad


class Data:
    """Reading triples by node, remembering a bounded number of nodes."""

    def __init__(self, quads: Quads) -> None:
        self._pattern = quads.quads_for_pattern
        self.about = lru_cache(_KEPT)(self._about)
        self.types = lru_cache(_KEPT)(self._types)
        self.subclasses = lru_cache(None)(self._subclasses)

    def values(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the values that ``predicate`` has at ``node``, each once."""
        return self.about(node).get(predicate, [])

    def sources(self, node: Term, predicate: ox.NamedNode) -> list[Term]:
        """Return the nodes at which ``predicate`` has the value ``node``, each once."""
        return list({q.subject: None for q in self._pattern(None, predicate, node, None)})

    def subjects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the nodes that have ``predicate``."""
        return list({q.subject: None for q in self._pattern(None, predicate, None, None)})

    def objects(self, predicate: ox.NamedNode) -> list[Term]:
        """Return the values that ``predicate`` has anywhere."""
        return list({q.object: None for q in self._pattern(None, predicate, None, None)})

    def instances(self, cls: ox.NamedNode) -> list[Term]:
        """Return the nodes of a class and of its subclasses."""
        found: dict[Term, None] = {}
        for each in self.subclasses(cls):
            found.update((q.subject, None) for q in self._pattern(None, TYPE, each, None))
        return list(found)

    def is_a(self, node: Term, cls: ox.NamedNode) -> bool:
        """Return whether ``node`` is of a class or of one of its subclasses."""
        return not self.types(node).isdisjoint(self.subclasses(cls))

    def _about(self, node: Term) -> dict[ox.NamedNode, list[Term]]:
        if isinstance(node, ox.Literal):
            return {}
        found: dict[ox.NamedNode, dict[Term, None]] = {}
        for quad in self._pattern(node, None, None, None):
            found.setdefault(quad.predicate, {})[quad.object] = None
        return {predicate: list(objects) for predicate, objects in found.items()}

    def _types(self, node: Term) -> frozenset[Term]:
        if isinstance(node, ox.Literal):
            return frozenset()
        return frozenset(q.object for q in self._pattern(node, TYPE, None, None))

    def _subclasses(self, cls: ox.NamedNode) -> frozenset[Term]:
        found, open_ = {cls}, [cls]
        while open_:
            for below in self.sources(open_.pop(), _SUBCLASS):
                if below not in found:
                    found.add(below)
                    open_.append(below)
        return frozenset(found)
