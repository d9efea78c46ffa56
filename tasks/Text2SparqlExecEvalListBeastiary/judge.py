# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalListBeastiary: write queries about a large graph of creatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Json, QueryFamily, Vocabulary
from kgbench.families.graph_info import shown_parts
from kgbench.tasks import bestiary, serialising


class Text2SparqlExecEvalListBeastiary(QueryFamily):
    """Questions about the bestiary; published ones are about the Beastiary graph."""

    vocabulary = Vocabulary({"ns1": "http://www.semanticweb.org/annab/ontologies/2022/3/ontology#"})
    graph = "beastiary"

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return questions about the bestiary, which is an installed graph."""
        schema = self.file("schema.ttl", "bestiary")
        prefixes = {**serialising.declared_prefixes(schema), **bestiary.PREFIXES}
        return [
            {
                **{key: value for key, value in question.items() if key != "subGraph"},
                "graphName": "bestiary",
                "prefixes": dict(bestiary.PREFIXES),
                **shown_parts(parameters, question, "bestiary", prefixes),
            }
            for question in self.structure("questions.json", "bestiary")
        ]


family: Final = Text2SparqlExecEvalListBeastiary(__file__)
