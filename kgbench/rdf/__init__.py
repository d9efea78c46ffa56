# SPDX-License-Identifier: Apache-2.0
"""The ground floor: RDF terms as text, and what Turtle files declare."""

from kgbench.rdf.terms import (
    Text,
    boolean,
    canonical_json,
    decimal,
    digest,
    double,
    integer,
    iri,
    json_literal,
    moment,
    number_text,
    original_text,
    storable,
    string,
)

__all__ = [
    "Text",
    "boolean",
    "canonical_json",
    "decimal",
    "digest",
    "double",
    "integer",
    "iri",
    "json_literal",
    "moment",
    "number_text",
    "original_text",
    "storable",
    "string",
]
