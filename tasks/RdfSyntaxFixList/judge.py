# SPDX-License-Identifier: Apache-2.0
"""RdfSyntaxFixList: correct the syntax of an RDF document, in at most three answers.

Scores: Meyer et al., LLM-KG-Bench 3.0, ESWC 2025, section 3.4.1. ``task.ttl`` decides the points
that it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import (
    Case,
    EvaluationError,
    Executor,
    Json,
    ListedFamily,
    ParsedGraph,
    Verdict,
    compare_graphs,
    fenced_blocks,
    outcome,
    similarity,
)
from kgbench.scoring.formulas import by_block, improvement
from kgbench.tasks import serialising
from kgbench.tasks.texts import insert_fault

_DOCUMENTS: Final = {
    "turtle": "document.ttl",
    "ntriples": "document.nt",
    "json-ld": "document.jsonld",
}
_INFO_STRINGS: Final = {"turtle": "turtle", "ntriples": "ntriples", "json-ld": "json"}
_NO_BLOCK: Final = "There is no fenced code block in the answer."
_ROUNDS: Final = 3


class RdfSyntaxFixList(ListedFamily):
    """Documents in three formats with declared faults."""

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the cases of the format: its document with the faults of ``faults.json``."""
        graph_format = parameters["graphFormat"]
        optimal = self.file(_DOCUMENTS[graph_format])
        return [
            {
                "graphFormat": graph_format,
                "taskUid": declared["uid"],
                "task": _with_faults(optimal, declared),
                "optimal": optimal,
            }
            for declared in self.structure("faults.json")[graph_format]
        ]

    def uid(self, data: Mapping[str, Json]) -> str:
        """Return the name of the case with ``data``."""
        return str(data["taskUid"])

    def prompt(self, case: Case) -> str:
        """Return the request to correct the faulty document of ``case``."""
        graph_format = _format(case)
        return self.text(
            "prompt",
            format=serialising.TITLES[graph_format],
            info=_INFO_STRINGS[graph_format],
            document=case.data["task"].strip(),
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the document in the last answer; ask again if it is wrong and rounds are left."""
        answer = answers[-1]
        optimal: str = case.data["optimal"]
        blocks = fenced_blocks(answer)
        document = blocks[0].body.strip() if blocks else ""
        question_ratio = similarity(case.data["task"].strip(), optimal.strip())
        answer_ratio = similarity(document, optimal.strip())
        parsed = executor.parse(document, _format(case)) if blocks else ParsedGraph(None, _NO_BLOCK)
        scores = {
            "brevity": by_block(blocks[0].source if blocks else None, answer),
            "strSimilarity": improvement(answer_ratio, question_ratio),
            "parsableSyntax": float(parsed.triples is not None),
        }
        scores |= _content(case, parsed, executor)
        scores["combined"] = (
            0.1 * scores["strSimilarity"]
            + 0.2 * scores["parsableSyntax"]
            + 0.7 * scores.get("contentF1", 0.0)
        )
        infos: dict[str, Json] = {
            "taskUid": case.data["taskUid"],
            "codeBlockCount": len(blocks),
            "rdfString": document,
            "rdfStringLenDiff": len(document) - len(optimal),
            "diffRatioQuestion": question_ratio,
            "diffRatioRaw": answer_ratio,
            "syntaxError": parsed.error,
        }
        kind = _feedback(scores, answer_ratio) if len(answers) < _ROUNDS else None
        return Verdict(
            scores,
            infos,
            outcome(answer, usable=parsed.triples is not None),
            next_prompt=None if kind is None else self._next_prompt(case, kind, parsed),
            feedback=kind,
        )

    def reference(self, case: Case) -> str:
        """Return the correct document in a fenced block."""
        return f"```{_INFO_STRINGS[_format(case)]}\n{case.data['optimal'].strip()}\n```"

    def _next_prompt(self, case: Case, kind: str, parsed: ParsedGraph) -> str:
        message = {"message": parsed.error or ""} if kind == "syntax" else {}
        return self.text(f"feedback-{kind}", format=serialising.TITLES[_format(case)], **message)


family: Final = RdfSyntaxFixList(__file__)


def _content(case: Case, parsed: ParsedGraph, executor: Executor) -> dict[str, float]:
    if parsed.triples is None:
        return {}
    expected = executor.parse(case.data["optimal"], _format(case))
    if expected.triples is None:
        raise EvaluationError(
            f"the correct document of the case {case.iri} does not parse: {expected.error}"
        )
    content = compare_graphs(expected.triples, parsed.triples)
    return content.named("content", f1="F1") | {"exact": float(content.f1 == 1)}


def _feedback(scores: Mapping[str, float], answer_ratio: float) -> str | None:
    if not scores["parsableSyntax"]:
        return "syntax"
    if scores["contentF1"] != 1:
        return "content"
    return None if answer_ratio == 1 else "format"


def _format(case: Case) -> str:
    return serialising.canonical_format(case.data["graphFormat"])


def _with_faults(document: str, declared: Mapping[str, Json]) -> str:
    """Insert each declared fault into ``document``."""
    for fault in declared["faults"]:
        fault_name = (
            f"RdfSyntaxFixList/faults.json: the fault '{fault['kind']}' of {declared['uid']}"
        )
        document = insert_fault(document, fault["find"], fault["put"], fault_name)
    return document
