# SPDX-License-Identifier: Apache-2.0
"""Validators of other projects find no fault in the publications, as in ``docs/publish.md``.

They do find planted faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgbench.vocab import KGB, OWL, PROV
from tests.queries.engines.engines import Missing
from tests.validators import artefacts, table
from tests.validators.artefacts import Artefacts
from tests.validators.checks import Check
from tests.validators.table import ABSENT, ALL, CONFORMS, Row

#: Artefact, validator, file, replaced text, and its replacement (no text: it is appended).
SPOILT = [
    ("catalogue", "pySHACL", "site/catalog.ttl", "dcterms:title", "dcterms:alternative"),
    ("catalogue", "rudof", "site/catalog.ttl", "dcterms:title", "dcterms:alternative"),
    ("catalogue", "Jena SHACL", "site/catalog.ttl", "dcterms:title", "dcterms:alternative"),
    ("ontology", "Jena RIOT", "site/ns.ttl", '"2026-11-20"', '"2026-13-20"'),
    (
        "ontology",
        "OWL API (OWL 2 DL) and HermiT",
        "site/ns.ttl",
        "",
        f"<{KGB.mean}> a <{OWL.ObjectProperty}> .",
    ),
    (
        "cubes",
        "Jena, constraints of Data Cube",
        "site/leaderboard/*.ttl",
        "qb:dataSet ",
        "qb:slice ",
    ),
    (
        "PROV-O export",
        "HermiT, with PROV-O",
        "exports/prov.ttl",
        "",
        f"<x:x> a <{PROV.Entity}> , <{PROV.Activity}> .",
    ),
    (
        "PROV-JSON and PROV-XML exports",
        "prov",
        "exports/prov.json",
        r"\d{4}-\d\d-\d\dT",
        "2001-01-01T",
    ),
    ("RO-Crate 1.3", "roc-validator", "exports/rocrate/*.json", '"license"', '"licens"'),
    (
        "Croissant 1.1",
        "mlcroissant",
        "exports/croissant/croissant.json",
        "cr:RecordSet",
        "cr:Record",
    ),
    (
        "Every Eval Ever",
        "jsonschema, our schema",
        "exports/eee/**/*.json",
        '"schema_version"',
        '"version"',
    ),
    ("nanopublications", "nanopub", "exports/nanopublications/*.trig", r'mean> "', 'mean> "1'),
    (
        "signatures",
        "verify.py with rdflib",
        "site/signed/*/*.jsonld",
        "baseline-oracle",
        "baseline-orakel",
    ),
    (
        "DataCite metadata",
        "datacite, official schema 4.5",
        "site/datacite.json",
        '"titles"',
        '"title"',
    ),
    ("notebook", "nbformat", "exports/notebook/*.ipynb", '"code"', '"kode"'),
]


def row(artefact: str, validator: str) -> Check:
    """Return the check with these names."""
    (found,) = [one for one in ALL if (one.artefact, one.validator) == (artefact, validator)]
    return found


@pytest.fixture(scope="module")
def quick_start(tmp_path_factory: pytest.TempPathFactory) -> Artefacts:
    """Return everything that is published and exported of the quick start."""
    return artefacts.quick_start(tmp_path_factory.mktemp("quick-start"))


@pytest.fixture(scope="module")
def page() -> list[Row]:
    """Return the table on the page."""
    return table.shown(table.PAGE.read_text(encoding="utf-8"))


def holds(found: list[str], page: list[Row], store: int) -> None:
    """Assert that installed validators find nothing, as the page says."""
    assert set(found) <= {CONFORMS, ABSENT}
    for shown, result in zip(page, found, strict=True):
        if ABSENT not in (result, shown.results[store]):
            assert shown.results[store] == result, shown


@pytest.mark.timeout(7200)
def test_quick_start_conforms(quick_start: Artefacts, page: list[Row]) -> None:
    """Each installed validator finds nothing in the quick start."""
    holds(table.results(quick_start), page, 0)


@pytest.mark.timeout(7200)
def test_published_models_conform(external_data: Path, page: list[Row], tmp_path: Path) -> None:
    """Each installed validator finds nothing in the published results of four models."""
    holds(table.results(artefacts.published_models(tmp_path, external_data)), page, 1)


@pytest.fixture(params=SPOILT, ids=lambda one: f"{one[0]} by {one[1]}")
def spoilt(request: pytest.FixtureRequest, quick_start: Artefacts) -> Iterator[Check]:
    """Yield a check whose artefact has a planted fault, which is removed afterwards."""
    artefact, validator, pattern, old, new = request.param
    check = row(artefact, validator)
    try:
        check.version()
    except Missing as missing:
        pytest.skip(str(missing))
    path = next(
        one
        for one in quick_start.files(pattern, below=quick_start.folder)
        if "oracle" in one.name or artefact != "signatures"
    )
    text = path.read_text(encoding="utf-8")
    changed = re.sub(old, new, text) if old else f"{text}\n{new}\n"
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    yield check
    path.write_text(text, encoding="utf-8")


@pytest.mark.timeout(7200)
def test_what_is_spoilt_is_found(spoilt: Check, quick_start: Artefacts) -> None:
    """A validator finds a fault that was planted in its artefact."""
    assert table.result(spoilt, quick_start) not in (CONFORMS, ABSENT)


def test_page_has_every_check(page: list[Row]) -> None:
    """The page has a row for each check, without any finding."""
    assert [(one.artefact, one.validator) for one in page] == [
        (check.artefact, check.validator) for check in ALL
    ]
    assert {result for one in page for result in one.results} <= {CONFORMS, ABSENT}


def test_tables_are_written_and_read() -> None:
    """A table that is written into a page is read back with its numbers of violations."""
    found = Check("x", lambda: "1", "feed", lambda _: ["Closed", "MinCount a:b", "Closed"])
    result = table.result(found, Artefacts(Path()))
    assert result == "3 violations: Closed (2), MinCount a:b (1)"
    rows = [Row("feed", "x", "1", (result, CONFORMS)), Row("feed", "y", "-", (ABSENT, ABSENT))]
    text = table.written("# A\n\n### Results\n\nold\n\n### More\n", rows)
    assert table.shown(text) == rows
    assert f"| feed | x | 1 | {result} | conforms |" in text
