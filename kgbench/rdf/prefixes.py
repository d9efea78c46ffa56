# SPDX-License-Identifier: Apache-2.0
"""Prefixes that queries may use without declaring them, in every engine.

They are the built-in prefixes of rdflib. LLM-KG-Bench executed queries with rdflib, so published
answers could rely on them. Prefixes that a judge passes take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.vocab import DCAT, DCTERMS, FOAF, OWL, PROV, QB, RDF, RDFS, SCHEMA, SH, SKOS, VOID, XSD

WELL_KNOWN: Mapping[str, str] = {
    "brick": "https://brickschema.org/schema/Brick#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcam": "http://purl.org/dc/dcam/",
    "dcat": str(DCAT),
    "dcmitype": "http://purl.org/dc/dcmitype/",
    "dcterms": str(DCTERMS),
    "doap": "http://usefulinc.com/ns/doap#",
    "foaf": str(FOAF),
    "geo": "http://www.opengis.net/ont/geosparql#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "org": "http://www.w3.org/ns/org#",
    "owl": str(OWL),
    "prof": "http://www.w3.org/ns/dx/prof/",
    "prov": str(PROV),
    "qb": str(QB),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "schema": str(SCHEMA),
    "sh": str(SH),
    "skos": str(SKOS),
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "vann": "http://purl.org/vocab/vann/",
    "void": str(VOID),
    "wgs": "https://www.w3.org/2003/01/geo/wgs84_pos#",
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": str(XSD),
}


def complete(prefixes: Mapping[str, str]) -> dict[str, str]:
    """Return ``prefixes`` together with the well-known ones."""
    return {**WELL_KNOWN, **prefixes}
