# SPDX-License-Identifier: Apache-2.0
"""TurtleErrorsStatic: correct a Turtle document, the forerunner of RdfSyntaxFixList.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.2. What it leaves open
is decided in ``task.ttl``.
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

# The faults of the one case; each fits exactly one place of the organisational graph.
_FAULTS = (
    ('vcard:country-name "UK" ] .', 'vcard:country-name "UK" ]'),
    (":marketingDep a org:OrganizationalUnit ;", ":marketingDep a org:OrganizationalUnit"),
)


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - static
    """The one case: the organisational graph with a missing dot and a missing semicolon."""
    optimal = organisation.turtle()
    faulty = optimal
    for find, put in _FAULTS:
        assert faulty.count(find) == 1
        faulty = faulty.replace(find, put)
    data = {"graphFormat": "turtle", "task": faulty, "optimal": optimal}
    return [catalogue.make_case(suite, NAME, task.parameters, data, uid="organisation")][:count]


def prompt(case: Case) -> str:
    """The request to correct the faulty document of ``case``."""
    return texts.filled(NAME, "prompt.txt", document=case.data["task"].strip())


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the answer, and the triples that can be saved from it, with the correct document."""
    answer = answers[-1]
    wanted = normal_triples.expected(case, executor)
    optimal: str = case.data["optimal"]
    question = ratio(case.data["task"].strip(), optimal.strip())
    found = tolerant_parsing.parse(answer, executor)
    raw = ratio(found.text.strip(), optimal)
    nothing = Agreement(0.0, 0.0, 0.0)
    content = compare_graphs(wanted, found.triples) if found.triples else nothing
    scores = {
        "onlyTurtle": 1 / (1 + found.removed),
        "diffRatioRaw": raw,
        "diffRatio": (raw - question) / (1 - question),
        **content.named("normAnswer", f1="F1Score"),
        "normDiffRatio": normal_triples.text_similarity(found.triples, wanted),
        "parsableTripleRatio": len(found.triples) / len(wanted),
    }
    infos = {
        "diffRatioQuestion": question,
        "parsableTriplesCount": len(found.triples),
        "removedLines": found.lines,
        "syntaxError": found.error,
    }
    return Verdict(scores, infos, outcome(answer, found))


def reference(case: Case) -> str:
    """The correct document."""
    return str(case.data["optimal"])


def outcome(answer: str, found: tolerant_parsing.Repaired) -> Outcome:
    """Whether there was an answer, and something in it that parses."""
    if not answer.strip():
        return Outcome.EMPTY
    return Outcome.SCORED if found.triples else Outcome.UNPARSABLE
