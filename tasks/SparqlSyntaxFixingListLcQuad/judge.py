# SPDX-License-Identifier: Apache-2.0
"""SparqlSyntaxFixingListLcQuad: correct the syntax of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Json, QueryFixFamily, Vocabulary
from kgbench.tasks.texts import insert_fault

_WIKIDATA: Final = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "wikibase": "http://wikiba.se/ontology#",
    "bd": "http://www.bigdata.com/rdf#",
}


class SparqlSyntaxFixingListLcQuad(QueryFixFamily):
    """Faulty queries; those published are about Wikidata."""

    vocabulary = Vocabulary(_WIKIDATA)

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return reference queries about the economic graph, each with one syntax error."""
        graph = self.file("graph.ttl", "economy")
        questions = self.structure("questions.json", "economy")
        by_uid = {question["uid"]: question for question in questions}
        cases = []
        for fault in self.structure("faults.json"):
            question = by_uid[fault["question"]]
            place = f"{self.NAME}/faults.json: the fault {fault['uid']}"
            faulty = insert_fault(question["refSparql"], fault["find"], fault["put"], place)
            cases.append(
                {
                    **question,
                    "uid": fault["uid"],
                    "testSparql": faulty,
                    "errorMessage": fault["message"],
                    "graph": graph,
                }
            )
        return cases


family: Final = SparqlSyntaxFixingListLcQuad(__file__)
