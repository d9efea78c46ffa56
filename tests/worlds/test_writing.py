# SPDX-License-Identifier: Apache-2.0
"""Updates and CONSTRUCT queries over generated worlds: cases with one right result."""

from __future__ import annotations

from collections import Counter

import pytest

from kgbench.execution.engines import engine
from kgbench.model import Outcome
from kgbench.tasks import catalogue, graphs
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import constructs, generator, updates
from kgbench.worlds.clauses import KINDS
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.writing import PREFIXES
from tests.support.families import cases

SHEETS = {"Text2UpdateWorld": updates, "Text2ConstructWorld": constructs}
LEVELS = range(1, updates.LEVELS + 1)
LABELS = [
    f"{name}-{n}-{level}" for name in SHEETS for n in ("natural", "opaque") for level in LEVELS
]


@pytest.mark.parametrize("label", LABELS)
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
    return {f"<{one.iri}>": one.label for each in world.instances.values() for one in each}


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


@pytest.mark.parametrize("name", SHEETS)
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


@pytest.mark.parametrize("name", SHEETS)
def test_all_features_occur(name):
    """Every clause and form of the generator occurs at some level."""
    found = Counter(
        feature
        for level in LEVELS
        for case in cases(f"{name}-natural-{level}", 100)
        for feature in case.data["features"]
    )
    of_class = updates.Updates if name == "Text2UpdateWorld" else constructs.Constructs
    forms = {form for forms in of_class.FORMS.values() for form in forms}

    assert found.keys() >= {*KINDS, *forms, "hierarchy"}


@pytest.mark.parametrize("label", LABELS)
def test_engines_agree(label):
    """Oxigraph and rdflib write the same triples: references are exact with both."""
    for case in cases(label, 2):
        module = catalogue.module(case.task_class)
        for name in ("oxigraph", "rdflib"):
            verdict = module.judge(case, [module.reference(case)], engine(name))
            assert verdict.scores["exact"] == 1, (name, verdict.infos)


def fenced(text):
    """Return a text as an answer."""
    return f"```sparql\n{text}\n```"


def test_triples_lost_and_added_are_told_apart():
    """Additional changes by an update are counted, and feedback does not reveal them."""
    module, executor = catalogue.module("Text2UpdateWorld"), PlainExecutor()
    (case,) = cases("Text2UpdateWorld-natural-1", 1)
    gold = case.data["refSparql"]
    wanted = len(executor.changes(gold, graphs.text(case.data["graphName"]), PREFIXES).rows)
    lost = "DELETE { ?s w:bornIn ?o } WHERE { ?s w:bornIn ?o }"
    added = "INSERT DATA { t:a t:b t:c , _:d . GRAPH t:g { t:a t:b t:c } }"
    places = len(executor.changes(lost, graphs.text(case.data["graphName"]), PREFIXES).rows)
    more = module.judge(case, [fenced(f"{gold} ;\n{lost} ;\n{added}")], executor)

    assert (more.scores["lost"], more.scores["added"]) == (places, 3)
    assert more.scores["recall"] == 1
    assert more.scores["precision"] == pytest.approx(wanted / (wanted + places + 3))
    assert (more.scores["exact"], more.feedback) == (0, "content")
    assert f"should keep: {places};" in more.next_prompt
    assert RESOURCE not in more.next_prompt
    assert module.judge(case, [fenced(f"{gold} ;\n{lost}")] * 3, executor).next_prompt is None

    nothing_left = module.judge(case, [fenced("DROP ALL")], executor)
    assert nothing_left.scores["lost"] > 2_000
    assert nothing_left.scores["exact"] == 0


@pytest.mark.parametrize("name", SHEETS)
def test_feedback_says_what_an_engine_can_say(name):
    """A text that does not parse, execute or write anything is asked for again, twice."""
    module, executor = catalogue.module(name), engine("oxigraph")
    (case,) = cases(f"{name}-natural-1", 1)
    form = "CONSTRUCT { ?s t:p ?o }" if "Construct" in name else "INSERT { ?s t:p ?o }"
    answers = {
        "no block": "syntax",
        fenced(f"{form} WHERE {{ ?s w:p "): "syntax",
        fenced(f"{form} WHERE {{ ?s w:nothing ?o }}"): "empty-result",
        fenced(f"{form} WHERE {{ SERVICE <http://127.0.0.1:9/> {{ ?s ?p ?o }} }}"): "content",
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
        assert case.data["refSparql"] not in verdict.next_prompt
        assert module.judge(case, [answer] * 3, executor).next_prompt is None


def test_a_graph_of_blank_nodes_is_compared_up_to_their_names():
    """A query may build equal blank nodes in another way, but not share one node."""
    module, executor = catalogue.module("Text2ConstructWorld"), PlainExecutor()
    found = (case for level in (4, 5) for case in cases(f"Text2ConstructWorld-natural-{level}", 30))
    nodes = [case for case in found if "[] a t:Statement" in case.data["refSparql"]]
    assert nodes
    for case in nodes:
        gold = case.data["refSparql"]
        other = gold.replace("[] a t:Statement ;", "_:n a t:Statement . _:n ")
        shared = gold.replace("[] a t:Statement ;", "t:n a t:Statement . t:n ")
        half = gold.replace("t:about ?x ;", "")
        scores = [
            module.judge(case, [fenced(one)], executor).scores for one in (other, shared, half)
        ]

        assert scores[0]["exact"] == 1
        assert (scores[1]["exact"], scores[1]["f1"]) == (0, 0)
        assert scores[2]["exact"] == 0
        assert 0 < scores[2]["f1"] < 1
