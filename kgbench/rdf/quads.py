# SPDX-License-Identifier: Apache-2.0
"""Quads in memory, found by pattern like those of a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol, TypeAlias

import pyoxigraph as ox

Properties: TypeAlias = Mapping[str, list[Any]]
"""The distinct values of each property of a subject, by the IRI of the property."""

Statements: TypeAlias = Mapping[str, Properties]
"""The properties of subjects, by :func:`name`."""

_SUBJECT = attrgetter("subject")


class Quads(Protocol):
    """What can be searched by pattern: a store, a data set or :class:`IndexedQuads`."""

    def quads_for_pattern(
        self, subject: Any, predicate: Any, value: Any, graph_name: Any = None, /
    ) -> Iterator[Any]:
        """Yield the quads that match a pattern; ``None`` matches everything."""


class LookUp(Protocol):
    """Statements that are looked up by the nodes (IRIs) in them, such as those of a store."""

    def about(self, nodes: Iterable[str], /) -> Iterator[Any]:
        """Yield the statements about nodes."""

    def referring(self, name: str, nodes: Iterable[str], /) -> Iterator[Any]:
        """Yield the statements with the property ``name`` whose values are among the nodes."""


class ByIndex:
    """Look-ups by the indexes of ``quads``."""

    def __init__(self, quads: Quads) -> None:
        self._quads = quads

    def about(self, nodes: Iterable[str]) -> Iterator[Any]:
        """See :class:`LookUp`."""
        for node in named(nodes):
            yield from self._quads.quads_for_pattern(node, None, None)

    def referring(self, name: str, nodes: Iterable[str]) -> Iterator[Any]:
        """See :class:`LookUp`."""
        predicate = ox.NamedNode(name)
        for node in named(nodes):
            yield from self._quads.quads_for_pattern(None, predicate, node)


def named(nodes: Iterable[str]) -> Iterator[ox.NamedNode]:
    """Yield the nodes with these IRIs, without what is no IRI and therefore occurs nowhere."""
    for node in nodes:
        with suppress(ValueError):
            yield ox.NamedNode(node)


class IndexedQuads:
    """Quads or triples in memory, indexed by subject; other indexes are made when needed.

    A look-up takes a tenth of the time that a store in memory needs, and literals keep their
    original form, which a store normalises. ``beneath`` has further quads, which are found as well.

    >>> import pyoxigraph as ox
    >>> a, b, p = (ox.NamedNode(f"urn:{name}") for name in "abp")
    >>> quads = IndexedQuads([ox.Quad(a, p, b), ox.Quad(b, p, a)])
    >>> [str(quad.subject) for quad in quads.quads_for_pattern(None, p, b)]
    ['<urn:a>']
    """

    def __init__(self, quads: Iterable[Any] = (), beneath: IndexedQuads | None = None) -> None:
        self._beneath = beneath
        self._by_subject: dict[Any, list[Any]] = {}
        self._by_predicate: dict[Any, list[Any]] = {}
        self._by_object: dict[Any, dict[Any, list[Any]]] = {}
        for subject, successive in groupby(quads, key=_SUBJECT):
            known = self._by_subject.setdefault(subject, [])
            known += successive

    def quads_for_pattern(
        self, subject: Any, predicate: Any, value: Any, graph_name: Any = None, /
    ) -> Iterator[Any]:
        """Yield the quads that match a pattern; ``None`` matches everything."""
        if subject is not None:
            found: Iterable[Any] = self._by_subject.get(subject, ())
            if predicate is not None:
                found = [quad for quad in found if quad.predicate == predicate]
            if value is not None:
                found = [quad for quad in found if quad.object == value]
        elif predicate is None:
            found = (quad for group in self._by_subject.values() for quad in group)
            if value is not None:
                found = (quad for quad in found if quad.object == value)
        elif value is None:
            found = self._with_predicate(predicate)
        else:
            found = self._with_object(predicate, value)
        for quad in found:
            if graph_name is None or quad.graph_name == graph_name:
                yield quad
        if self._beneath is not None:
            yield from self._beneath.quads_for_pattern(subject, predicate, value, graph_name)

    def _with_predicate(self, predicate: Any) -> list[Any]:
        if not self._by_predicate:
            for group in self._by_subject.values():
                for quad in group:
                    self._by_predicate.setdefault(quad.predicate, []).append(quad)
        return self._by_predicate.get(predicate, [])

    def _with_object(self, predicate: Any, value: Any) -> list[Any]:
        index = self._by_object.get(predicate)
        if index is None:
            index = self._by_object[predicate] = {}
            for quad in self._with_predicate(predicate):
                index.setdefault(quad.object, []).append(quad)
        return index.get(value, [])


def by_subject(quads: Iterable[ox.Quad]) -> Statements:
    """Return the properties of each subject, in the order of the quads."""
    index: dict[str, dict[str, dict[Any, None]]] = {}
    for subject, predicate, value, _ in quads:
        key = subject.value if isinstance(subject, ox.NamedNode) else name(subject)
        index.setdefault(key, {}).setdefault(predicate.value, {})[value] = None
    return {
        subject: {predicate: list(values) for predicate, values in properties.items()}
        for subject, properties in index.items()
    }


def name(term: Any) -> str:
    """Return the IRI of a named node, or the label of a blank node with ``_:`` before it."""
    return f"_:{term.value}" if isinstance(term, ox.BlankNode) else str(term.value)
