# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalListOrganizational: write queries about the organisational graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.families.queries import QueryFamily, Vocabulary
from kgbench.model import Json
from kgbench.tasks import texts


class Text2SparqlExecEvalListOrganizational(QueryFamily):
    """Questions about the organisational graph."""

    vocabulary = Vocabulary(undeclared=("rdfs",))

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return questions about the graph, which each case contains."""
        graph = texts.shared("organisation", "graph.ttl")
        questions = texts.shared_structure("organisation", "questions.json")
        return [{**question, "graphTurtle": graph} for question in questions]


family: Final = Text2SparqlExecEvalListOrganizational(__file__)
