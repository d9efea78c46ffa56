# SPDX-License-Identifier: Apache-2.0
"""The smallest executor that judges can be tried with: pyoxigraph in this process, no limits."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox

from kgbench.model import ParsedGraph, QueryResult

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
        return ParsedGraph(tuple(f"{q.subject} {q.predicate} {q.object} ." for q in quads))

    def check(self, query: str, prefixes: Mapping[str, str]) -> str | None:
        """The syntax error that querying an empty store shows."""
        return self.select(query, "", prefixes).error

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Rows over the Turtle text ``graph``."""
        try:
            store = self._store(graph)
            found = store.query(query, prefixes=dict(prefixes))
            assert isinstance(found, ox.QuerySolutions)
            variables = tuple(each.value for each in found.variables)
            rows = tuple(
                tuple(None if term is None else str(term) for term in solution)
                for solution in found
            )
        except (SyntaxError, ValueError, OSError) as error:
            return QueryResult(error=str(error))
        return QueryResult(variables, rows)

    def _store(self, text: str) -> ox.Store:
        if text not in self._stores:
            store = ox.Store()
            store.bulk_load(text.encode("utf-8"), ox.RdfFormat.TURTLE)
            self._stores[text] = store
        return self._stores[text]
