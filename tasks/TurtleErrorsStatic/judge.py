# SPDX-License-Identifier: Apache-2.0
"""TurtleErrorsStatic: correct a Turtle document, the predecessor of RdfSyntaxFixList.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.2. ``task.ttl`` decides
the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import (
    Agreement,
    Case,
    Executor,
    Json,
    ListedFamily,
    Verdict,
    compare_graphs,
    outcome,
    similarity,
)
from kgbench.families import tolerant_parsing

# The faults of the only case; each fits exactly one place of the organisational graph.
_FAULTS: Final = (
    ('vcard:country-name "UK" ] .', 'vcard:country-name "UK" ]'),
    (":marketingDep a org:OrganizationalUnit ;", ":marketingDep a org:OrganizationalUnit"),
)


class TurtleErrorsStatic(ListedFamily):
    """The organisational graph with a missing dot and a missing semicolon."""

    NEEDED = ("optimal",)  # not published with every case

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the only case."""
        optimal = self.file("graph.ttl", "organisation")
        faulty = optimal
        for find, put in _FAULTS:
            assert faulty.count(find) == 1
            faulty = faulty.replace(find, put)
        return [{"graphFormat": "turtle", "task": faulty, "optimal": optimal}]

    def uid(self, data: Mapping[str, Json]) -> str:
        """Return the name of the only case."""
        return "organisation"

    def prompt(self, case: Case) -> str:
        """Return the request to correct the faulty document of ``case``."""
        return self.text("prompt", document=case.data["task"].strip())

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the answer, and the triples recovered from it, with the correct document."""
        answer = answers[-1]
        expected_triples = tolerant_parsing.expected_triples(case, executor)
        optimal: str = case.data["optimal"]
        question = similarity(case.data["task"].strip(), optimal.strip())
        repaired = tolerant_parsing.parse(answer, executor)
        raw = similarity(repaired.text.strip(), optimal)
        nothing = Agreement(0.0, 0.0, 0.0)
        content = (
            compare_graphs(expected_triples, repaired.triples) if repaired.triples else nothing
        )
        scores = {
            "onlyTurtle": 1 / (1 + repaired.removed),
            "diffRatioRaw": raw,
            "diffRatio": (raw - question) / (1 - question),
            **content.named("normAnswer", f1="F1Score"),
            "exact": float(content.f1 == 1),
            "normDiffRatio": tolerant_parsing.text_similarity(repaired.triples, expected_triples),
            "parsableTripleRatio": len(repaired.triples) / len(expected_triples),
        }
        infos = {
            "diffRatioQuestion": question,
            "parsableTriplesCount": len(repaired.triples),
            "removedLines": repaired.lines,
            "syntaxError": repaired.error,
        }
        return Verdict(scores, infos, outcome(answer, usable=bool(repaired.triples)))

    def reference(self, case: Case) -> str:
        """Return the correct document."""
        return str(case.data["optimal"])


family: Final = TurtleErrorsStatic(__file__)
