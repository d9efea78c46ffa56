# SPDX-License-Identifier: Apache-2.0
"""Published tables are Data Cubes; violations of integrity constraints are found as defined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgbench.publish.checks import shapes
from kgbench.vocab import DCTERMS, KGB, PREFIXES, PROV, QB, RDF, RDFS
from tests.publish.checks.cube_constraints import HERE, NAMES, normalise, violated
from tests.publish.checks.cube_constraints import NAMES as NAMES_OF_CONSTRAINTS
from tests.publish.checks.published_folder import BASE

PREFIX = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in PREFIXES.items())
PREFIX += "PREFIX : <https://example.org/>\n"
DOUBLED = (
    "DELETE { :o2 ?p ?o } INSERT { :o2 :colour :red ; :size :large } "
    "WHERE { :o2 :colour|:size ?o ; ?p ?o }"
)
#: A violation of each constraint: an update of the cube in ``cube.ttl``, and the node at fault.
BROKEN = {
    "ic-2": ("DELETE DATA { :dragons qb:structure :structure }", "dragons"),
    "ic-11": ("DELETE DATA { :o3 :land :north }", "o3"),
    "ic-12": (DOUBLED, "o1 o2"),
    "ic-15": ("DELETE DATA { :t1 :length 7 }", "t1"),
    "ic-17": ("DELETE WHERE { :t2 ?p ?o }", "t1"),
}  # fmt: skip
DOCUMENT = f"{BASE}leaderboard/kgbench-1"
FILE = "leaderboard/kgbench-1.ttl"


def cube(update: str = "") -> ox.Store:
    """Return the normalised cube of ``cube.ttl`` after an update."""
    store = ox.Store()
    store.load(path=str(HERE / "cube.ttl"), format=ox.RdfFormat.TURTLE)
    if update:
        store.update(PREFIX + update)
    normalise(store)
    return store


def found(name: str, store: ox.Store) -> list[str]:
    """Return the nodes at fault according to our form of a constraint."""
    faults = shapes.constrained("cubes", store, lambda _: "")
    here = "https://example.org/"
    return [fault.node.removeprefix(here) for fault in faults if fault.constraint == name]


def test_the_checked_constraints_are_violated_below() -> None:
    """Each checked constraint is one of the twenty-one, and is violated by an update."""
    assert set(shapes.group("cubes")) == set(BROKEN) < set(NAMES)
    assert {path.stem for path in (HERE / "w3c").iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", BROKEN)
def test_good_cube_passes(name: str) -> None:
    """A well-formed cube violates no constraint in either form."""
    assert found(name, cube()) == []
    assert not violated(name, cube())


@pytest.mark.parametrize("name", BROKEN)
def test_broken_cube_fails(name: str) -> None:
    """A cube that violates a constraint does so in both forms, and ours names the node."""
    update, node = BROKEN[name]
    store = cube(update)
    assert violated(name, store)
    assert set(found(name, store)) & set(node.split())


# --- arbitrary small cubes ---------------------------------------------------------------------

DIMENSIONS, MEASURES, VALUES = ("d1", "d2"), ("m1", "m2"), ("a", "b")


def _node(name: str) -> ox.NamedNode:
    return ox.NamedNode(name if ":" in name else f"https://example.org/{name}")


@st.composite
def any_cube(draw: st.DrawFn) -> ox.Store:
    """Draw a cube of two dimensions and measures, typed or not, with any part possibly missing."""
    typed = draw(st.booleans())
    said = [*_structure(typed=typed)]
    for name in ("s1", "s2")[: draw(st.integers(1, 2))]:
        said += [(name, QB.structure, "dsd"), (name, RDF.type, QB.DataSet)]
        for number in range(draw(st.integers(0, 5))):
            where = [draw(st.sampled_from(VALUES)) for _ in DIMENSIONS]
            measure = draw(st.sampled_from(MEASURES))
            said += _observation(f"{name}-o{number}", name, where, measure, typed=typed)
            if draw(st.integers(0, 9)) == 0:
                said.append((f"{name}-o{number}", draw(st.sampled_from(MEASURES)), "8"))
    store = ox.Store()
    kept = [triple for triple in said if draw(st.integers(0, 24))]  # drops one triple in 25
    store.extend(ox.Quad(*map(_node, triple)) for triple in kept)
    normalise(store)
    return store


def _structure(*, typed: bool) -> Iterator[tuple[str, str, str]]:
    yield "dsd", RDF.type, QB.DataStructureDefinition
    roles = [(QB.dimension, one) for one in DIMENSIONS] + [(QB.measure, one) for one in MEASURES]
    for role, one in [*roles, *([(QB.dimension, QB.measureType)] if typed else [])]:
        component = f"c-{one.rpartition('#')[2]}"
        yield "dsd", QB.component, component
        yield component, role, one
        yield one, RDFS.range, "Thing"


def _observation(
    name: str, data_set: str, where: list[str], measure: str, *, typed: bool
) -> Iterator[tuple[str, str, str]]:
    yield name, QB.dataSet, data_set
    yield name, RDF.type, QB.Observation
    for dimension, value in zip(DIMENSIONS, where, strict=True):
        yield name, dimension, value
    if typed:
        yield name, QB.measureType, measure
    for one in [measure] if typed else MEASURES:
        yield name, one, "7"


@given(any_cube())
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_forms_agree(store: ox.Store) -> None:
    """Our form finds a fault exactly if the definition says that the cube is invalid.

    The two constraints that compare observations do so only if all observations have all
    dimensions.
    """
    whole = not violated("ic-11", store) and not violated("ic-1", store)
    for name in BROKEN:
        if name in ("ic-12", "ic-17") and not whole:
            continue
        assert bool(found(name, store)) == violated(name, store), name


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
