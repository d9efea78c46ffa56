# SPDX-License-Identifier: Apache-2.0
"""Questions about generated worlds: a query that misreads a part of the question is wrong."""

from __future__ import annotations

import re

import pytest

from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from kgbench.worlds import generator, misreadings, questions
from tests.support.families import cases

FAMILIES = ("Text2SparqlWorld", "Text2ConstructWorld", "Text2UpdateWorld")
LEVELS = range(1, questions.LEVELS + 1)
LABELS = [f"{name}-{n}-{k}" for name in FAMILIES for n in ("natural", "opaque") for k in LEVELS]
SEEDS = (3, 20)
PATH = r"(/w:\w+)\*/"
VALUES = r'VALUES (\?\w+) \{ "([^"]*)" "([^"]*)" \}'
UNION = r"\{ (\?[xy] w:[^{}]*) \} UNION \{ (\?[xy] w:[^{}]*) \}"
# What a thing need not have.
PERHAPS = r"(?:OPTIONAL|NOT EXISTS) \{[^{}]*\}|\{[^{}]*\} UNION \{[^{}]*\}"
# What a query has, and a query that misreads this part of the question instead.
MISREADINGS = {
    "path of no step": (PATH, "/"),
    "path of one step": (PATH, r"\1/"),
    "path of at most one step": (PATH, r"\1?/"),
    "path of at least one step": (PATH, r"\1+/"),
    "first value only": (VALUES, r'VALUES \1 { "\2" }'),
    "second value only": (VALUES, r'VALUES \1 { "\3" }'),
    "first alternative only": (UNION, r"\1"),
    "second alternative only": (UNION, r"\2"),
    "strict bound": (r"([<>])=(?= )", r"\1"),
    "year of a date": (r'(\?\w+) ([<>]=) "(\d{4})-\d\d-\d\d"\^\^xsd:date', r"YEAR(\1) \2 \3"),
    "text of a number": (r"(\?\w+) ([<>]=) (\d+)(?=\))", r'STR(\1) \2 "\3"'),
    "count of all": (r"COUNT\(DISTINCT (\?\w+)\)(?= AS)", r"COUNT(\1)"),
    "any language": (r' FILTER\(LANG\(\?\w+\) = "\w+"\)', ""),
    "any number of links": (r" HAVING \(COUNT\(DISTINCT \?\w+\) >= \d+\)", ""),
    "whole order": (r"\nLIMIT \d", ""),
    "value demanded": ("OPTIONAL", ""),
    "value left out": (r"OPTIONAL \{[^{}]*\}", ""),
    "subjects only": (r" UNION \{ \?s \?p \?x [^{}]*\}", ""),
    "any partner": (r"\{ SELECT DISTINCT \?y WHERE \{\n .*?\} \}\n(?=  \?y)", ""),
}


def test_names_bounds_and_counts_are_misread():
    """Each name and bound is misread alone, and no count in HAVING."""
    text = (
        'SELECT (COUNT(DISTINCT ?x) AS ?n) { FILTER(?v >= 12) FILTER(?w <= "2001-02-03"^^xsd:date)'
        " } HAVING (COUNT(DISTINCT ?y) >= 2)"
    )
    texts, years = misreadings.of_another_type(text)
    (counts,) = misreadings.of_counts(text)

    assert [one.count("=") for one in misreadings.exclusive(text)] == [2, 2, 2]
    assert 'FILTER(STR(?v) >= "12") FILTER(?w <=' in texts
    assert "FILTER(?v >= 12) FILTER(YEAR(?w) <= 2001)" in years
    assert [len(one) < len(text) for one in misreadings.of_any_value(text)] == [True, True]
    assert [*misreadings.of_any_value('?x w:p/rdfs:label "A" .')] == ["?x w:p/rdfs:label ?any ."]
    assert counts == text.replace("DISTINCT ?x", "?x")


def wrong_queries(case):
    """Yield the query of a case with each misreading, and the name of the misreading."""
    query, world = case.data["refSparql"], generator.world_of_name(case.data["graphName"])
    graph = generator.build_graph(world)
    terms = {
        prop: f"w:{graph.terms[prop.iri].rpartition('/')[2]}" for prop in graph.model.properties
    }
    (step,) = (re.escape(term) for prop, term in terms.items() if prop.transitive)
    known = {**MISREADINGS, "link over others": (rf"(?<=\?[xy] )({step})/", r"\1+/")}
    if case.parameters["level"] == questions.LEVELS:  # too few things to tell them apart
        del known["year of a date"], known["text of a number"]
    for name, (part, other) in known.items():
        text = re.sub(part, other, query, flags=re.DOTALL)
        if text != query:
            yield name, text
    yield from (("any value", text) for text in misreadings.of_any_value(query))
    yield from without_class(query, graph, terms)


def without_class(query, graph, terms):
    """Yield a query about the class above, if no property of the query belongs to the class."""
    kinds = {f"w:{graph.terms[iri].rpartition('/')[2]}": iri for iri in graph.model.kinds}
    stated = re.search(r"rdf:type (w:\w+) \.", query)
    parent = stated and graph.model.kinds[kinds[stated[1]]].parent
    needed = re.sub(PERHAPS, "", query.partition("WHERE")[2])
    used = set(re.findall(r"w:\w+", needed))
    own = {term for prop, term in terms.items() if stated and prop.domain == kinds[stated[1]]}
    if parent and not own & used:
        above = f"rdf:type/rdfs:subClassOf* w:{graph.terms[parent].rpartition('/')[2]} ."
        yield "class above", query.replace(stated[0], above)


def queries_that_are_right(label, seed, count):
    """Return the misread queries of cases that score 1, with questions and misreadings."""
    module, executor = catalogue.module(label.partition("-")[0]), PlainExecutor()
    right = []
    for case in cases(label, count, seed):
        for name, text in wrong_queries(case):
            verdict = module.judge(case, [f"```sparql\n{text}\n```"], executor)
            if verdict.scores["exact"] == 1:
                right.append((name, case.data["question"], text))
    return right


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("label", LABELS)
def test_misread_questions_have_other_results(label, seed):
    """A query that misreads one part of a question does not have the right result."""
    assert not queries_that_are_right(label, seed, 6)


@pytest.mark.parametrize("label", LABELS)
def test_a_hundred_misread_questions_of_each_level(label):
    """The same holds for a hundred questions of each level."""
    assert not queries_that_are_right(label, 7, 100)


def test_all_misreadings_occur():
    """The tests of this file misread every part that they know."""
    met = {
        name
        for family in FAMILIES
        for level in LEVELS
        for case in cases(f"{family}-natural-{level}", 60)
        for name, _ in wrong_queries(case)
    }

    assert met == {*MISREADINGS, "link over others", "any value", "class above"}
