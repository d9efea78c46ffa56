# SPDX-License-Identifier: Apache-2.0
"""Results of analyses that are kept in the store and read back while nothing has changed.

Each result is a graph: the activity with the digests of its queries and the change stamps of the
graphs it read, the estimand and method of its intervals and tests, the table as JSON, and the same
numbers as a Data Cube for SPARQL. Its key covers everything that the result depends on, so equal
keys mean equal results.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from kgbench import __version__, clock
from kgbench.analysis.registry import Analysis, Arguments
from kgbench.model import Json
from kgbench.rdf import canonical_json, digest, queries
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Table


@dataclass(frozen=True, slots=True)
class Basis:
    """The inputs of an analysis: name, arguments, selected scores, and the state of the store.

    ``stamps`` has the change stamps of the graphs that it reads, ``declared`` the digest of the
    declared files that the catalogue was filled from.
    """

    name: str
    arguments: Mapping[str, Json]
    selection: Selection
    stamps: Mapping[str, str]
    declared: str

    @property
    def key(self) -> str:
        """The SHA-256 of the inputs, the texts of all queries and the version of the code."""
        return digest(
            canonical_json(
                {
                    "name": self.name,
                    "arguments": dict(self.arguments),
                    "suite": self.selection.suite,
                    "pass": self.selection.pass_,
                    "narrowed": dict(self.selection.narrowed),
                    "stamps": dict(self.stamps),
                    "declared": self.declared,
                    "queries": queries.digest(),
                    "version": __version__,
                }
            )
        )


def basis(
    store: Store, selection: Selection, analysis: Analysis[...], arguments: Arguments
) -> Basis:
    """Return the inputs of an analysis in the current state of a store.

    ``arguments`` are those of :meth:`~kgbench.analysis.registry.Analysis.arguments`.
    """
    graphs = {*selection.pass_graphs, *selection.run_graphs}
    for name in analysis.reads:
        graphs |= _graphs(store, selection, name)
    recorded = analysis.recorded(arguments)
    declared = queries.rows(store, "declared-digest")
    return Basis(
        analysis.name,
        recorded,
        selection,
        stamps(store, graphs),
        str(declared[0][1]) if declared else "",
    )


def stamps(store: Store, graphs: Collection[str]) -> dict[str, str]:
    """Return the change stamps of graphs, by the IRI of the graph."""
    return {
        str(graph): str(stamp)
        for graph, stamp in queries.rows(store, "list-stamps")
        if graph in graphs
    }


def _graphs(store: Store, selection: Selection, name: str) -> set[str]:
    """Return all values of the query ``name`` about a selection: graphs, and other things."""
    selectors = {"suite": selection.suite, "runGraph": list(selection.run_graphs)}
    known = {parameter.name for parameter in queries.load(name).parameters}
    arguments = {key: value for key, value in selectors.items() if key in known}
    return {str(value) for row in queries.rows(store, name, **arguments) for value in row}


def stored_table(store: Store, inputs: Basis) -> Table | None:
    """Return the table that is stored for exactly these inputs, or ``None``."""
    for _, table in queries.rows(store, "stored-analysis", key=inputs.key):
        return Table.from_json(json.loads(table or "{}"))
    return None


def stored_or_computed(
    store: Store, selection: Selection, analysis: Analysis[...], arguments: Arguments
) -> tuple[Table, Basis, datetime | None]:
    """Return the table of an analysis, from the store if it is stored there, else computed.

    The third value is the time when the computation began, ``None`` for a stored table. A caller
    that owns the store should :func:`store_table` a computed table.
    """
    inputs = basis(store, selection, analysis, arguments)
    table = stored_table(store, inputs)
    if table is not None:
        return table, inputs, None
    started = clock.now()
    return analysis.make(store, selection, **arguments), inputs, started
