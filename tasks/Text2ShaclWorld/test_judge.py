# SPDX-License-Identifier: Apache-2.0
"""Shapes for rules about generated worlds: judged by conforming and violating graphs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pyoxigraph as ox
import pytest

from kgbench.api import OWL, RDFS, Outcome, TaskError, World
from kgbench.families.Text2ShaclWorld import cases as trials
from kgbench.families.Text2ShaclWorld import judge
from kgbench.worlds import generator, shape_cases
from tests.support import families, pyshacl_oracle
from tests.support.families import cases, fenced

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, shape_cases.LEVELS + 1)
WORLD = World("0123456789abcdef", 400)


def judged(case, shapes):
    """Return the verdict on an answer."""
    return families.judged(case, fenced(shapes))


@pytest.mark.parametrize("level", LEVELS)
def test_mutants_break_one_constraint_each(level):
    """Each mutant breaks one component in both engines, and every rule is broken by some graph."""
    draw = trials.assignments(WORLD, level)[0]
    rules = shape_cases.rule_set_of_draw(WORLD, level, draw)
    graphs = trials.trial_graphs(WORLD, level, draw)
    found = [{one.component for one in rules.shapes.findings(graph.triples)} for graph in graphs]

    assert found == [{graph.broken} if graph.broken else set() for graph in graphs]
    assert [graph.broken is None for graph in graphs].count(True) >= trials.LEAST
    assert {graph.broken for graph in graphs} == {None, *(rule.component for rule in rules.rules)}
    oracle = pyshacl_oracle.parsed(rules.text)
    for graph, components in zip(graphs, found, strict=True):
        assert {one.component for one in oracle.findings(graph.triples)} == components


@pytest.mark.parametrize("level", LEVELS)
def test_engines_agree_about_generated_shapes(level):
    """The engine of kgbench and pySHACL report the same nodes and components."""
    world, tried = World("31", 120), 0
    for draw in range(20):
        rules = shape_cases.rule_set_of_draw(world, level, draw)
        if rules is None:
            continue
        oracle = pyshacl_oracle.parsed(rules.text)
        for graph in trials.trial_graphs(world, level, draw)[:10]:
            own, by_pyshacl = (
                Counter(finding.pair for finding in findings(graph.triples))
                for findings in (rules.shapes.findings, oracle.findings)
            )
            assert set(own) == set(by_pyshacl), rules.text
            tried += 1
    assert tried >= 20


@pytest.mark.parametrize("level", LEVELS)
def test_shapes_without_a_rule_let_its_mutants_through(level):
    """A missing rule lowers the score, and that of its component."""
    case = cases(f"{NAME}-natural-{level}", 1)[0]
    world = World(case.data["graphName"].split("-")[-1], 400)
    rules = shape_cases.rule_set_of_draw(world, level, case.data["draw"]).rules
    for left_out in rules:
        kept = [rule for rule in rules if rule is not left_out]
        head = case.data["refShapes"].partition("\n\n")[0]
        text = f"{head}\n{shape_cases.turtle(kept)}"
        verdict = judged(case, text)
        accuracy = verdict.infos["balancedAccuracyByComponent"]
        assert verdict.scores["accepted"] == 1.0
        assert verdict.scores["informedness"] < 1.0, left_out.words
        assert accuracy[left_out.component] == min(accuracy.values()) < 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_demands_of_the_schema_alone_are_too_much(level):
    """Shapes that also demand what only the schema says refuse graphs that keep to the rules."""
    for case in cases(f"{NAME}-natural-{level}", 3):
        schema = family.prompt(case).split("```turtle\n")[1].split("```")[0]
        triples = [quad.triple for quad in ox.parse(schema, ox.RdfFormat.TURTLE)]
        links = {one.subject for one in triples if one.object == ox.NamedNode(OWL.ObjectProperty)}
        demands = []
        for prop, predicate, value in triples:
            target = f"[] a sh:NodeShape ; sh:target{{}}Of {prop} ;"
            if value == ox.NamedNode(OWL.FunctionalProperty):
                once = f"sh:property [ sh:path {prop} ; sh:maxCount 1 ] ."
                demands.append(f"{target.format('Subjects')} {once}")
            elif predicate.value == RDFS.domain:
                demands.append(f"{target.format('Subjects')} sh:class {value} .")
            elif predicate.value == RDFS.range:
                kind = "class" if prop in links else "datatype"
                demands.append(f"{target.format('Objects')} sh:{kind} {value} .")
        shapes = "\n".join([case.data["refShapes"], *demands])
        scores = judged(case, shapes).scores

        assert (scores["refused"], scores["accepted"] < 0.95) == (1.0, True)


#: Changes of reference shapes: a level whose rules have the pattern, and its replacement.
CHANGED = {
    "broad target": (1, "targetClass w:(Device|Publication)", "targetClass w:Product"),
    "narrow target": (1, "targetClass w:Product", "targetClass w:Device"),
    "direct type": (
        1,
        r"sh:class (w:\w+)",
        r"sh:property [ sh:path rdf:type ; sh:hasValue \1 ]",
    ),
    "no class": (1, r"sh:class w:\w+", "sh:nodeKind sh:BlankNodeOrIRI"),
    "node kind": (2, "sh:nodeKind sh:IRI", "sh:nodeKind sh:BlankNodeOrIRI"),
    "more languages": (3, r"sh:languageIn \(", 'sh:languageIn ( "it"'),
    "no property": (3, r"rdfs:label w:\w+", "rdfs:label"),
    "only one": (4, "sh:or ", "sh:xone "),
    "both": (4, "sh:xone ", "sh:or "),
}


@pytest.mark.parametrize("name", CHANGED)
def test_shapes_that_say_something_else_are_noticed(name):
    """Shapes with one change do not keep the full score."""
    level, pattern, replacement = CHANGED[name]
    case = cases(f"{NAME}-natural-{level}", 1)[0]
    world = generator.world_of_name(case.data["graphName"])
    for draw in range(1, 400):
        rules = shape_cases.rule_set_of_draw(world, level, draw)
        # A closed shape also permits the paths of its property shapes.
        if rules is None or (name == "no property" and "sh:path" in rules.text.split("closed")[-1]):
            continue
        changed = re.sub(pattern, replacement, rules.text, count=1)
        if changed != rules.text and trials.trial_graphs(world, level, draw):
            drawn = replace(case, data={**case.data, "draw": draw})
            scores = judged(drawn, changed).scores
            assert (scores["wellFormed"], scores["informedness"] < 1) == (1.0, True), changed
            return
    raise AssertionError(f"no shapes have the pattern {pattern}")


SHAPES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix w: <https://w3id.org/kgbench/world/> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
)
START = "[] a sh:NodeShape ; sh:targetSubjectsOf rdfs:label"


@pytest.mark.parametrize(
    ("shapes", "outcome", "named", "feedback"),
    [
        (
            "[] a sh:NodeShape ; sh:targetSubjectsOf rdfs:label ; sh:maxLength 0 .",
            1,
            "everything",
            0,
        ),
        (
            "[] a sh:NodeShape ; sh:targetSubjectsOf rdfs:label ; sh:nodeKind sh:IRI .",
            1,
            "nothing",
            0,
        ),
        ("[] a sh:NodeShape ; sh:nodeKind sh:IRI .", 1, "nothing", "content"),
        ("", 1, "nothing", "content"),
        ("[] a sh:NodeShape ; sh:targetClass w:person ; sh:maxCount 0 .", 0, None, "content"),
        (
            "[] a sh:NodeShape ; sh:targetClass w:No ; sh:nodeKind sh:IRI .",
            1,
            "nothing",
            "content",
        ),
        ("[] a sh:NodeShape ; sh:target [ sh:select 'SELECT ?this {}' ] .", 0, None, "content"),
        ("[] a sh:NodeShape ; sh:targetClass w:Person ; sh:minCount 1 .", 0, None, "content"),
        ("w:s a sh:NodeShape ; sh:targetClass w:Person ; sh:not w:s .", 0, None, "content"),
        ("[] a sh:NodeShape ; sh:targetClass w:Person ; sh:pattern '(' .", 0, None, "content"),
        ("[] a sh:NodeShape", 0, None, "syntax"),
    ],
)
def test_shapes_of_no_use_are_named(shapes, outcome, named, feedback):
    """Shapes that refuse everything or nothing are named; unusable shapes have a reason."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, SHAPES + shapes)

    assert verdict.outcome == (Outcome.SCORED if outcome else Outcome.UNPARSABLE)
    assert verdict.scores["informedness"] == 0
    assert verdict.scores["balancedAccuracy"] == (0.5 if outcome else 0)
    assert verdict.infos.get("shapesOutcome") == (named and f"refuses-{named}")
    assert (verdict.feedback or 0) == feedback
    if feedback == "content" and not outcome:
        assert verdict.infos["shapesError"] in verdict.next_prompt


def test_a_rule_in_sparql_is_as_good():
    """A rule in SPARQL is as good as one in SHACL Core."""
    alone = re.compile(r"\[ sh:path (w:\w+) ; sh:minCount 1 \]")
    found = cases(f"{NAME}-natural-1", 60)
    case = next(one for one in found if alone.search(one.data["refShapes"]))
    path = alone.search(case.data["refShapes"])[1]
    target = re.search(r"targetClass (w:\w+)", case.data["refShapes"])[1]
    text = alone.sub("[ sh:path \\1 ]", case.data["refShapes"], count=1)
    text += (
        f"\ns:More a sh:NodeShape ; sh:targetClass {target} ; sh:sparql [ sh:select "
        f'"""PREFIX w: <https://w3id.org/kgbench/world/> SELECT $this WHERE '
        f'{{ FILTER NOT EXISTS {{ $this {path} ?v }} }}""" ] .'
    )
    verdict = judged(case, text)

    assert verdict.scores["informedness"] == 1.0


def test_what_a_world_has_not_is_refused(monkeypatch):
    """A world that gives no more rules is named."""
    monkeypatch.setattr(trials, "rule_set_of_draw", lambda *_: None)
    with pytest.raises(TaskError, match="gives no more rules of level 5: ask for fewer cases"):
        trials.Assignments(WORLD, 5)[0]
