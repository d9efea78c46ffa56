# SPDX-License-Identifier: Apache-2.0
"""Questions with tools: scores of baselines and content of prompts, for all graphs."""

from __future__ import annotations

import re

import pytest

from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.model import Outcome
from kgbench.policies.values import parse_term
from kgbench.tasks import catalogue, typed_answers
from tests.support.tool_play import cases, play

CONDITIONS = ("schema", "tools", "tools-and-schema")
WORLD = "Text2SparqlToolsWorld"
LEVELS = [f"{WORLD}-{names}-{k}-tools" for names in ("natural", "opaque") for k in range(1, 6)]
GRAPHS = [f"Text2SparqlTools{name}-tools" for name in ("Organizational", "Economy", "Bestiary")]


def references(label, count):
    """Assert that the oracle is right, silence is wrong, and no prompt has an expected value."""
    executor = OxigraphExecutor()
    module = catalogue.module(catalogue.labelled_tasks()[label].task_class)
    found = cases(label, count)
    assert len({case.data["question"] for case in found}) == len(found)
    for case in found:
        right = play(case, "oracle", executor)
        answerable = case.data["refSparql"] is not None
        assert (right.scores["f1"], right.scores["exact"]) == (1.0, 1.0), case.data["question"]
        assert right.scores["cancelledRightly"] == float(not answerable)
        assert right.scores["cancelledWrongly"] == 0.0
        silent = play(case, "silent", executor)
        assert (silent.scores["f1"], silent.outcome) == (0.0, Outcome.EMPTY)
        if answerable:
            prompt = module.prompt(case)
            assert not [value for value in values(case, executor) if value in prompt]
            assert case.data["refSparql"].strip() not in prompt


def values(case, executor):
    """Return the values that the reference query finds, except numbers, which occur anywhere."""
    module = catalogue.module(case.task_class)
    graph = typed_answers.graph_of(case, module)
    result = executor.results(case.data["refSparql"], graph, module.vocabulary.for_queries(case))
    found = {parse_term(term).value for row in result.rows for term in row if term is not None}
    return {value for value in found if not re.fullmatch(r"[\d.+-]+|true|false", value)}


@pytest.mark.parametrize("label", [*LEVELS, *GRAPHS])
def test_references_are_right(label):
    """On every graph and level the oracle is right, silence is not, and prompts hold no answer."""
    references(label, 10)


@pytest.mark.parametrize("label", [LEVELS[4], LEVELS[7], *GRAPHS])
@pytest.mark.parametrize("condition", ["schema", "tools-and-schema"])
def test_schemas_hold_no_answer(label, condition):
    """A prompt with the schema of a graph contains no value of the expected result."""
    executor = OxigraphExecutor()
    for case in cases(f"{label.removesuffix('-tools')}-{condition}", 14):
        if case.data["refSparql"] is not None:
            prompt = catalogue.module(case.task_class).prompt(case)
            assert not [value for value in values(case, executor) if value in prompt]


@pytest.mark.parametrize("label", LEVELS)
def test_five_thousand_questions(label):
    """On five thousand questions of all difficulties the oracle is right and silence is not."""
    references(label, 500)


@pytest.mark.parametrize("label", [LEVELS[0], LEVELS[6], *GRAPHS])
def test_baselines_keep_their_order(label):
    """On every graph, the mean of a searching script lies between silence and the oracle."""
    executor, found = OxigraphExecutor(), cases(label, 24)
    means = {
        agent: sum(play(case, agent, executor).scores["f1"] for case in found) / len(found)
        for agent in ("silent", "schema-only", "random-walker", "searcher", "oracle")
    }

    assert means["silent"] == 0.0
    assert means["silent"] < means["searcher"] < means["oracle"] == 1.0
    assert max(means["schema-only"], means["random-walker"]) < means["searcher"]


@pytest.mark.parametrize("label", [LEVELS[1], *GRAPHS])
def test_conditions_have_the_same_cases(label):
    """With schema, with tools and with both, the same questions are asked about the same graph."""
    stem = label.removesuffix("-tools")
    of = {one: cases(f"{stem}-{one}", 6) for one in CONDITIONS}
    asked = {
        one: [{k: v for k, v in case.data.items() if k != "tools"} for case in found]
        for one, found in of.items()
    }
    module = catalogue.module(of["tools"][0].task_class)
    prompts = {one: module.prompt(found[0]) for one, found in of.items()}

    assert asked["schema"] == asked["tools"] == asked["tools-and-schema"]
    assert [bool(module.tools(found[0])) for found in of.values()] == [False, True, True]
    assert ["(instances: " in prompts[one] for one in CONDITIONS] == [True, False, True]
