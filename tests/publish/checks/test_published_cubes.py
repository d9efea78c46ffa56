# SPDX-License-Identifier: Apache-2.0
"""Published tables are Data Cubes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.vocab import DCTERMS, KGB, PROV, QB, RDF
from tests.publish.checks.cube_constraints import NAMES as NAMES_OF_CONSTRAINTS
from tests.publish.checks.cube_constraints import normalise, violated
from tests.publish.checks.published_folder import BASE

DOCUMENT = f"{BASE}leaderboard/kgbench-1"
FILE = "leaderboard/kgbench-1.ttl"


@pytest.fixture(scope="module")
def tables(site: Path) -> ox.Store:
    """Return the cubes as published."""
    store = ox.Store()
    store.load(path=str(site / FILE))
    return store


def _values(store: ox.Store, node: Any, prop: str) -> list[Any]:
    return [q.object for q in store.quads_for_pattern(node, ox.NamedNode(prop), None)]


def _of_type(store: ox.Store, kind: str) -> list[Any]:
    pattern = (None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
    return [q.subject for q in store.quads_for_pattern(*pattern)]


def _observations(store: ox.Store, kind: str, measure: str) -> list[tuple[Any, float]]:
    """Return the observations of one measure in a cube, with their values."""
    return [
        (node, float(_values(store, node, measure)[0].value))
        for node in _of_type(store, QB.Observation)
        if _values(store, node, QB.dataSet) == [ox.NamedNode(f"{DOCUMENT}#{kind}")]
        and _values(store, node, QB.measureType) == [ox.NamedNode(measure)]
    ]


def test_tables_keep_all_integrity_constraints(tables: ox.Store) -> None:
    """The cubes violate none of the twenty-one constraints, as the recommendation defines them."""
    store = ox.Store()
    store.extend(tables)
    normalise(store)
    assert [name for name in NAMES_OF_CONSTRAINTS if violated(name, store)] == []


def test_intervals_are_measures(tables: ox.Store) -> None:
    """Each mean in the cubes has both ends of its interval."""
    for kind in ("leaderboard", "tasks"):
        rows = len(_observations(tables, kind, KGB.mean))
        assert rows, "each is a data set of its own"
        for measure in (KGB.lowerBound, KGB.upperBound):
            assert len(_observations(tables, kind, measure)) == rows


def test_cubes_say_what_they_are(tables: ox.Store) -> None:
    """A cube has a title, licence, creator, publisher, dates, its data set, origin and queries."""
    wanted = (
        *(DCTERMS["title"], DCTERMS.license, DCTERMS.creator, DCTERMS.publisher, DCTERMS.issued),
        *(DCTERMS.modified, DCTERMS.isPartOf, DCTERMS.subject, DCTERMS.source),
        PROV.wasGeneratedBy,
    )
    for one in _of_type(tables, QB.DataSet):
        if one.value.startswith(DOCUMENT):
            assert [prop for prop in wanted if not _values(tables, one, prop)] == []
