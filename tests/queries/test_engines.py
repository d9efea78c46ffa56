# SPDX-License-Identifier: Apache-2.0
"""rdflib returns the same rows for the declared queries as Oxigraph."""

from __future__ import annotations

import math
import re
from collections import Counter

import pyoxigraph as ox
import pytest
import rdflib

from kgbench.rdf import queries
from tests.queries.test_rows import EXPECTED, absolute
from tests.support.analysis_store import graph

# trailing zeros of seconds, and the spelling of UTC
_FRACTION = re.compile(r"(?<=T\d\d:\d\d:\d\d)(\.\d*?)?0*(Z|\+00:00)$")
# rdflib 7.6 cannot parse a VALUES block without rows, which an empty parameter makes.
_READABLE = [one for one in EXPECTED if [] not in one["parameters"].values()]


@pytest.fixture(scope="module")
def in_rdflib():
    """Return a function that loads a small graph into an rdflib data set, by name."""
    made: dict[str, rdflib.Dataset] = {}

    def load(name: str) -> rdflib.Dataset:
        if name not in made:
            quads = list(graph(name).database)
            text = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
            made[name] = rdflib.Dataset(default_union=False)
            made[name].parse(data=text, format="nquads")
        return made[name]

    return load


def comparable(rows):
    """Return rows as a multiset, with numbers and timestamps in one spelling."""

    def cell(value):
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None if value is None else _FRACTION.sub(r"\1Z", str(value))
        return f"{number:.9g}" if math.isfinite(number) else str(value)

    return Counter(tuple(cell(value) for value in row) for row in rows)


@pytest.mark.filterwarnings("ignore:Dataset\\..*:DeprecationWarning")  # a warning inside rdflib
@pytest.mark.parametrize("expected", _READABLE, ids=lambda e: e["query"])
def test_rdflib_answers_the_same_rows(expected, in_rdflib):
    """rdflib, which evaluates branches independently, returns the same rows."""
    query = queries.load(expected["query"])
    given = absolute(query, expected["parameters"])
    found = in_rdflib(expected["graph"]).query(str(queries.bind(query, **given)))
    rows = queries.rows(graph(expected["graph"]), query.name, **given)
    assert comparable(found) == comparable(rows)
