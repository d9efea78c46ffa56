# SPDX-License-Identifier: Apache-2.0
"""Questions with tools: scores of baselines, unanswerable questions, content of prompts."""

from __future__ import annotations

import re

import pytest

from kgbench.errors import TaskError
from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.model import Outcome
from kgbench.plugins.agents.graph_questions import GIVE_UP
from kgbench.policies.terms import parse_term
from kgbench.tasks import catalogue, graphs, typed_answers
from kgbench.worlds import generator, hard_questions, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import absent_properties, load_model
from tests.support.tool_play import cases, play

CONDITIONS = ("schema", "tools", "tools-and-schema")
WORLD = "Text2SparqlToolsWorld"
LEVELS = [f"{WORLD}-{names}-{k}-tools" for names in ("natural", "opaque") for k in range(1, 6)]
GRAPHS = [f"Text2SparqlTools{name}-tools" for name in ("Organizational", "Economy", "Bestiary")]
KINDS = (hard_questions.ANSWERED, hard_questions.EMPTY, hard_questions.UNANSWERABLE)


def kind_of(case):
    """Return the kind of a question about a world."""
    return case.uid.split("-")[-2]


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


def test_baselines_without_tools():
    """Without tools, the best answer is a query in a fenced block, or giving up."""
    module, executor = catalogue.module(WORLD), OxigraphExecutor()
    for case in cases(f"{WORLD}-natural-1-schema", 20):
        verdict = module.judge(case, [module.reference(case)], executor)
        assert verdict.scores["f1"] == 1.0
        assert "toolCalls" not in verdict.scores


def test_questions_of_each_kind_occur_as_often_as_asked():
    """The shares of empty and unanswerable questions are about those of the parameters."""
    found = cases(LEVELS[0], 400, empty=25, unanswerable=50)
    of = [kind_of(case) for case in found]

    shares = [of.count(kind) / len(of) for kind in KINDS]
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.08)
    assert {kind_of(case) for case in cases(LEVELS[0], 30, empty=0, unanswerable=0)} == {"answered"}
    assert {kind_of(case) for case in cases(LEVELS[0], 9, empty=100, unanswerable=0)} == {"empty"}
    task = catalogue.make_task(WORLD, "much", {"empty": 60, "unanswerable": 41})
    with pytest.raises(TaskError, match="together more than 100 percent"):
        catalogue.check(task)


def test_another_seed_is_another_test():
    """Two seeds have no question in common; the same seed gives the same questions."""
    first, again, other = (
        [case.data["question"] for case in cases(LEVELS[3], 15, seed)] for seed in (1, 1, 2)
    )

    assert first == again
    assert not set(first) & set(other)


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", range(1, 6))
def test_what_is_unanswerable(names, level):
    """An unanswerable question names a property or a thing that is not in the graph."""
    world = World("q", 400, names)
    text = generator.text(world)
    labels = set(re.findall(r'rdf-schema#label> "([^"]*)"', text))
    unknown = {each.phrase or each.label for each in absent_properties()}
    sheet = hard_questions.sheet(world, level, hard_questions.UNANSWERABLE)
    lacks = set()
    for number in range(25):
        question = sheet[number]
        named = re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", question.words)
        lacks.update(question.features)
        if question.features == (hard_questions.UNKNOWN_PROPERTY,):
            assert any(each in question.words for each in unknown)
        else:
            assert any(name not in labels for name in named), question.words
        assert question.query == ""

    assert lacks == {hard_questions.UNKNOWN_PROPERTY, hard_questions.UNKNOWN_THING}
    known = {each.label for each in load_model().properties}
    assert not known & {each.label for each in absent_properties()}


@pytest.mark.parametrize("level", range(1, 6))
def test_what_is_empty(level):
    """An empty question names only things of the graph, and its query finds nothing."""
    world = World("q", 400)
    labels = set(re.findall(r'rdf-schema#label> "([^"]*)"', generator.text(world)))
    sheet = hard_questions.sheet(world, level, hard_questions.EMPTY)
    executor = OxigraphExecutor()
    for number in range(12):
        question = sheet[number]
        rows = executor.results(question.query, graphs.text(world.name), questions.PREFIXES).rows
        named = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+(?: [A-Z][a-z]+)*", question.words)

        assert rows == () or [parse_term(row[0]).value for row in rows] == ["0"]
        assert set(named) <= labels


def test_giving_up():
    """Giving up is right only if a question is unanswerable; a query then scores 0."""
    module, executor = catalogue.module(WORLD), OxigraphExecutor()
    found = cases(f"{WORLD}-natural-2-tools", 40)
    by_kind = {kind_of(case): case for case in found}
    answerable, hopeless = by_kind["answered"], by_kind["unanswerable"]
    cancel = '```json\n{"tool": "cancel", "arguments": {"reason": "no"}}\n```'
    query = '```json\n{"tool": "answer", "arguments": {"sparql": "SELECT ?x { }"}}\n```'
    told = {
        (case.uid, answer): module.judge(case, [answer], executor).scores
        for case in (answerable, hopeless)
        for answer in (cancel, query)
    }
    wrongly, rightly = told[answerable.uid, cancel], told[hopeless.uid, cancel]

    assert (wrongly["f1"], wrongly["cancelledWrongly"], wrongly["cancelledRightly"]) == (0, 1, 0)
    assert (rightly["f1"], rightly["cancelledWrongly"], rightly["cancelledRightly"]) == (1, 0, 1)
    assert (told[hopeless.uid, query]["f1"], told[hopeless.uid, query]["answered"]) == (0, 1)


@pytest.mark.parametrize(
    "said",
    [
        GIVE_UP,
        f"```\n{GIVE_UP}\n```",
        f"```sparql\n{GIVE_UP}\n```",
        f"~~~\n{GIVE_UP}\n~~~",
        f"The graph has no such thing.\n\n```text\r\n{GIVE_UP}\r\n```\r\n",
        f"```{GIVE_UP}```",
        f"{GIVE_UP}.",
    ],
)
def test_giving_up_without_tools(said):
    """A model without tools gives up with one word, fenced or not."""
    module, executor = catalogue.module(WORLD), OxigraphExecutor()
    found = cases(f"{WORLD}-natural-2-schema", 1, unanswerable=100, empty=0)
    scores = module.judge(found[0], [said], executor).scores

    assert (scores["f1"], scores["cancelledRightly"]) == (1.0, 1.0)
    for other in (f"I would not {GIVE_UP}", f"```sparql\n# {GIVE_UP}\nSELECT * {{}}\n```"):
        assert module.judge(found[0], [other], executor).scores["f1"] == 0.0
