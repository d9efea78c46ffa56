# SPDX-License-Identifier: Apache-2.0
"""Where an answer that lists everything gains something, a score beside the main one gives 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from kgbench.execution.judging import JudgeRequest
from kgbench.model import Case, Executor, TaskModule
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue
from kgbench.testing import contract as checks
from kgbench.testing.judging import PlainExecutor

IRI = re.compile(r"https?://[^\s<>\"]+")
WORD = re.compile(r"[^\s<>\"(),;\[\]]+")
FACT = re.compile(r"(\w+)\(([^,]+), ([^)]+)\)")
LINK = re.compile(r"(\S+) (?!<\S+#type>)(\S+) (<\S+>|_:\S+) \.$")
#: Classes of each kind of answer: a name, a list, values, a query, facts, a graph.
GAINING = {
    "RdfFriendCount",
    "RdfConnectionTwin",
    "Text2AnswerTwin",
    "Text2SparqlWorld",
    "Text2KG",
    "FactExtractTwin",
}
SIMILAR = 0.001  # what a text may gain by similarity to a document
QUERIES = (
    "SELECT ?x WHERE { { ?x ?p ?o } UNION { ?s ?x ?o } UNION { ?s ?p ?x } }",
    "SELECT ?x ?y WHERE { ?x ?p ?y }",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
)
WRONG = (
    "x",
    "```sparql\nSELECT ?x WHERE { ?x <urn:x:none> ?x }\n```",
    "```sparql\nCONSTRUCT { ?x <urn:x:none> ?x } WHERE { ?x <urn:x:none> ?x }\n```",
    "no_relation(nothing, nobody)",
    "```turtle\n<urn:x:a> <urn:x:b> <urn:x:c> .\n```",
)


def everything(module: TaskModule, case: Case, executor: Executor) -> Iterator[str]:
    """Yield answers that list all names of the prompt, all of the graph, or all combinations."""
    text, reference = module.prompt(case), module.reference(case)
    iris = dict.fromkeys(IRI.findall(text))
    yield "\n".join(dict.fromkeys(WORD.findall(text)))
    yield "\n".join(iris)
    yield "\n".join(f"<{iri}>" for iri in iris)
    yield from (f"```sparql\n{query}\n```" for query in QUERIES)
    yield "\n".join(f"{r}({s}, {o})" for r, s, o in combined(FACT.findall(reference)))
    blocks = [block.body for block in fenced_blocks(reference)] or [reference]
    for lines in filter(None, (executor.parse(block, "turtle").triples for block in blocks)):
        links = [match.groups() for line in lines if (match := LINK.match(line))]
        stated = [line for line in lines if not LINK.match(line)]
        linked = [f"{' '.join(link)} ." for link in combined(links)]
        if len(linked) > len(links):
            yield "\n".join(("```turtle", *stated, *linked, "```"))


def combined(triples):
    """Return all combinations of the first, the second and the third parts of triples."""
    return product(*map(dict.fromkeys, zip(*triples, strict=True))) if triples else ()


def test_everything_is_never_exact() -> None:
    """Wherever everything has more precision and recall than a wrong answer, it is not exact."""
    executor, found = PlainExecutor(), {}
    for name in sorted({task.task_class for task in catalogue.labelled_tasks().values()}):
        task_class, module = catalogue.task_class(name), catalogue.module(name)
        task = min(checks.tasks(task_class), key=lambda task: "turtle" not in task.label)
        case = module.cases(task, checks.SUITE, 7, 1)[0]
        if not any("recall" in metric.lower() for metric in task_class.metrics):
            continue
        judge = checks.judge_here(module, executor)

        def judged(answers):
            verdicts = judge([JudgeRequest(case, (answer,)) for answer in answers])  # noqa: B023
            mains = [checks.main_score(task_class, verdict) or 0.0 for verdict in verdicts]  # noqa: B023
            return [(m, v.scores.get("exact")) for m, v in zip(mains, verdicts, strict=True)]

        wrong = max(judged(WRONG))[0] + SIMILAR
        gains = {e for main, e in judged(everything(module, case, executor)) if main > wrong}
        if gains:
            found[name] = gains, judged([module.reference(case)])[0][1]

    assert found.keys() >= GAINING
    assert {name: scores for name, scores in found.items() if scores != ({0.0}, 1.0)} == {}
