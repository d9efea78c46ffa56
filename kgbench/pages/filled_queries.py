# SPDX-License-Identifier: Apache-2.0
"""Texts of declared queries with values for their parameters, as behind the tables of pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.rdf import queries
from kgbench.scores.selection import FIRST, Selection, filled, select
from kgbench.vocab import KGB, QB, RDF


def filled_query(view: View, parameters: Mapping[str, str]) -> str:
    """Return the text of the declared query ``parameters["name"]`` with values for its parameters.

    Values are taken from ``parameters``. Missing ones are filled from the store: the graphs of the
    passes that ``parameters`` select by ``suite``, ``run`` and ``pass`` (by default the first), the
    first dialogue, the first observation.
    """
    query = queries.load(parameters["name"])
    values: dict[str, Any] = {
        p.name: parameters[p.name]
        for p in query.parameters
        if p.name in parameters and p.name != "name"
    }
    values = filled(query, values, lambda: _selected(view, parameters))
    for name in {p.name for p in query.parameters if not p.optional} - set(values):
        values[name] = _first(view, name)
    for name in ("suite", "run", "pass"):  # may be names, which select graphs only
        if name in values and not values[name].startswith("http"):
            del values[name]
    lines = queries.bind(query, **values).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# SPDX-"))


def _selected(view: View, parameters: Mapping[str, str]) -> Selection:
    """Select by the parameters of a link; without suite and run, of the first suite."""
    suite, run = parameters.get("suite"), parameters.get("run")
    if suite is None and run is None:
        suite = next((str(iri) for iri, *_ in queries.rows(view, "list-suites")), None)
    return select(view, suite, parameters.get("pass", FIRST), run=run)


def _first(view: View, name: str) -> str | list[str]:
    """Return a value for a parameter from the store; an empty list if there is none."""
    if name == "text":
        return "text"
    kind = {"dialogue": KGB.Dialogue, "observation": QB.Observation}.get(name)
    return [] if kind is None else things.subjects(view, RDF.type, kind, 1)
