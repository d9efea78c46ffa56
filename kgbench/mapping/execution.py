# SPDX-License-Identifier: Apache-2.0
"""Execution of mappings by the semantics of RML core (2024) and R2RML (2012).

Unlike in relational databases, joins compare texts. The graphs of a triple are the union of those
of the subject map and of the predicate-object map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

import pyoxigraph as ox

from kgbench.mapping.document import (
    Expression,
    PredicateObjectMap,
    Record,
    Reference,
    TermMap,
    TriplesMap,
    is_default_graph,
)
from kgbench.mapping.limits import Budget, MappingError
from kgbench.mapping.reading import triples_maps
from kgbench.mapping.sources import Data, Sources
from kgbench.mapping.terms import Terms, normalise_constant
from kgbench.vocab import RDF

Row = tuple[str, ...]
_TYPE: Final = f"<{RDF.type}>"
JoinIndex = dict[tuple[str, ...], list[str]]


def execute_mapping(
    mapping: Iterable[ox.Triple], data: Data, base: str | None = None
) -> frozenset[Row]:
    """Execute a mapping and return rows of N-Triples terms, with the graph last if it is named.

    ``base`` is the base IRI of mappings without their own. Raises
    :class:`~kgbench.mapping.limits.MappingError` if the mapping is ill-formed, names sources that
    are not in ``data``, produces invalid RDF, or exceeds the
    :class:`~kgbench.mapping.limits.Budget`.
    """
    budget = Budget()
    maps = triples_maps(mapping)
    sources = Sources(data, budget)
    try:
        return _Execution(maps, sources, budget, base).rows()
    finally:
        sources.close()


class _Execution:
    """A single execution of triples maps."""

    def __init__(
        self, maps: Sequence[TriplesMap], sources: Sources, budget: Budget, base: str | None
    ) -> None:
        self._maps = {triples_map.name: triples_map for triples_map in maps}
        self._sources = sources
        self._budget = budget
        self._base = base
        self._terms = Terms(budget)
        self._join_indexes: dict[tuple[str, tuple[Expression, ...]], JoinIndex] = {}
        self._rows: dict[Row, None] = {}

    def rows(self) -> frozenset[Row]:
        for triples_map in self._maps.values():
            for part in triples_map.parts:
                self._check(triples_map, part)
            for record in self._sources.records(triples_map.source):
                self._record(triples_map, record)
        return frozenset(self._rows)

    def _check(self, triples_map: TriplesMap, part: PredicateObjectMap) -> None:
        for object_map in part.objects:
            if not isinstance(object_map, Reference) or object_map.joins:
                continue
            if self._maps[object_map.parent].source != triples_map.source:
                raise MappingError(
                    f"{triples_map.name} refers to {object_map.parent} without a join condition, "
                    "but their sources differ"
                )

    def _record(self, triples_map: TriplesMap, record: Record) -> None:
        base = triples_map.base or self._base
        subjects = self._terms.make_terms(triples_map.subject, record, base)
        if not subjects:
            return
        own = list(self._graphs(triples_map.graphs, record, base))
        for row in product(subjects, (_TYPE,), triples_map.classes, own or ("",)):
            self._add(row)
        for part in triples_map.parts:
            graphs = [*own, *self._graphs(part.graphs, record, base)] or [""]
            predicates = [
                term
                for predicate in part.predicates
                for term in self._terms.make_terms(predicate, record, base)
            ]
            objects = [
                term
                for object_map in part.objects
                for term in self._objects(object_map, record, base)
            ]
            for row in product(subjects, predicates, objects, graphs):
                self._add(row)

    def _add(self, row: Row) -> None:
        *triple, graph = row
        cells = (*triple, graph) if graph else tuple(triple)
        if cells not in self._rows:
            self._budget.spend("triples")
            self._rows[cells] = None
        else:
            self._budget.spend("terms")

    def _graphs(self, maps: Iterable[TermMap], record: Record, base: str | None) -> Iterator[str]:
        """Yield the names of graphs; the default graph has the name ``""``."""
        for graph_map in maps:
            for name in self._terms.make_terms(graph_map, record, base):
                yield "" if is_default_graph(name[1:-1]) else name

    def _objects(
        self, object_map: TermMap | Reference, record: Record, base: str | None
    ) -> list[str]:
        if isinstance(object_map, TermMap):
            terms = self._terms.make_terms(object_map, record, base)
            return (
                [normalise_constant(term) for term in terms]
                if object_map.expression.constant
                else terms
            )
        parent = self._maps[object_map.parent]
        if not object_map.joins:
            return self._terms.make_terms(parent.subject, record, parent.base or self._base)
        joined = self._join_index(parent, tuple(side for _, side in object_map.joins))
        values = [self._terms.texts(side, record) for side, _ in object_map.joins]
        result: list[str] = []
        for key in product(*values):
            matching = joined.get(key, [])
            self._budget.spend("terms", 1 + len(matching))
            result += matching
        return result

    def _join_index(self, parent: TriplesMap, sides: tuple[Expression, ...]) -> JoinIndex:
        """Return the subjects of a triples map by the values of its side of a join."""
        key = (parent.name, sides)
        if key not in self._join_indexes:
            subjects_by_values: JoinIndex = {}
            for record in self._sources.records(parent.source):
                subjects = self._terms.make_terms(parent.subject, record, parent.base or self._base)
                for values in product(*(self._terms.texts(side, record) for side in sides)):
                    self._budget.spend("terms", 1 + len(subjects))
                    subjects_by_values.setdefault(values, []).extend(subjects)
            self._join_indexes[key] = subjects_by_values
        return self._join_indexes[key]
