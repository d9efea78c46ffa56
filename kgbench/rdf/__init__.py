# SPDX-License-Identifier: Apache-2.0
"""RDF terms as text, a SPARQL lexer, and readers of declarations in Turtle files."""

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
