# SPDX-License-Identifier: Apache-2.0
"""Generated worlds: reproducible, as declared, with questions that have one right answer."""

from __future__ import annotations

from itertools import islice

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib

from kgbench import resources
from kgbench.errors import EvaluationError, TaskError
from kgbench.tasks import catalogue, graphs
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import generator, questions
from kgbench.worlds.clauses import KINDS
from kgbench.worlds.generator import World
from tests.support.families import cases

NAME = "Text2SparqlWorld"
WORLD = World("0123456789abcdef", 200)
LABELS = [
    f"{NAME}-{names}-{level}"
    for names in ("natural", "opaque")
    for level in range(1, questions.LEVELS + 1)
]


def test_another_seed_gives_another_world():
    """The worlds of two seeds have nothing in common but the schema."""
    first, second = (set(generator.text(World(seed, 200)).splitlines()) for seed in "ab")

    assert first & second == set(generator.schema(generator.build_graph(WORLD)))


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_worlds_keep_to_their_shapes(seed):
    """Numbers of values, classes, datatypes, bounds and languages are as declared."""
    model = resources.path("tasks", "world", "model.ttl").read_text(encoding="utf-8")
    shapes = rdflib.Graph().parse(data=model, format="turtle")
    data = rdflib.Graph().parse(data=generator.text(World(seed, 300)), format="nt")
    conforms, _, said = pyshacl.validate(data, shacl_graph=shapes)

    assert conforms, said


def test_links_that_go_on_never_come_back():
    """A transitive property has no cycles, so that "directly or over others" is unambiguous."""
    graph = generator.build_graph(World("a", 2_000))
    (part_of,) = (one.iri for one in graph.model.properties if one.transitive)
    longest = 0
    for start in graph.instances_of(
        next(p.domain for p in graph.model.properties if p.iri == part_of)
    ):
        at, steps = start, 0
        while above := at.links.get(part_of):
            (at,), steps = above, steps + 1
            assert steps < 100
        longest = max(longest, steps)

    assert longest >= 2


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_answers(label):
    """A prompt has no value of the expected result, except numbers."""
    module, executor = catalogue.module(NAME), PlainExecutor()
    for case in cases(label, 15):
        rows = executor.results(
            case.data["refSparql"], graphs.text(case.data["graphName"]), questions.PREFIXES
        ).rows
        said = module.prompt(case)
        values = {ox_value(term) for row in rows for term in row if term is not None}
        assert not [v for v in values if not v.isdecimal() and v in said]


def ox_value(term):
    """Return the lexical value of a term as in results."""
    return next(iter(ox.parse(f"<urn:s> <urn:p> {term} .", ox.RdfFormat.N_TRIPLES))).object.value


@pytest.mark.parametrize("level", range(1, questions.LEVELS + 1))
def test_a_query_that_leaves_out_a_condition_is_wrong(level):
    """Each condition matters: a query without one of them is wrong."""
    module, executor = catalogue.module(NAME), PlainExecutor()
    tried = 0
    for case in cases(f"{NAME}-natural-{level}", 10):
        lines = case.data["refSparql"].splitlines()
        if "MAX" in case.data["refSparql"]:  # such a query has every condition twice
            continue
        for number, line in enumerate(lines):
            # Lines that hold one condition each; the class and the selected variables stay.
            if "FILTER" not in line or "SELECT" in line:
                continue
            left = "\n".join(one for k, one in enumerate(lines) if k != number)
            open_, close = line.count("{"), line.count("}")
            if open_ != close:
                continue
            verdict = module.judge(case, [f"```sparql\n{left}\n```"], executor)
            assert verdict.scores["exact"] < 1, (case.data["question"], left)
            tried += 1

    assert tried


def test_all_features_occur():
    """Every clause and form of the generator occurs at some level."""
    met = {
        feature
        for level in range(1, questions.LEVELS + 1)
        for case in cases(f"{NAME}-natural-{level}", 60)
        for feature in case.data["features"]
    }

    assert met >= {*KINDS, "names", "count", "optional", "grouped", "above", "sorted", "total"}
    assert "hierarchy" in met


def test_feedback_says_what_an_engine_can_say():
    """A query that does not parse or finds nothing is asked for again, at most twice."""
    module, executor = catalogue.module(NAME), PlainExecutor()
    (case,) = cases(f"{NAME}-natural-1", 1)
    nothing = "```sparql\nSELECT ?x WHERE { ?x a <urn:nothing> }\n```"
    wrong = "```sparql\nSELECT ?x WHERE { ?x a w:Person }\n```"
    broken = "```sparql\nSELECT ?x WHERE { ?x a \n```"
    verdicts = [module.judge(case, [answer], executor) for answer in (nothing, wrong, broken)]

    assert [verdict.feedback for verdict in verdicts] == ["empty-result", None, "syntax"]
    assert module.judge(case, [broken] * 3, executor).next_prompt is None


def test_keywords_may_be_in_lower_case():
    """A query in lower case is judged, and prose with the word "select" is not taken for one."""
    module, executor = catalogue.module(NAME), PlainExecutor()
    (case,) = cases(f"{NAME}-natural-1", 1)
    query = f"```sparql\n{case.data['refSparql']}\n```"
    prose = "```text\nI select what is asked for.\n```\n"
    for answer in (query, query.replace("SELECT", "select"), prose + query):
        assert module.judge(case, [answer], executor).scores["exact"] == 1, answer


def test_what_a_world_has_not_is_refused():
    """Too many questions, too small worlds and unknown names are refused."""
    sheet = questions.QuestionSheet(World("a", 60), 1)
    with pytest.raises(TaskError, match=r"no more than \d+ questions of level 1: ask for fewer"):
        list(islice(map(sheet.__getitem__, range(100_000)), None))
    with pytest.raises(TaskError, match="too small"):
        generator.build_graph(World("a", 20))
    for name in ("world-0-natural-200-a", "world-1-other-200-a", "world-1-natural-x-a"):
        assert generator.world_of_name(name) is None
        with pytest.raises(EvaluationError, match="there is no graph"):
            graphs.text(name)
    assert generator.world_of_name(WORLD.name) == WORLD
