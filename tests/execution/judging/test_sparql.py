# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile answers to each family of SPARQL, and of claims, about generated worlds."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import hostile
from tests.execution.judging.hostile import patterns
from tests.execution.judging.hostile_answers import JUDGED_OR_ENDED
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
HASTY = JudgeLimits(0.5, memory_bytes=PATIENT.memory_bytes)
TOOLS, CLAIMS = "Text2SparqlToolsWorld", "ClaimCheckWorld"
HEADS = {"Text2UpdateWorld": "INSERT {{ {} }}", "Text2ConstructWorld": "CONSTRUCT {{ {} }}"}
NAMES = ("Text2SparqlWorld", TOOLS, *HEADS, CLAIMS)
ANSWERS = 200
CLIQUE = " ".join(f"_:n{i} t:p _:n{j} ." for i in range(40) for j in range(40) if i != j)


def head(name, template):
    """Return the head of a query, or of a text that writes a template."""
    return HEADS.get(name, "SELECT *").format(template)


def endless(name):
    """Yield texts that hit a limit of time or memory."""
    yield f"{head(name, '?s0 ?p1 ?o2')} WHERE {{ {patterns(6)} FILTER(?o5 != 1) }}"
    yield f"{head(name, '[] t:p ?s0 ; t:q ?s1 ; t:r ?s2')} WHERE {{ {patterns(6)} }}"
    inner = f"SELECT ?s0 (COUNT(*) AS ?n) WHERE {{ {patterns(6)} }} GROUP BY ?s0"
    yield f"{head(name, '?s0 t:n ?n')} WHERE {{ {{ {inner} }} }}"
    paths = "?s0 (w:partOf|!w:x)* ?o1 . ?o1 (!w:y|w:x)* ?o2 ."
    yield f"{head(name, '?s0 t:p ?o1')} WHERE {{ {paths} {patterns(6)} }}"


def reaching(name, url):
    """Yield texts that access another server, which must receive no connection."""
    every, body = head(name, "?s ?p ?o"), f"{{ SERVICE SILENT <{url}> {{ ?s ?p ?o }} }}"
    yield f"{every} WHERE {body}"
    yield f"{every} WHERE {{ ?s ?p ?o . OPTIONAL {body} }}"
    yield f"{every} WHERE {{ BIND(<{url}> AS ?e) SERVICE ?e {{ ?s ?p ?o }} }}"
    yield f"{every} WHERE {{ SERVICE#\n<{url}>{{ ?s ?p ?o }} }}"
    yield f"{every} WHERE {{ \\u0053ERVICE <{url}> {{ ?s ?p ?o }} }}"
    yield f"{every} FROM <{url}> FROM NAMED <{url}> WHERE {{ ?s ?p ?o }}"
    yield f"{every} USING <{url}> WHERE {{ ?s ?p ?o }}"
    for load in ("LOAD ", "LOAD SILENT ", "load ", "LOADSILENT", "LOAD#\n", "\\u004COAD "):
        yield f"{load}<{url}>"
        yield f"CLEAR ALL ; {load}<{url}> INTO GRAPH t:g"
        yield f"INSERT DATA {{ t:a t:b 'LOAD' }};{load}<{url}>"


def heavy(name):
    """Yield texts that are large, deep or regular, and yet are judged."""
    yield f"{head(name, CLIQUE)} WHERE {{}}"
    yield f"{head(name, ' '.join(f't:a t:b {n} .' for n in range(20_000)))} WHERE {{}}"
    yield f"{head(name, '_:a t:p _:b . _:b t:p _:c . ?x t:q _:a')} WHERE {{ ?x a ?c }}"
    yield f"{head(name, 't:a t:b ' + chr(34) + 'x' * 500_000 + chr(34))} WHERE {{}}"
    yield f"{head(name, '?x t:p ?y')} WHERE {{ ?x ?p ?y {'{' * 5_000} {'}' * 5_000} }}"
    yield f"{head(name, '?x t:p ?y')} WHERE {{ ?x ?p ?y FILTER({'(' * 390}true{')' * 390}) }}"
    yield from ("CLEAR ALL", "DROP DEFAULT", "DELETE WHERE { ?s ?p ?o }", "DROP GRAPH t:none")
    yield "MOVE DEFAULT TO t:g ; CREATE GRAPH t:h ; COPY t:g TO t:h ; ADD t:h TO DEFAULT"
    yield " ; ".join(f"INSERT DATA {{ t:a t:b {n} }}" for n in range(2_000))


def fenced(texts):
    """Return texts in code fences."""
    return [f"```sparql\n{text}\n```" for text in texts]


@pytest.mark.parametrize("name", NAMES)
def test_every_hostile_answer_has_its_outcome(name):
    """Each is judged or hits a limit, without connections, in bounded memory; none is right."""
    module = catalogue.module(name)
    metric = catalogue.task_class(name).main_metric.removeprefix("max_")
    labels = [label for label in TASKS if label.startswith(f"{name}-natural-")]
    cases = [case for label in labels for case in module.cases(TASKS[label], "own", 7, 2)]
    references = [module.reference(case) for case in cases]
    with listener() as elsewhere, peak_of_children() as peak:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        if name != CLAIMS:
            outcomes = [
                (verdict.outcome, verdict.scores.get(metric, 0.0))
                for _, verdict in by_two_children(cases, fenced(endless(name)), HASTY)
            ]
            # For a question without an answer, no query is executed.
            assert {*outcomes} - ({(Outcome.SCORED, 0.0)} if name == TOOLS else set()) == {
                (Outcome.TIMEOUT, 0.0)
            }
        bad = fenced((*reaching(name, url), *heavy(name)))
        generic = hostile.answers(references, ANSWERS - len(bad), seed=11, url=url)
        bad += [answer for _, answer in generic if "?g ?h ?i" not in answer]
        found = by_two_children(cases, bad, PATIENT)
        assert nobody_came(elsewhere)

    assert len(found) > ANSWERS * 0.9
    assert not [(a[:200], v.infos) for a, v in found if v.outcome not in JUDGED_OR_ENDED]
    asked = [v for a, v in found if url in a and "SERVICE" in a]
    assert asked
    assert not [v.infos for v in asked if v.scores[metric] == 1.0]
    assert not [
        (answer[:200], verdict.infos)
        for answer, verdict in found
        if url in answer and ("SERVICE" in answer or "LOAD" in answer) and "'LOAD'" not in answer
        if verdict.infos.get("written") and not verdict.infos.get("refused")
        if answer not in references
    ]
    for answer, verdict in found:
        assert verdict.scores.get("exact", 0) == 0 or "WHERE" in answer
        assert all(math.isfinite(value) for value in verdict.scores.values())
    assert 0 < max(peak) < PATIENT.memory_bytes


def by_two_children(cases, answers, limits):
    """Return answers with their verdicts, judged by two child processes."""
    order = list(answers)
    random.Random(5).shuffle(order)
    batch = [JudgeRequest(cases[n % len(cases)], (answer,)) for n, answer in enumerate(order)]
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(judge_batch, (batch[::2], batch[1::2]), (limits, limits)))
    return [(answer, halves[n % 2][n // 2]) for n, answer in enumerate(order)]
