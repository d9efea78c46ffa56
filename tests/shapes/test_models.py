# SPDX-License-Identifier: Apache-2.0
"""The shape of model declarations accepts the shipped records and names each fault."""

from __future__ import annotations

import pytest

from kgbench import resources
from kgbench.rdf.declared import quads
from tests.support.validation import report

RECORD = """@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://example.org/m> a kgb:ModelRecord ; rdfs:label "M 57B" ; kgb:family "M" ;
    kgb:matches "*m-57b*" ; kgb:parameterCount 57.0e0 ; kgb:activeParameterCount 14.0e0 ;
    kgb:contextLength 64000 ; schema:license "Apache-2.0" ;
    dcterms:issued "2024-06-07"^^xsd:date ; dcterms:source "its maker" .
"""


def told(text: str) -> list[str]:
    """Return the complaints of the shapes about a declaration."""
    return report(quads(text.encode()), "queries")


def test_shipped_records_conform() -> None:
    """All shipped records, and an example with every property, conform."""
    assert told(resources.path("queries", "models.ttl").read_text(encoding="utf-8")) == []
    assert told(RECORD) == []


@pytest.mark.parametrize(
    ("found", "instead", "path"),
    [
        (' ; kgb:family "M"', "", "family"),
        ('kgb:matches "*m-57b*" ; ', "", "matches"),
        ('"*m-57b*"', '"*m-57b*" , "m-57b"', "matches"),
        ('"*m-57b*"', '""', "matches"),
        ('"*m-57b*"', '" m-57b "', "matches"),
        ('"*m-57b*"', "<urn:m-57b>", "matches"),
        ('rdfs:label "M 57B" ; ', "", "label"),
        ("57.0e0", "0.0e0", "parameterCount"),
        ("57.0e0", '"57"', "parameterCount"),
        ("14.0e0", "140.0e0", "activeParameterCount"),
        ("64000", "0", "contextLength"),
        ("64000", "64.5", "contextLength"),
        ('"2024-06-07"^^xsd:date', '"June"', "issued"),
        ("kgb:contextLength", "kgb:inputPrice", "inputPrice"),
        ("<https://example.org/m> a", "[] a", "(blank)"),
    ],
)
def test_faults_are_named(found: str, instead: str, path: str) -> None:
    """A missing, repeated, unknown or invalid property is named."""
    assert found in RECORD
    complaints = told(RECORD.replace(found, instead))
    assert complaints
    if path != "(blank)":
        assert any(path in complaint for complaint in complaints), complaints
