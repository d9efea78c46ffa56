# SPDX-License-Identifier: Apache-2.0
"""Families of SPARQL about worlds: cases with one right result, and feedback."""

from __future__ import annotations

from collections import Counter

import pytest

from kgbench.execution.engines import engine
from kgbench.model import Outcome
from kgbench.tasks import catalogue, graphs
from kgbench.testing.judging import PlainExecutor
from kgbench.worlds import generator, questions
from kgbench.worlds.clauses import KINDS
from kgbench.worlds.writing import PREFIXES
from tests.support.families import cases, fenced

WRITING = {
    "Text2UpdateWorld": "INSERT { ?s t:p ?o }",
    "Text2ConstructWorld": "CONSTRUCT { ?s t:p ?o }",
}
NAMES = ("Text2SparqlWorld", *WRITING)
LEVELS = range(1, questions.LEVELS + 1)
WORLD = generator.World("a", 200)


@pytest.mark.parametrize(
    "label",
    [f"{name}-{n}-{level}" for name in WRITING for n in ("natural", "opaque") for level in LEVELS],
)
def test_prompts_do_not_reveal_what_is_chosen(label):
    """A prompt names none of the things that are to be changed or described."""
    found = cases(label, 12)
    module, executor = catalogue.module(found[0].task_class), PlainExecutor()
    labels = _labels(found[0])
    for case in found:
        said = module.prompt(case)
        assert not [label for label in _chosen(case, labels, executor) if label in said]


def _labels(case):
    """Return the names of the things of a world by their terms."""
    world = generator.build_graph(generator.world_of_name(case.data["graphName"]))
    return {f"<{thing.iri}>": thing.label for thing in world.things}


def _chosen(case, labels, executor):
    """Return the names of the things that a case is about: the values of ?x."""
    _, _, where = case.data["refSparql"].partition("WHERE")
    # What counts the things of groups shows none of them.
    where = where.replace("SELECT ?group (COUNT(?x) AS ?number)", "SELECT ?x")
    where = where.replace("GROUP BY ?group", "")
    query = f"SELECT DISTINCT ?x WHERE {where}"
    rows = executor.results(query, graphs.text(case.data["graphName"]), PREFIXES).rows
    assert rows
    return [labels[term] for (term,) in rows]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", LEVELS)
def test_a_text_that_leaves_out_a_condition_is_wrong(name, level):
    """Each condition matters: the reference without one of them is wrong."""
    module, executor, tried = catalogue.module(name), PlainExecutor(), 0
    for case in cases(f"{name}-natural-{level}", 12):
        lines = case.data["refSparql"].splitlines()
        for number, line in enumerate(lines):
            is_condition = '/rdfs:label "' in line or "FILTER" in line or "HAVING" in line
            if not is_condition or line.count("{") != line.count("}"):
                continue
            if "?y" in case.data["refSparql"]:
                continue  # all conditions occur twice
            left = "\n".join(one for k, one in enumerate(lines) if k != number)
            verdict = module.judge(case, [f"```sparql\n{left}\n```"], executor)
            assert verdict.scores["exact"] < 1, (case.data["question"], left)
            assert verdict.outcome == Outcome.SCORED
            tried += 1

    assert tried


@pytest.mark.parametrize("name", NAMES)
def test_all_features_occur(name):
    """Every clause and form of the generator occurs at some level."""
    found = Counter(
        feature
        for level in LEVELS
        for case in cases(f"{name}-natural-{level}", 100)
        for feature in case.data["features"]
    )
    sheets = [questions.sheet(WORLD, level, catalogue.module(name).sheet) for level in LEVELS]
    forms = {form for sheet in sheets for form in sheet._recipe()[1]}

    assert found.keys() >= {*KINDS, *forms, "hierarchy"}


@pytest.mark.parametrize("name", NAMES)
def test_feedback_says_what_an_engine_can_say(name):
    """A text that does not parse, execute, find or write anything is asked for again, twice."""
    module, executor = catalogue.module(name), engine("oxigraph")
    (case,) = cases(f"{name}-natural-1", 1)
    form = WRITING.get(name, "SELECT ?s ?o")
    answers = {
        "no block": "syntax",
        fenced(f"{form} WHERE {{ ?s w:p "): "syntax",
        fenced(f"{form} WHERE {{ ?s w:nothing ?o }}"): "empty-result",
        fenced(f"{form} WHERE {{ SERVICE <http://127.0.0.1:9/> {{ ?s ?p ?o }} }}"): (
            "content" if name in WRITING else "empty-result"
        ),
        fenced(f"{form} WHERE {{ ?s a ?o }}"): "content" if "Update" in name else None,
    }
    if "Update" in name:
        answers |= {
            fenced("LOAD <http://127.0.0.1:9/>"): "syntax",
            fenced("DROP GRAPH t:nothing"): "content",
            fenced("INSERT { ?s t:p ?o } WHERE { ?s x:y ?o }"): "syntax",
        }
    for answer, kind in answers.items():
        verdict = module.judge(case, [answer], executor)
        assert verdict.feedback == kind, answer
        assert verdict.scores["f1"] == verdict.scores["exact"] == 0
        assert case.data["refSparql"] not in (verdict.next_prompt or "")
        assert module.judge(case, [answer] * 3, executor).next_prompt is None
