# SPDX-License-Identifier: Apache-2.0
"""Every declared query returns the expected rows over a small graph.

``graphs/analysis_expected_rows.json`` has the rows, derived by hand: IRIs are relative to the
base, ``null`` is unbound.
"""

from __future__ import annotations

import json

import pytest

from kgbench.rdf import queries
from kgbench.vocab import BASE
from tests.support.analysis_store import GRAPHS, graph, iri

EXPECTED = json.loads((GRAPHS / "analysis_expected_rows.json").read_text(encoding="utf-8"))


def absolute(query, parameters):
    """Return the parameters of an expectation with relative IRIs made absolute."""
    wants_iri = {p.name for p in query.parameters if p.datatype is None}

    def full(value):
        if isinstance(value, list):
            return [full(one) for one in value]
        return value if ":" in value else iri(value)

    return {k: full(v) if k in wants_iri else v for k, v in parameters.items()}


def answered(expected):
    """Return the rows of a query, sorted unless the query orders them."""
    query = queries.load(expected["query"])
    given = absolute(query, expected["parameters"])
    rows = [
        [None if value is None else value.removeprefix(BASE) for value in row]
        for row in queries.rows(graph(expected["graph"]), query.name, **given)
    ]
    if "ORDER BY" in query.text:
        return rows
    return sorted(rows, key=lambda row: [value or "" for value in row])


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: e["query"])
def test_query_answers_the_expected_rows(expected):
    """A query returns exactly the rows that were derived by hand."""
    assert answered(expected) == expected["rows"]


@pytest.mark.parametrize("name", queries.names())
def test_every_query_has_expected_rows(name):
    """Every query in the folder has expected rows."""
    assert name in {expected["query"] for expected in EXPECTED}
