# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalListOrganizational: write queries about the organisational graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Json, QueryFamily, Vocabulary


class Text2SparqlExecEvalListOrganizational(QueryFamily):
    """Questions about the organisational graph."""

    vocabulary = Vocabulary(undeclared=("rdfs",))

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return questions about the graph, which each case contains."""
        graph = self.file("graph.ttl", "organisation")
        questions = self.structure("questions.json", "organisation")
        return [{**question, "graphTurtle": graph} for question in questions]


family: Final = Text2SparqlExecEvalListOrganizational(__file__)
