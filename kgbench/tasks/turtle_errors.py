# SPDX-License-Identifier: Apache-2.0
"""TurtleErrorsStatic: correct a Turtle document, the predecessor of RdfSyntaxFixList.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.2. ``task.ttl`` decides
the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgbench.model import Case, Executor, Outcome, Task, Verdict
from kgbench.scoring.agreement import Agreement
from kgbench.scoring.graphs import compare_graphs
from kgbench.scoring.similarity import ratio
from kgbench.tasks import catalogue, normal_triples, organisation, texts, tolerant_parsing

NAME = "TurtleErrorsStatic"
NEEDED = ("optimal",)  # not published with every case

# The faults of the only case; each fits exactly one place of the organisational graph.
_FAULTS = (
    ('vcard:country-name "UK" ] .', 'vcard:country-name "UK" ]'),
    (":marketingDep a org:OrganizationalUnit ;", ":marketingDep a org:OrganizationalUnit"),
)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - static
    """Return the only case: the organisational graph with a missing dot and a missing semicolon."""
    optimal = organisation.turtle()
    faulty = optimal
    for find, put in _FAULTS:
        assert faulty.count(find) == 1
        faulty = faulty.replace(find, put)
    data = {"graphFormat": "turtle", "task": faulty, "optimal": optimal}
    return [catalogue.make_case(suite, NAME, task.parameters, data, uid="organisation")][:count]


def prompt(case: Case) -> str:
    """Return the prompt: the request to correct the faulty document of ``case``."""
    return texts.filled(NAME, "prompt.txt", document=case.data["task"].strip())


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the answer, and the triples recovered from it, with the correct document."""
    answer = answers[-1]
    expected_triples = normal_triples.expected_triples(case, executor)
    optimal: str = case.data["optimal"]
    question = ratio(case.data["task"].strip(), optimal.strip())
    repaired = tolerant_parsing.parse(answer, executor)
    raw = ratio(repaired.text.strip(), optimal)
    nothing = Agreement(0.0, 0.0, 0.0)
    content = compare_graphs(expected_triples, repaired.triples) if repaired.triples else nothing
    scores = {
        "onlyTurtle": 1 / (1 + repaired.removed),
        "diffRatioRaw": raw,
        "diffRatio": (raw - question) / (1 - question),
        **content.named("normAnswer", f1="F1Score"),
        "exact": float(content.f1 == 1),
        "normDiffRatio": normal_triples.text_similarity(repaired.triples, expected_triples),
        "parsableTripleRatio": len(repaired.triples) / len(expected_triples),
    }
    infos = {
        "diffRatioQuestion": question,
        "parsableTriplesCount": len(repaired.triples),
        "removedLines": repaired.lines,
        "syntaxError": repaired.error,
    }
    return Verdict(scores, infos, outcome(answer, repaired))


def reference(case: Case) -> str:
    """Return the reference answer: the correct document."""
    return str(case.data["optimal"])


def outcome(answer: str, repaired: tolerant_parsing.RepairedTurtle) -> Outcome:
    """Return the outcome of an answer: empty, without triples, or scored."""
    if not answer.strip():
        return Outcome.EMPTY
    return Outcome.SCORED if repaired.triples else Outcome.UNPARSABLE
