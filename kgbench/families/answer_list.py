# SPDX-License-Identifier: Apache-2.0
"""Families whose answers are lists of the values that a query or a question asks for.

They have the same cases and the same judge; one shows the query, the other the question. Scores:
Meyer et al., NLP4KGC 2024. Each ``task.ttl`` decides the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from kgbench.errors import TaskError
from kgbench.families.frame import ListedFamily
from kgbench.model import Case, Executor, Json, Outcome, Verdict
from kgbench.scoring import result_sets
from kgbench.scoring.agreement import Agreement
from kgbench.scoring.formulas import by_blanks
from kgbench.tasks import serialising, texts

_KEYS: Final = ("uid", "question", "refSparql", "refResultSet")


class AnswerListFamily(ListedFamily):
    """A family whose answers are lists of values."""

    asked: ClassVar[str]
    """The data of a case that the prompt shows: a query or a question."""

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the questions about the organisational graph, in the format of the task."""
        shared = {
            "graphTurtle": texts.shared("organisation", "graph.ttl"),
            "graphFormat": parameters["graphFormat"],
        }
        return [
            {**{key: question[key] for key in _KEYS}, **shared}
            for question in texts.shared_structure("organisation", "questions.json")
        ]

    def prompt(self, case: Case) -> str:
        """Return the query or question of ``case``, with its graph."""
        graph_format = serialising.canonical_format(case.data["graphFormat"])
        return self.text(
            "prompt",
            format=serialising.TITLES[graph_format],
            asked=case.data[self.asked],
            graph=_graph_and_labels(case, graph_format),
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the lines of the answer with the expected values."""
        answer = answers[-1]
        expected: list[str] = case.data["refResultSet"]
        agreements = result_sets.comparisons(expected, answer)
        scores: dict[str, float] = {}
        for prefix, agreement in agreements.items():
            scores |= agreement.named(prefix, f1="F1" if prefix else "f1")
        scores["combinedF1"] = sum(agreement.f1 for agreement in agreements.values()) / len(
            agreements
        )
        scores["exact"] = float(agreements["fixed"].f1 == 1)
        scores["brevity"] = by_blanks("\n".join(expected), answer)
        answer_lines = result_sets.lines(answer)
        infos: dict[str, Json] = {
            "testUid": case.data.get("uid"),
            "answerResultLength": len(answer_lines),
            "answerSetSize": len(set(answer_lines)),
            "answerSet": sorted(set(answer_lines)),
        }
        infos |= {
            name: int(is_shown) for name, is_shown in _errors(expected, answer, agreements).items()
        }
        return Verdict(scores, infos, Outcome.SCORED if answer_lines else Outcome.EMPTY)

    def reference(self, case: Case) -> str:
        """Return the expected values, one per line."""
        return "\n".join(case.data["refResultSet"])


def _graph_and_labels(case: Case, graph_format: str) -> str:
    if "graphTurtle" not in case.data:
        raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
    graph = serialising.in_format(case.data["graphTurtle"], graph_format)
    if "entityHelpCsv" not in case.data:
        return graph
    heading = texts.shared_structure("sparql-dialogue", "about.json")["labels"]["heading"]
    return f"{graph}\n\n{heading}\n{case.data['entityHelpCsv']}"


def _errors(
    expected: Sequence[str], answer: str, agreements: Mapping[str, Agreement]
) -> dict[str, bool]:
    """Return the common mistakes that the answer shows, by their published names."""
    several = len(set(result_sets.lines(answer))) > 1
    return {
        "errorHttp": "http" in answer,
        "errorGreaterThan": "<" in answer or ">" in answer,
        "errorQuotationMark": '"' in answer,
        "errorNumber": result_sets.expects_number(expected) and several,
        "errorF1Spaces": agreements["trim"].f1 > agreements[""].f1,
        "errorF1Format": agreements["fixed"].f1 > agreements["trim"].f1,
        "errorF1Minor": agreements["relaxed"].f1 > agreements["fixed"].f1,
    }
