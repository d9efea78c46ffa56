# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalListOrgaNumerical: write queries about a graph with numbers for names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Json, QueryFamily, Vocabulary
from kgbench.tasks import renaming


class Text2SparqlExecEvalListOrgaNumerical(QueryFamily):
    """Questions about the organisational graph with numbers for its names."""

    vocabulary = Vocabulary(undeclared=("rdfs",))

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return questions; each case contains the graph and the table of the numbers."""
        turtle = self.file("graph.ttl", "organisation")
        numbers = renaming.number_names(turtle)
        graph = renaming.translate_names(turtle, numbers)
        return [
            {
                **question,
                "refSparql": renaming.translate_names(question["refSparql"], numbers),
                "refResultSet": sorted(numbers.get(v, v) for v in question["refResultSet"]),
                "graphTurtle": graph,
                "entityHelpCsv": renaming.table(numbers),
            }
            for question in self.structure("questions.json", "organisation")
        ]


family: Final = Text2SparqlExecEvalListOrgaNumerical(__file__)
