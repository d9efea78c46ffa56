# SPDX-License-Identifier: Apache-2.0
"""A minimal executor for tests of judges: pyoxigraph in this process, without limits."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox

from kgbench.execution import graph_changes
from kgbench.model import ParsedGraph, QueryResult
from kgbench.rdf.triple_terms import to_ntriples

TRIPLE: tuple[str, ...] = ("subject", "predicate", "object")  # the variables of a CONSTRUCT's rows
FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "json-ld": ox.RdfFormat.JSON_LD,
    "xml": ox.RdfFormat.RDF_XML,
    "ntriples": ox.RdfFormat.N_TRIPLES,
}


class PlainExecutor:
    """An executor without child processes, limits or refusals, for trusted texts of a test."""

    def __init__(self) -> None:
        self._stores: dict[str, ox.Store] = {}

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Parse ``text`` into N-Triples lines, or return the parser's message."""
        try:
            quads = list(ox.parse(text.encode("utf-8"), FORMATS[rdf_format]))
        except (SyntaxError, ValueError) as error:
            return ParsedGraph(None, str(error))
        return ParsedGraph(tuple(f"{quad.triple} ." for quad in quads))

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """Return the syntax error that an empty store reports, or ``None``."""
        try:
            if update and graph_changes.refusal(query) in {None, graph_changes.NO_CHANGE}:
                ox.Store().update(query, prefixes=dict(prefixes))
            elif update:
                return graph_changes.refusal(query)
            else:
                self._store("").query(query, prefixes=dict(prefixes))
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return str(error)
        return None

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT over the Turtle text ``graph``."""
        result = self.results(query, graph, prefixes)
        assert result.boolean is None
        return result

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT or an ASK over the Turtle text ``graph``."""
        result = self.explore(query, graph, prefixes)
        assert result.variables != TRIPLE
        return result

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Run a SELECT, an ASK or a CONSTRUCT over the Turtle text ``graph``."""
        try:
            result = self._store(graph).query(query, prefixes=dict(prefixes))
            if isinstance(result, ox.QueryBoolean):
                return QueryResult(boolean=bool(result))
            variables = TRIPLE
            if isinstance(result, ox.QuerySolutions):
                variables = tuple(variable.value for variable in result.variables)
            rows = tuple(
                tuple(None if term is None else to_ntriples(term) for term in solution)
                for solution in result
            )
        except (SyntaxError, ValueError, OSError) as error:
            return QueryResult(error=str(error))
        return QueryResult(variables, rows)

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the triples that an update or a CONSTRUCT adds and removes."""
        if (reason := graph_changes.refusal(text)) is not None:
            return QueryResult(error=reason, refused=True)
        try:
            return graph_changes.changes(self._store(graph), text, prefixes, {})
        except (SyntaxError, ValueError, OSError, RuntimeError) as error:
            return QueryResult(error=str(error))

    def _store(self, text: str) -> ox.Store:
        if text not in self._stores:
            store = ox.Store()
            store.bulk_load(text.encode("utf-8"), ox.RdfFormat.TURTLE)
            self._stores[text] = store
        return self._stores[text]
