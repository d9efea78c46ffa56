# SPDX-License-Identifier: Apache-2.0
"""Questions with tools about a world: the kinds of questions, and giving up.

What these share with questions about other graphs is tested in ``test_worlds.py``.
"""

from __future__ import annotations

import re

import pytest

from kgbench.errors import TaskError
from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.families.Text2SparqlToolsWorld.cases import (
    EMPTY,
    SHEETS,
    UNANSWERABLE,
    UNKNOWN_PROPERTY,
    UNKNOWN_THING,
)
from kgbench.families.Text2SparqlToolsWorld.judge import family
from kgbench.plugins.agents.graph_questions import GIVE_UP
from kgbench.policies.values import parse_term
from kgbench.tasks import catalogue, graphs
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import absent_properties, load_model
from tests.support.tool_play import cases

FIRST = f"{family.NAME}-natural-1-tools"


def kind_of(case):
    """Return the kind of a question."""
    return case.uid.split("-")[-2]


def test_baselines_without_tools():
    """Without tools, the best answer is a query in a fenced block, or giving up."""
    executor = OxigraphExecutor()
    for case in cases(f"{family.NAME}-natural-1-schema", 20):
        verdict = family.judge(case, [family.reference(case)], executor)
        assert verdict.scores["f1"] == 1.0
        assert "toolCalls" not in verdict.scores


def test_questions_of_each_kind_occur_as_often_as_asked():
    """The shares of empty and unanswerable questions are about those of the parameters."""
    found = cases(FIRST, 400, empty=25, unanswerable=50)
    of = [kind_of(case) for case in found]

    shares = [of.count(kind) / len(of) for kind in SHEETS]
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.08)
    assert {kind_of(case) for case in cases(FIRST, 30, empty=0, unanswerable=0)} == {"answered"}
    assert {kind_of(case) for case in cases(FIRST, 9, empty=100, unanswerable=0)} == {"empty"}
    task = catalogue.make_task(family.NAME, "much", {"empty": 60, "unanswerable": 41})
    with pytest.raises(TaskError, match="together more than 100 percent"):
        catalogue.check(task)


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", range(1, 6))
def test_what_is_unanswerable(names, level):
    """An unanswerable question names a property or a thing that is not in the graph."""
    world = World("q", 400, names)
    text = generator.text(world)
    labels = set(re.findall(r'rdf-schema#label> "([^"]*)"', text))
    unknown = {each.phrase or each.label for each in absent_properties()}
    sheet = questions.sheet(world, level, SHEETS[UNANSWERABLE])
    lacks = set()
    for number in range(25):
        question = sheet[number]
        named = re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+", question.words)
        lacks.update(question.features)
        if question.features == (UNKNOWN_PROPERTY,):
            assert any(each in question.words for each in unknown)
        else:
            assert any(name not in labels for name in named), question.words
        assert question.query == ""

    assert lacks == {UNKNOWN_PROPERTY, UNKNOWN_THING}
    known = {each.label for each in load_model().properties}
    assert not known & {each.label for each in absent_properties()}


@pytest.mark.parametrize("level", range(1, 6))
def test_what_is_empty(level):
    """An empty question names only things of the graph, and its query finds nothing."""
    world = World("q", 400)
    labels = set(re.findall(r'rdf-schema#label> "([^"]*)"', generator.text(world)))
    sheet = questions.sheet(world, level, SHEETS[EMPTY])
    executor = OxigraphExecutor()
    for number in range(12):
        question = sheet[number]
        rows = executor.results(question.query, graphs.text(world.name), questions.PREFIXES).rows
        named = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+(?: [A-Z][a-z]+)*", question.words)

        assert rows == () or [parse_term(row[0]).value for row in rows] == ["0"]
        assert set(named) <= labels


def test_giving_up():
    """Giving up is right only if a question is unanswerable; a query then scores 0."""
    executor = OxigraphExecutor()
    found = cases(f"{family.NAME}-natural-2-tools", 40)
    by_kind = {kind_of(case): case for case in found}
    answerable, hopeless = by_kind["answered"], by_kind["unanswerable"]
    cancel = '```json\n{"tool": "cancel", "arguments": {"reason": "no"}}\n```'
    query = '```json\n{"tool": "answer", "arguments": {"sparql": "SELECT ?x { }"}}\n```'
    told = {
        (case.uid, answer): family.judge(case, [answer], executor).scores
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
    executor = OxigraphExecutor()
    found = cases(f"{family.NAME}-natural-2-schema", 1, unanswerable=100, empty=0)
    scores = family.judge(found[0], [said], executor).scores

    assert (scores["f1"], scores["cancelledRightly"]) == (1.0, 1.0)
    for other in (f"I would not {GIVE_UP}", f"```sparql\n# {GIVE_UP}\nSELECT * {{}}\n```"):
        assert family.judge(found[0], [other], executor).scores["f1"] == 0.0
