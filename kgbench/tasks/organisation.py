# SPDX-License-Identifier: Apache-2.0
"""The organisational graph and its questions, which several task classes share."""

from __future__ import annotations

from functools import cache

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.tasks import serialising, texts

_FOLDER = "organisation"


def turtle() -> str:
    """Return the graph as Turtle."""
    return texts.shared(_FOLDER, "graph.ttl")


def questions() -> list[dict[str, Json]]:
    """Return questions with uid, question, reference query, its result set, and LSQ features."""
    loaded: list[dict[str, Json]] = texts.shared_structure(_FOLDER, "questions.json")
    return loaded


@cache
def in_format(turtle_text: str, graph_format: str) -> str:
    """Convert a graph in Turtle to the format that a prompt shows."""
    if graph_format == "turtle":
        return turtle_text.strip()
    graph = serialising.triples(turtle_text)
    return serialising.serialise(graph, graph_format, prefixes(turtle_text))


@cache
def prefixes(turtle_text: str) -> dict[str, str]:
    """Return the prefixes that a Turtle document declares, in the order of their names."""
    parser = ox.parse(turtle_text.encode("utf-8"), ox.RdfFormat.TURTLE)
    for _ in parser:  # the parser knows all prefixes at the end of the document
        pass
    return dict(sorted(parser.prefixes.items()))
