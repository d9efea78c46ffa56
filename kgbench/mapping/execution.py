# SPDX-License-Identifier: Apache-2.0
"""Executing mappings: the triples that RML core (2024) and R2RML (2012) say that they make.

Other than in relational databases, a join compares texts. Graphs of the subject map and of the
predicate-object map are united.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

import pyoxigraph as ox

from kgbench.mapping.document import (
    Expression,
    PredicateObjectMap,
    Reference,
    TermMap,
    TriplesMap,
)
from kgbench.mapping.limits import Budget, MappingError
from kgbench.mapping.reading import triples_maps
from kgbench.mapping.sources import Data, Sources
from kgbench.mapping.terms import Terms, written
from kgbench.mapping.values import Record
from kgbench.mapping.vocabularies import is_default_graph
from kgbench.vocab import RDF

Row = tuple[str, ...]
_TYPE: Final = f"<{RDF.type}>"
Joined = dict[tuple[str, ...], list[str]]


def executed(mapping: Iterable[ox.Triple], data: Data, base: str | None = None) -> frozenset[Row]:
    """What a mapping makes of data: rows of N-Triples terms, with the graph last where it is named.

    ``base`` stands before relative IRIs, where the mapping itself has no base IRI. Raises
    :class:`~kgbench.mapping.limits.MappingError` for a mapping that is ill-formed, names sources
    that ``data`` does not have, makes what is no RDF, or too much of it.
    """
    budget = Budget()
    maps = triples_maps(mapping)
    sources = Sources(data, budget)
    try:
        return _Execution(maps, sources, budget, base).rows()
    finally:
        sources.close()


class _Execution:
    """One execution of triples maps."""

    def __init__(
        self, maps: Sequence[TriplesMap], sources: Sources, budget: Budget, base: str | None
    ) -> None:
        self._maps = {one.name: one for one in maps}
        self._sources = sources
        self._budget = budget
        self._base = base
        self._terms = Terms(budget)
        self._joined: dict[tuple[str, tuple[Expression, ...]], Joined] = {}
        self._found: dict[Row, None] = {}

    def rows(self) -> frozenset[Row]:
        for each in self._maps.values():
            for part in each.parts:
                self._check(each, part)
            for record in self._sources.records(each.source):
                self._record(each, record)
        return frozenset(self._found)

    def _check(self, of: TriplesMap, part: PredicateObjectMap) -> None:
        for one in part.objects:
            if not isinstance(one, Reference) or one.joins:
                continue
            if self._maps[one.parent].source != of.source:
                raise MappingError(
                    f"{of.name} refers to {one.parent} without a join condition, "
                    "but their sources differ"
                )

    def _record(self, of: TriplesMap, record: Record) -> None:
        base = of.base or self._base
        subjects = self._terms.made(of.subject, record, base)
        if not subjects:
            return
        own = list(self._graphs(of.graphs, record, base))
        for row in product(subjects, (_TYPE,), of.classes, own or ("",)):
            self._add(row)
        for part in of.parts:
            graphs = [*own, *self._graphs(part.graphs, record, base)] or [""]
            predicates = [
                term for one in part.predicates for term in self._terms.made(one, record, base)
            ]
            objects = [term for one in part.objects for term in self._objects(one, record, base)]
            for row in product(subjects, predicates, objects, graphs):
                self._add(row)

    def _add(self, row: Row) -> None:
        *triple, graph = row
        cells = (*triple, graph) if graph else tuple(triple)
        if cells not in self._found:
            self._budget.spend("triples")
            self._found[cells] = None
        else:
            self._budget.spend("terms")

    def _graphs(self, maps: Iterable[TermMap], record: Record, base: str | None) -> Iterator[str]:
        """Names of graphs; empty for the default graph."""
        for one in maps:
            for name in self._terms.made(one, record, base):
                yield "" if is_default_graph(name[1:-1]) else name

    def _objects(self, of: TermMap | Reference, record: Record, base: str | None) -> list[str]:
        if isinstance(of, TermMap):
            made = self._terms.made(of, record, base)
            return [written(one) for one in made] if of.expression.constant else made
        parent = self._maps[of.parent]
        if not of.joins:
            return self._terms.made(parent.subject, record, parent.base or self._base)
        joined = self._parents(parent, tuple(side for _, side in of.joins))
        values = [self._terms.texts(side, record) for side, _ in of.joins]
        found: list[str] = []
        for key in product(*values):
            matching = joined.get(key, [])
            self._budget.spend("terms", 1 + len(matching))
            found += matching
        return found

    def _parents(self, parent: TriplesMap, sides: tuple[Expression, ...]) -> Joined:
        """Return the subjects of a triples map by what its records have on their side of a join."""
        key = (parent.name, sides)
        if key not in self._joined:
            found: Joined = {}
            for record in self._sources.records(parent.source):
                subjects = self._terms.made(parent.subject, record, parent.base or self._base)
                for values in product(*(self._terms.texts(side, record) for side in sides)):
                    self._budget.spend("terms", 1 + len(subjects))
                    found.setdefault(values, []).extend(subjects)
            self._joined[key] = found
        return self._joined[key]
