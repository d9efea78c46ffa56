# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile updates and CONSTRUCT queries each have the outcomes of their kinds."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import hostile
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
HASTY = JudgeLimits(0.5, memory_bytes=PATIENT.memory_bytes)
CLASSES = ("Text2UpdateWorld", "Text2ConstructWorld")
ANSWERS = 200
JUDGED = (Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY)
PATTERNS = " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(6))
CLIQUE = " ".join(f"_:n{i} t:p _:n{j} ." for i in range(40) for j in range(40) if i != j)


def head(name, template):
    """Return the head of an update or query with a template."""
    return f"{'INSERT' if name == CLASSES[0] else 'CONSTRUCT'} {{ {template} }}"


def endless(name):
    """Yield texts that hit a limit of time or memory."""
    yield f"{head(name, '?s0 ?p1 ?o2')} WHERE {{ {PATTERNS} FILTER(?o5 != 1) }}"
    yield f"{head(name, '[] t:p ?s0 ; t:q ?s1 ; t:r ?s2')} WHERE {{ {PATTERNS} }}"
    inner = f"SELECT ?s0 (COUNT(*) AS ?n) WHERE {{ {PATTERNS} }} GROUP BY ?s0"
    yield f"{head(name, '?s0 t:n ?n')} WHERE {{ {{ {inner} }} }}"
    paths = "?s0 (w:partOf|!w:x)* ?o1 . ?o1 (!w:y|w:x)* ?o2 ."
    yield f"{head(name, '?s0 t:p ?o1')} WHERE {{ {paths} {PATTERNS} }}"


def reaching(name, url):
    """Yield texts that access another server, which must receive no connection."""
    body = f"{{ SERVICE SILENT <{url}> {{ ?s ?p ?o }} }}"
    yield f"{head(name, '?s ?p ?o')} WHERE {body}"
    yield f"{head(name, '?s ?p ?o')} WHERE {{ ?s ?p ?o . OPTIONAL {body} }}"
    yield f"{head(name, '?s ?p ?o')} WHERE {{ BIND(<{url}> AS ?e) SERVICE ?e {{ ?s ?p ?o }} }}"
    yield f"{head(name, '?s ?p ?o')} WHERE {{ SERVICE#\n<{url}>{{ ?s ?p ?o }} }}"
    yield f"{head(name, '?s ?p ?o')} WHERE {{ \\u0053ERVICE <{url}> {{ ?s ?p ?o }} }}"
    if name != CLASSES[0]:
        yield f"CONSTRUCT {{ ?s ?p ?o }} FROM <{url}> FROM NAMED <{url}> WHERE {{ ?s ?p ?o }}"
        return
    yield f"INSERT {{ ?s ?p ?o }} USING <{url}> WHERE {{ ?s ?p ?o }}"
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
    if name == CLASSES[0]:
        yield from ("CLEAR ALL", "DROP DEFAULT", "DELETE WHERE { ?s ?p ?o }", "DROP GRAPH t:none")
        yield "MOVE DEFAULT TO t:g ; CREATE GRAPH t:h ; COPY t:g TO t:h ; ADD t:h TO DEFAULT"
        yield " ; ".join(f"INSERT DATA {{ t:a t:b {n} }}" for n in range(2_000))


@pytest.mark.parametrize("name", CLASSES)
def test_every_hostile_text_has_its_outcome(name):
    """Each is judged or hits a limit, without connections, in bounded memory; none is right."""
    module = catalogue.module(name)
    cases = [
        case
        for level in range(1, 6)
        for case in module.cases(TASKS[f"{name}-natural-{level}"], "kgbench-1", 0, 2)
    ]
    with listener() as elsewhere, peak_of_children() as peak:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        bad = [f"```sparql\n{text}\n```" for text in (*reaching(name, url), *heavy(name))]
        references = [module.reference(case) for case in cases]
        mutated = hostile.answers(references, ANSWERS - len(bad) - 4, seed=11, url=url)
        bad += [answer for _, answer in mutated if "?g ?h ?i" not in answer]
        found = by_two_children(cases, [f"```sparql\n{text}\n```" for text in endless(name)], HASTY)
        assert {verdict.outcome for _, verdict in found} == {Outcome.TIMEOUT}
        found += by_two_children(cases, bad, PATIENT)
        assert nobody_came(elsewhere)

    assert len(found) > ANSWERS * 0.9
    outcomes = (*JUDGED, Outcome.TIMEOUT)
    assert not [(a[:200], v.infos) for a, v in found if v.outcome not in outcomes]
    reached = [
        (answer[:200], verdict.infos)
        for answer, verdict in found
        if "SERVICE" in answer or "LOAD" in answer
        if verdict.outcome == Outcome.SCORED
        if not verdict.infos.get("refused") and answer not in references
        if url in answer and "'LOAD'" not in answer and verdict.infos.get("written")
    ]
    assert not reached
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
