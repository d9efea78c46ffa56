# SPDX-License-Identifier: Apache-2.0
"""Sparql2AnswerList and Text2AnswerList: give the values that a query or a question asks for.

The two task classes have the same cases and the same judge; one shows the query, the other the
question. Scores: Meyer et al., NLP4KGC 2024. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring import answer_lists
from kgbench.scoring.agreement import Agreement
from kgbench.scoring.brevity import by_blanks
from kgbench.tasks import catalogue, formats, organisation, sparql_dialogue, texts


class AnswerList:
    """A task class whose answers are lists of values (see :class:`kgbench.model.TaskModule`)."""

    def __init__(self, name: str, question_key: str, frame: str | None = None) -> None:
        """Define a task class whose prompt shows the key ``question_key`` of the case data.

        ``frame`` is the task class whose prompt is shown, by default this one.
        """
        self.NAME = name
        self._question_key = question_key
        self._prompt_class = name if frame is None else frame

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG002 - static
        """Return the questions about the organisational graph, in the format of ``task``."""
        graph_format = task.parameters["graphFormat"]
        return [
            catalogue.make_case(
                suite,
                self.NAME,
                task.parameters,
                _data(question, graph_format),
                uid=question["uid"],
            )
            for question in organisation.questions()[:count]
        ]

    def prompt(self, case: Case) -> str:
        """Return the prompt: the query or question of ``case``, with its graph."""
        graph_format = formats.canonical_format(case.data["graphFormat"])
        return texts.filled(
            self._prompt_class,
            "prompt.txt",
            format=formats.TITLES[graph_format],
            asked=case.data[self._question_key],
            graph=_graph_and_labels(case, graph_format),
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG002 - no parsing
        """Compare the lines of the answer with the expected values."""
        answer = answers[-1]
        expected: list[str] = case.data["refResultSet"]
        agreements = answer_lists.comparisons(expected, answer)
        scores: dict[str, float] = {}
        for prefix, agreement in agreements.items():
            scores |= agreement.named(prefix, f1="F1" if prefix else "f1")
        scores["combinedF1"] = sum(agreement.f1 for agreement in agreements.values()) / len(
            agreements
        )
        scores["exact"] = float(agreements["fixed"].f1 == 1)
        scores["brevity"] = by_blanks("\n".join(expected), answer)
        answer_lines = answer_lists.lines(answer)
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
        """Return the reference answer: the expected values, one per line."""
        return "\n".join(case.data["refResultSet"])


def _data(question: Mapping[str, Json], graph_format: str) -> dict[str, Json]:
    return {
        "uid": question["uid"],
        "question": question["question"],
        "refSparql": question["refSparql"],
        "refResultSet": question["refResultSet"],
        "graphTurtle": organisation.turtle(),
        "graphFormat": graph_format,
    }


def _graph_and_labels(case: Case, graph_format: str) -> str:
    if "graphTurtle" not in case.data:
        raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
    graph = organisation.in_format(case.data["graphTurtle"], graph_format)
    if "entityHelpCsv" not in case.data:
        return graph
    heading = texts.shared_structure(sparql_dialogue.FOLDER, "about.json")["labels"]["heading"]
    return f"{graph}\n\n{heading}\n{case.data['entityHelpCsv']}"


def _errors(
    expected: Sequence[str], answer: str, agreements: Mapping[str, Agreement]
) -> dict[str, bool]:
    """Return the common mistakes that the answer shows, by their published names."""
    several = len(set(answer_lists.lines(answer))) > 1
    return {
        "errorHttp": "http" in answer,
        "errorGreaterThan": "<" in answer or ">" in answer,
        "errorQuotationMark": '"' in answer,
        "errorNumber": answer_lists.expects_number(expected) and several,
        "errorF1Spaces": agreements["trim"].f1 > agreements[""].f1,
        "errorF1Format": agreements["fixed"].f1 > agreements["trim"].f1,
        "errorF1Minor": agreements["relaxed"].f1 > agreements["fixed"].f1,
    }


SPARQL_TO_ANSWER = AnswerList("Sparql2AnswerListOrganizational", "refSparql")
TEXT_TO_ANSWER = AnswerList("Text2AnswerListOrganizational", "question")
