# SPDX-License-Identifier: Apache-2.0
"""Published tables are Data Cubes that link each number to its evaluations."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.publish.checks import check
from kgbench.vocab import DCTERMS, KGB, PROV, QB, RDF
from tests.publish.checks.published_folder import BASE, NAMES, SUMS, Copy, unpacked
from tests.publish.checks.test_tampering import renew

DOCUMENT = f"{BASE}leaderboard/kgbench-1"
FILE = "leaderboard/kgbench-1.ttl"


@pytest.fixture(scope="module")
def tables(site: Path) -> ox.Store:
    """Return the cubes, the members of their collections, and the dumps, as published."""
    store = ox.Store()
    store.load(path=str(site / FILE))
    store.load(unpacked(site / "leaderboard/kgbench-1-evaluations.nt.zst"), ox.RdfFormat.N_TRIPLES)
    for quad in ox.parse(unpacked(site / "data/all.nq.zst"), ox.RdfFormat.N_QUADS):
        store.add(ox.Quad(quad.subject, quad.predicate, quad.object))
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


def _scores(store: ox.Store, observation: Any) -> dict[Any, list[float]]:
    """Return the scores behind an observation, by collection."""
    found: dict[Any, list[float]] = defaultdict(list)
    for collection in _values(store, observation, PROV.wasDerivedFrom):
        (metric,) = _values(store, collection, KGB.metric)
        for evaluation in _values(store, collection, PROV.hadMember):
            (value,) = _values(store, evaluation, metric.value)
            found[collection].append(float(value.value))
    return found


def test_all_tables_are_cubes(tables: ox.Store) -> None:
    """The leaderboard and the scores by task are data sets of their own."""
    found = {one.value.removeprefix(f"{DOCUMENT}#") for one in _of_type(tables, QB.DataSet)}
    assert {"leaderboard", "tasks"} <= found


def test_means_are_those_of_the_evaluations(tables: ox.Store) -> None:
    """The mean of a model on a task is the mean of the evaluations behind it."""
    found = _observations(tables, "tasks", KGB.mean)
    assert found
    for observation, mean in found:
        (values,) = _scores(tables, observation).values()
        assert math.fsum(values) / len(values) == pytest.approx(mean)


@pytest.mark.parametrize("kind", ["leaderboard", "tasks"])
def test_counts_are_those_of_the_evaluations(tables: ox.Store, kind: str) -> None:
    """Counts of observations and collections match the evaluations behind them."""
    found = _observations(tables, kind, KGB["count"])
    assert found
    for observation, count in found:
        scores = _scores(tables, observation)
        assert sum(map(len, scores.values())) == count
        for collection, values in scores.items():
            assert int(_values(tables, collection, KGB["count"])[0].value) == len(values)


def test_leaderboards_are_means_of_means(tables: ox.Store) -> None:
    """The score of a model is the mean of the means of the collections behind it."""
    found = _observations(tables, "leaderboard", KGB.mean)
    assert found
    for observation, mean in found:
        means = [math.fsum(v) / len(v) for v in _scores(tables, observation).values()]
        assert math.fsum(means) / len(means) == pytest.approx(mean)


def test_intervals_are_measures(tables: ox.Store) -> None:
    """Each mean in the cubes has both ends of its interval."""
    for kind in ("leaderboard", "tasks"):
        rows = len(_observations(tables, kind, KGB.mean))
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


def test_formats_agree(site: Path) -> None:
    """Turtle, N-Triples and JSON-LD state the same."""
    turtle = {str(q.triple) for q in ox.parse(path=str(site / FILE))}
    for form in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.JSON_LD):
        packed = site / FILE.replace(".ttl", f".{form.file_extension}.zst")
        assert turtle == {str(q.triple) for q in ox.parse(unpacked(packed), form)}


@pytest.mark.parametrize("file", [FILE, "leaderboard/kgbench-1-evaluations.nt.zst"])
def test_a_changed_cube_is_found(file: str, copy: Copy) -> None:
    """A changed number or link is reported, even if checksums are renewed."""
    if file == FILE:
        text, count = re.subn(r'kgb:mean "[^"]+"', 'kgb:mean "0.125"', copy.text(file), count=1)
        assert count == 1
        copy.write(file, text, counted=False)
    else:
        copy.dump(file, lambda held: held.replace(b"hadMember", b"hadMembers", 1), counted=False)
    renew(copy.path)
    try:
        report = check(copy.path, names=NAMES)
    finally:
        copy.write(SUMS, (copy.whole / SUMS).read_text(), counted=False)
    assert [f for f in report.faults if f.constraint == "recomputed" and f.file == file]
