# SPDX-License-Identifier: Apache-2.0
"""Deviations of engines from SPARQL 1.1 that no wording of a query avoids.

Each has an example with the engine's answer: if a later version answers differently, the test of
examples fails, and the exception can be removed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

Rows = Counter[tuple[str, ...]]

OWN_GRAPHS = ("class-partitions", "property-partitions")
"""Queries about all graphs: Virtuoso is told those of the dump (``named-graph-uri``)."""


@dataclass(frozen=True)
class Quirk:
    """A deviation of an engine: an example query, the standard's rows and the engine's rows."""

    engine: str
    reason: str
    example: str
    right: Rows
    given: Rows


QUIRKS = {
    "computed-booleans": Quirk(
        "Virtuoso",
        "a computed boolean is the integer 0 or 1, because its SQL has no booleans",
        "SELECT (BOUND(?nothing) AS ?b) WHERE { VALUES ?x { 1 } }",
        Counter([("b=false",)]),
        Counter([("b=0",)]),
    ),
    "empty-groups": Quirk(
        "rdflib",
        "GROUP BY over no solutions gives one row without values instead of none",
        "SELECT ?g (COUNT(?s) AS ?n) WHERE { ?s <urn:never> ?g } GROUP BY ?g",
        Counter(),
        Counter([()]),
    ),
}


def expected(engine: str, rows: Rows) -> Rows:
    """Return the rows expected of an engine, given the right ``rows``."""
    if engine == QUIRKS["computed-booleans"].engine:
        return Counter({_plain(row): count for row, count in rows.items()})
    return rows


def given(engine: str, rows: Rows) -> Rows:
    """Return the rows of an engine in a form comparable with :func:`expected`."""
    if engine == QUIRKS["computed-booleans"].engine:
        return expected(engine, rows)
    if engine == QUIRKS["empty-groups"].engine:
        return Counter({row: count for row, count in rows.items() if row})
    return rows


def _plain(row: tuple[str, ...]) -> tuple[str, ...]:
    numbers = {"true": "1", "false": "0"}
    cells = (cell.partition("=") for cell in row)
    return tuple(f"{name}={numbers.get(value, value)}" for name, _, value in cells)
