# SPDX-License-Identifier: Apache-2.0
"""The graph formats of tasks, and other names for them."""

from __future__ import annotations

from typing import Final

FORMATS: Final = ("turtle", "json-ld", "xml", "ntriples")

# Names of formats in configurations and published results.
ALIASES: Final = {
    "nt": "ntriples",
    "n-triples": "ntriples",
    "ttl": "turtle",
    "jsonld": "json-ld",
    "rdf/xml": "xml",
    "rdfxml": "xml",
}

TITLES: Final = {
    "turtle": "Turtle",
    "json-ld": "JSON-LD",
    "xml": "RDF/XML",
    "ntriples": "N-Triples",
}


def canonical_format(name: str) -> str:
    """Return the name that kgbench uses for a graph format; an unknown name is returned unchanged.

    >>> canonical_format("nt")
    'ntriples'
    """
    return ALIASES.get(name.lower(), name)
