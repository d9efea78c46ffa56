# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to questions and claims about generated worlds, in judging processes."""

import math

import pytest

from kgbench.execution.judging import JudgeLimits
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import hostile
from tests.execution.judging.hostile import patterns
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children
from tests.execution.judging.test_writing import by_two_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
HASTY = JudgeLimits(0.5, memory_bytes=PATIENT.memory_bytes)
QUESTIONS = {"Text2SparqlWorld": "f1", "Text2SparqlToolsWorld": "f1"}
CLAIMS = {"ClaimCheckWorld": "correct"}
ANSWERS = 200
JUDGED = (Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY, Outcome.TIMEOUT)


def fenced(text):
    """Return a query in a code fence."""
    return f"```sparql\n{text}\n```"


def endless():
    """Yield queries that end at a limit."""
    for n in (6, 7, 8):
        yield fenced(f"SELECT (COUNT(*) AS ?n) WHERE {{ {patterns(n)} FILTER(?o0 != ?o5) }}")
        yield fenced(f"SELECT DISTINCT * WHERE {{ {patterns(n)} }} ORDER BY ?o1")


def reaching(url):
    """Yield queries that access another server."""
    for inside in ("", "SILENT "):
        body = f"SERVICE {inside}<{url}> {{ ?s ?p ?o }}"
        yield fenced(f"SELECT * WHERE {{ {body} }}")
        yield fenced(f"SELECT * WHERE {{ ?s ?p ?o OPTIONAL {{ {body} }} }}")
        yield fenced(f"SELECT * WHERE {{ BIND(<{url}> AS ?e) SERVICE {inside}?e {{ ?s ?p ?o }} }}")
    yield fenced(f"SELECT * FROM <{url}> WHERE {{ ?s ?p ?o }}")
    yield fenced(f"SELECT * FROM NAMED <{url}> WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}")
    yield fenced(f"LOAD <{url}>")


def of_each_level(name):
    """Return two cases of each level."""
    labels = [label for label, task in TASKS.items() if task.task_class == name]
    natural = [label for label in labels if "natural" in label]
    assert len(natural) >= 4
    module = catalogue.module(name)
    return [case for label in natural for case in module.cases(TASKS[label], "own", 7, 2)]


@pytest.mark.parametrize(("name", "metric"), {**QUESTIONS, **CLAIMS}.items())
def test_every_hostile_answer_has_its_outcome(name, metric):
    """Each is judged or hits a limit, without connections, in bounded memory; none is right."""
    cases = of_each_level(name)
    module = catalogue.module(name)
    references = [module.reference(case) for case in cases]
    with listener() as elsewhere, peak_of_children() as peak:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        found = []
        if name in QUESTIONS:
            found = by_two_children(cases, list(endless()), HASTY)
            ended = [verdict for _, verdict in found if verdict.outcome == Outcome.TIMEOUT]
            assert ended
            # For a question without an answer, no query is executed.
            assert not [v for _, v in found if v not in ended and v.scores[metric] != 0.0]
            assert name != "Text2SparqlWorld" or len(ended) == len(found)
        generic = hostile.answers(references, ANSWERS, seed=11, url=url)
        bad = [*reaching(url), *(answer for _, answer in generic)]
        found += by_two_children(cases, bad, PATIENT)
        assert nobody_came(elsewhere)

    assert len(found) >= ANSWERS
    assert not [(a[:200], v.infos) for a, v in found if v.outcome not in JUDGED]
    asked = [v for a, v in found if url in a and "SERVICE" in a]
    assert asked
    assert not [v.infos for v in asked if v.scores[metric] == 1.0]
    assert all(math.isfinite(value) for _, v in found for value in v.scores.values())
    assert 0 < max(peak) < PATIENT.memory_bytes
