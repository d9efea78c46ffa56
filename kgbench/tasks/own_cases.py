# SPDX-License-Identifier: Apache-2.0
"""The data of kgbench's own cases for the task classes whose answers are queries.

Each function takes the parameters of a task and returns the data of its cases, with the keys of the
published cases.
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
    """Return questions about the organisational graph, which each case contains."""
    graph = organisation.turtle()
    return [{**question, "graphTurtle": graph} for question in organisation.questions()]


def organizational_numerical(parameters: Mapping[str, Json]) -> list[Data]:  # noqa: ARG001 - none
    """Return questions about the organisational graph with numbers for names in the graph.

    Each case also contains the table of the numbers.
    """
    numbers = numbering.number_names(organisation.turtle())
    graph = numbering.translate_names(organisation.turtle(), numbers)
    return [
        {
            **question,
            "refSparql": numbering.translate_names(question["refSparql"], numbers),
            "refResultSet": sorted(numbers.get(v, v) for v in question["refResultSet"]),
            "graphTurtle": graph,
            "entityHelpCsv": numbering.table(numbers),
        }
        for question in organisation.questions()
    ]


def economy(parameters: Mapping[str, Json]) -> list[Data]:
    """Return questions about the economic graph, which each case contains."""
    graph = texts.shared("economy", "graph.ttl")
    prefixes = {**organisation.prefixes(_schema("economy")), **organisation.prefixes(graph)}
    return [
        {
            **question,
            "graph": graph,
            **_shown_parts(
                parameters, question, "economy", prefixes, _triples("economy", "graph.ttl")
            ),
        }
        for question in texts.shared_structure("economy", "questions.json")
    ]


def bestiary_cases(parameters: Mapping[str, Json]) -> list[Data]:
    """Return questions about the bestiary, which is an installed graph."""
    prefixes = {**organisation.prefixes(_schema("bestiary")), **bestiary.PREFIXES}
    return [
        {
            **{key: value for key, value in question.items() if key != "subGraph"},
            "graphName": "bestiary",
            "prefixes": dict(bestiary.PREFIXES),
            **_shown_parts(parameters, question, "bestiary", prefixes, ()),
        }
        for question in texts.shared_structure("bestiary", "questions.json")
    ]


def faulty_queries(parameters: Mapping[str, Json]) -> list[Data]:  # noqa: ARG001 - there are none
    """Return reference queries about the economic graph, each with one syntax error."""
    questions = {item["uid"]: item for item in texts.shared_structure("economy", "questions.json")}
    graph = texts.shared("economy", "graph.ttl")
    cases = []
    for fault in texts.structure("SparqlSyntaxFixingListLcQuad", "faults.json"):
        question = questions[fault["question"]]
        fault_name = f"SparqlSyntaxFixingListLcQuad/faults.json: the fault {fault['uid']}"
        faulty = faults.insert_fault(question["refSparql"], fault["find"], fault["put"], fault_name)
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


def _shown_parts(
    parameters: Mapping[str, Json],
    question: Mapping[str, Json],
    folder: str,
    prefixes: Mapping[str, str],
    graph: tuple[ox.Triple, ...],
) -> Data:
    """Return the parts of graph or schema in the prompt, and the parameters that select them."""
    kind: str = parameters["kgInfoType"]
    query: str = question["refSparql"]
    data: Data = {"kgInfoType": kind, "kgInfoFormat": parameters["kgInfoFormat"]}
    schema = _triples(folder, "schema.ttl")
    used = graph_info.query_iris(query, prefixes)
    if kind == "schema":
        data["schema"] = _schema(folder)
    elif kind == "subschema":
        data["subSchema"] = graph_info.as_turtle(graph_info.subschema(schema, used), prefixes)
    elif kind == "subgraph":
        data["subGraph"] = question.get("subGraph") or graph_info.as_turtle(
            graph_info.subgraph(graph, used), prefixes
        )
    elif kind in {"iris", "irisLabels"}:
        listed = graph_info.query_names(query, prefixes)
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
