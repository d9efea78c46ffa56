# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalListCoypuMini: write queries about the economic graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Json, QueryFamily, Vocabulary
from kgbench.families.graph_info import shown_parts
from kgbench.tasks import serialising


class Text2SparqlExecEvalListCoypuMini(QueryFamily):
    """Questions about the economic graph."""

    vocabulary = Vocabulary(undeclared=("rdfs", "xsd"))

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return questions about the graph, which each case contains."""
        graph = self.file("graph.ttl", "economy")
        prefixes = {
            **serialising.declared_prefixes(self.file("schema.ttl", "economy")),
            **serialising.declared_prefixes(graph),
        }
        return [
            {
                **question,
                "graph": graph,
                **shown_parts(parameters, question, "economy", prefixes, graph),
            }
            for question in self.structure("questions.json", "economy")
        ]


family: Final = Text2SparqlExecEvalListCoypuMini(__file__)
