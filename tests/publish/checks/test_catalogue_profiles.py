# SPDX-License-Identifier: Apache-2.0
"""The catalogue of a publication against DCAT-AP 3 and MLDCAT-AP 3.1."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.publish.checks import shapes
from kgbench.publish.checks.report import Fault
from kgbench.vocab import DCAT, DCTERMS, IT6, RDF, RDFS, SKOS
from tests.publish.checks.published_folder import BASE

EU = "http://publications.europa.eu/resource/authority/"


@pytest.fixture(scope="module")
def stated(site: Path) -> list[ox.Quad]:
    """Return the statements of the catalogue."""
    return list(ox.parse(path=site / "catalog.ttl", format=ox.RdfFormat.TURTLE))


def objects(stated: list[ox.Quad], predicate: str) -> set[str]:
    """Return the IRIs and texts that are values of a property."""
    return {getattr(q.object, "value", "") for q in stated if q.predicate.value == predicate}


def of_kind(stated: list[ox.Quad], kind: str) -> set[str]:
    """Return the instances of a class."""
    wanted = ox.NamedNode(kind)
    return {
        getattr(q.subject, "value", "")
        for q in stated
        if q.predicate.value == RDF.type and q.object == wanted
    }


def faults(stated: list[ox.Quad]) -> list[Fault]:
    """Return the violations of our shapes for catalogues."""
    return list(shapes.catalogue(stated, lambda _: ""))


def test_what_the_catalogue_refers_to_has_the_classes_of_the_profiles(
    stated: list[ox.Quad],
) -> None:
    """Licences, languages, media types and addresses are typed within the catalogue."""
    for predicate, kind in {
        DCTERMS.license: DCTERMS.LicenseDocument,
        DCTERMS.language: DCTERMS.LinguisticSystem,
        DCTERMS.accessRights: DCTERMS.RightsStatement,
        DCTERMS["format"]: DCTERMS.MediaTypeOrExtent,
        DCTERMS.conformsTo: DCTERMS.Standard,
        DCAT.mediaType: DCTERMS.MediaType,
        DCAT.compressFormat: DCTERMS.MediaType,
        DCAT.downloadURL: RDFS.Resource,
        DCAT.accessURL: DCAT.Resource,
        DCAT.theme: SKOS.Concept,
    }.items():
        named = objects(stated, predicate)
        assert named, predicate
        assert named <= of_kind(stated, kind), predicate
    assert faults(stated) == []


def test_codes_are_those_of_the_european_registers(stated: list[ox.Quad]) -> None:
    """Formats, language, theme, rights and frequency are authority IRIs; licences match one."""
    for predicate in (
        DCTERMS.language,
        DCTERMS.accessRights,
        DCTERMS.accrualPeriodicity,
        DCAT.theme,
    ):
        assert all(iri.startswith(EU) for iri in objects(stated, predicate)), predicate
    formats = {q.object.value for q in stated if q.predicate.value == DCTERMS["format"]}
    assert {f"{EU}file-type/{name}" for name in ("RDF_N_QUADS", "RDF_TURTLE")} <= formats
    assert objects(stated, SKOS.exactMatch) == {f"{EU}licence/CC_BY_4_0"}


def test_models_benchmarks_and_tasks_are_resources(stated: list[ox.Quad]) -> None:
    """Each model, suite and task of the runs has its class and is a subject of the data set."""
    found = {
        kind: of_kind(stated, IT6[kind]) for kind in ("MachineLearningModel", "Benchmark", "Task")
    }
    assert all(found.values())
    assert set().union(*found.values()) == objects(stated, DCTERMS.subject)
    assert objects(stated, IT6.trainedOn) == {f"{BASE}#unknown-training-data"}


@pytest.mark.parametrize(
    ("kind", "predicate"),
    [
        (IT6.MachineLearningModel, IT6.hasFile),
        (IT6.Task, IT6.hasOutput),
        (IT6.Benchmark, DCTERMS["title"]),
        (IT6.EvaluationMeasure, IT6.value),
        (DCAT.Distribution, DCTERMS["format"]),
        (DCTERMS.LicenseDocument, RDF.type),
    ],
)
def test_what_the_profiles_demand_is_missed(
    stated: list[ox.Quad], kind: str, predicate: str
) -> None:
    """The shapes report a missing mandatory property or class."""
    things = of_kind(stated, kind)
    spoilt = [
        quad
        for quad in stated
        if quad.predicate.value != predicate or getattr(quad.subject, "value", "") not in things
    ]
    assert len(spoilt) < len(stated)
    assert faults(spoilt)
