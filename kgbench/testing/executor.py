# SPDX-License-Identifier: Apache-2.0
"""The smallest executor that judges can be tried with: pyoxigraph in this process, no limits."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox

from kgbench.execution import changing
from kgbench.model import ParsedGraph, QueryResult
from kgbench.rdf.triple_terms import written

TRIPLE: tuple[str, ...] = ("subject", "predicate", "object")  # the variables of a CONSTRUCT's rows
FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "json-ld": ox.RdfFormat.JSON_LD,
    "xml": ox.RdfFormat.RDF_XML,
    "ntriples": ox.RdfFormat.N_TRIPLES,
}


class PlainExecutor:
    """Parses and queries without children, limits or refusals: for texts that a test has chosen."""

    def __init__(self) -> None:
        self._stores: dict[str, ox.Store] = {}

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """N-Triples lines, or the parser's message."""
        try:
            quads = list(ox.parse(text.encode("utf-8"), FORMATS[rdf_format]))
        except (SyntaxError, ValueError) as error:
            return ParsedGraph(None, str(error))
        return ParsedGraph(tuple(f"{quad.triple} ." for quad in quads))

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """The syntax error that querying or updating an empty store shows."""
        try:
            if update and changing.refusal(query) in {None, changing.NO_CHANGE}:
                ox.Store().update(query, prefixes=dict(prefixes))
            elif update:
                return changing.refusal(query)
            else:
                self._store("").query(query, prefixes=dict(prefixes))
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return str(error)
        return None

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Rows over the Turtle text ``graph``."""
        result = self.results(query, graph, prefixes)
        assert result.boolean is None
        return result

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Rows, or the truth value of an ASK, over the Turtle text ``graph``."""
        result = self.explore(query, graph, prefixes)
        assert result.variables != TRIPLE
        return result

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """As :meth:`results`, and the triples of a CONSTRUCT."""
        try:
            found = self._store(graph).query(query, prefixes=dict(prefixes))
            if isinstance(found, ox.QueryBoolean):
                return QueryResult(boolean=bool(found))
            variables = TRIPLE
            if isinstance(found, ox.QuerySolutions):
                variables = tuple(each.value for each in found.variables)
            rows = tuple(
                tuple(None if term is None else written(term) for term in solution)
                for solution in found
            )
        except (SyntaxError, ValueError, OSError) as error:
            return QueryResult(error=str(error))
        return QueryResult(variables, rows)

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """What an update or a CONSTRUCT changes."""
        if (refused := changing.refusal(text)) is not None:
            return QueryResult(error=refused, refused=True)
        try:
            return changing.changes(self._store(graph), text, prefixes, {})
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return QueryResult(error=str(error))

    def _store(self, text: str) -> ox.Store:
        if text not in self._stores:
            store = ox.Store()
            store.bulk_load(text.encode("utf-8"), ox.RdfFormat.TURTLE)
            self._stores[text] = store
        return self._stores[text]
