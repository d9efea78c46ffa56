# SPDX-License-Identifier: Apache-2.0
"""The data of kgbench's own cases for the task classes whose answers are queries.

Each function takes the parameters of a task and gives the data of its cases, under the keys that
the published cases have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.tasks import (
    bestiary,
    faults,
    graph_info,
    numbering,
    organisation,
    serialising,
    texts,
)

Data = dict[str, Json]


def organizational(parameters: Mapping[str, Json]) -> list[Data]:  # noqa: ARG001 - there are none
    """Questions about the organisational graph, which each case carries."""
    graph = organisation.turtle()
    return [{**question, "graphTurtle": graph} for question in organisation.questions()]


def organizational_numerical(parameters: Mapping[str, Json]) -> list[Data]:  # noqa: ARG001 - none
    """The same questions about the graph with numbers for names, and the table of the numbers."""
    numbers = numbering.numbered(organisation.turtle())
    graph = numbering.translated(organisation.turtle(), numbers)
    return [
        {
            **question,
            "refSparql": numbering.translated(question["refSparql"], numbers),
            "refResultSet": sorted(numbers.get(v, v) for v in question["refResultSet"]),
            "graphTurtle": graph,
            "entityHelpCsv": numbering.table(numbers),
        }
        for question in organisation.questions()
    ]


def economy(parameters: Mapping[str, Json]) -> list[Data]:
    """Questions about the economic graph, which each case carries."""
    graph = texts.shared("economy", "graph.ttl")
    prefixes = {**organisation.prefixes(_schema("economy")), **organisation.prefixes(graph)}
    return [
        {
            **question,
            "graph": graph,
            **_shown(parameters, question, "economy", prefixes, _triples("economy", "graph.ttl")),
        }
        for question in texts.shared_structure("economy", "questions.json")
    ]


def bestiary_cases(parameters: Mapping[str, Json]) -> list[Data]:
    """Questions about the bestiary, which is an installed graph."""
    prefixes = {**organisation.prefixes(_schema("bestiary")), **bestiary.PREFIXES}
    return [
        {
            **{key: value for key, value in question.items() if key != "subGraph"},
            "graphName": "bestiary",
            "prefixes": dict(bestiary.PREFIXES),
            **_shown(parameters, question, "bestiary", prefixes, ()),
        }
        for question in texts.shared_structure("bestiary", "questions.json")
    ]


def faulty_queries(parameters: Mapping[str, Json]) -> list[Data]:  # noqa: ARG001 - there are none
    """Reference queries about the economic graph, each with one syntax error."""
    questions = {q["uid"]: q for q in texts.shared_structure("economy", "questions.json")}
    graph = texts.shared("economy", "graph.ttl")
    found = []
    for declared in texts.structure("SparqlSyntaxFixingListLcQuad", "faults.json"):
        question = questions[declared["question"]]
        named = f"SparqlSyntaxFixingListLcQuad/faults.json: the fault {declared['uid']}"
        faulty = faults.put_in(question["refSparql"], declared["find"], declared["put"], named)
        found.append(
            {
                **question,
                "uid": declared["uid"],
                "testSparql": faulty,
                "errorMessage": declared["message"],
                "graph": graph,
            }
        )
    return found


def _shown(
    parameters: Mapping[str, Json],
    question: Mapping[str, Json],
    folder: str,
    prefixes: Mapping[str, str],
    graph: tuple[ox.Triple, ...],
) -> Data:
    """What the prompt shows beside the whole graph, and the parameters that say so."""
    kind: str = parameters["kgInfoType"]
    query: str = question["refSparql"]
    data: Data = {"kgInfoType": kind, "kgInfoFormat": parameters["kgInfoFormat"]}
    schema = _triples(folder, "schema.ttl")
    wanted = graph_info.used(query, prefixes)
    if kind == "schema":
        data["schema"] = _schema(folder)
    elif kind == "subschema":
        data["subSchema"] = graph_info.as_turtle(graph_info.subschema(schema, wanted), prefixes)
    elif kind == "subgraph":
        data["subGraph"] = question.get("subGraph") or graph_info.as_turtle(
            graph_info.subgraph(graph, wanted), prefixes
        )
    elif kind in {"iris", "irisLabels"}:
        listed = graph_info.iris(query, prefixes)
        data["iris"] = listed
        if kind == "irisLabels":
            labels = graph_info.labels(schema, graph)
            data["irisLabels"] = graph_info.with_labels(listed, labels, prefixes)
    return data


def _schema(folder: str) -> str:
    return texts.shared(folder, "schema.ttl")


@cache
def _triples(folder: str, name: str) -> tuple[ox.Triple, ...]:
    return tuple(serialising.triples(texts.shared(folder, name)))
