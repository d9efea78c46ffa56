# SPDX-License-Identifier: Apache-2.0
"""Price tables of users, for tests of what runs cost."""

from __future__ import annotations

DATE, SOURCE = "2026-01-02", "https://example.org/prices"
_TABLE = """
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def price_table(*names: str, read: str = "3", written: str = "7", more: str = "") -> str:
    """Return a table with one price for each of some models; ``more`` are further properties."""
    return _TABLE + "".join(
        f'<urn:x:{name}> a kgb:Price ; skos:notation "{name}" ; kgb:inputPrice {read} ; {more}\n'
        f'    kgb:outputPrice {written} ; dcterms:date "{DATE}"^^xsd:date ; '
        f"dcterms:source <{SOURCE}> .\n"
        for name in names
    )
