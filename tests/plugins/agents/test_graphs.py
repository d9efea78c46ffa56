# SPDX-License-Identifier: Apache-2.0
"""Tools over a graph: the label index, CONSTRUCT, schemas, limits and shared graphs."""

from __future__ import annotations

import time

import pyoxigraph as ox
import pytest

from kgbench.execution.engines import engine
from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.plugins.agents import graph_questions, graph_tools
from kgbench.plugins.agents.label_index import LabelIndex, words
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolCall, ToolOutcome, ToolResult, ToolUse
from kgbench.tools import wording
from tests.support.tool_play import NOW, cases

EX = "http://example.org/"
GRAPH = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:City rdfs:subClassOf :Place . :Place rdfs:label "place"@en . :Unused a owl:Class .
:mayor a owl:ObjectProperty ; rdfs:label "mayor"@en .
:zurich a :City ; rdfs:label "Zürich", "Zurich (ZH)" ; :lake [ :depth 136 ] .
:cafe%20Central a :City ; rdfs:label "two\\nlines" . :bern a :City ; :near :zurich .
[] :depth 1 .
"""


def used(name, graph=GRAPH, executor=None, **given):
    """Return the result of a tool over a graph."""
    return graph_tools.use(name, given, graph, {"": EX}, executor or OxigraphExecutor())


def index(graph=GRAPH):
    """Return the index of a graph."""
    return LabelIndex(quad.triple for quad in ox.parse(graph, ox.RdfFormat.TURTLE))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("zurich", ["zurich"]),
        ("ZÜRICH", ["zurich"]),
        ("central lines", ["cafe%20Central"]),
        ("cafe", ["cafe%20Central"]),
        ("", []),
        ("' OR 1=1 --", []),
        ("whale" * 20_000, []),
    ],
)
def test_words_find_resources(text, found):
    """The search ignores case, accents and percent-encoding; other texts find nothing."""
    assert [one.iri.removeprefix(EX) for one in index().search(text, None, 9)[0]] == found


def test_kinds_of_resources():
    """Each resource is recognised as a class, a property or an entity."""
    made = index()
    kinds = {
        name: made.search(name, None, 9)[0][0].kinds
        for name in ("city", "place", "unused", "mayor", "near", "bern")
    }

    assert kinds == {
        "city": ("class",),
        "place": ("class",),
        "unused": ("class",),
        "mayor": ("property",),
        "near": ("property",),
        "bern": ("entity",),
    }
    assert made.search("mayor", "entity", 9) == ([], 0)


def test_results_say_how_many_there_are():
    """The total number of results is known despite a limit, and ties are ordered by IRI."""
    lines = "".join(f'<{EX}{k:02}> <{EX}name> "same name" .\n' for k in range(30))
    found, number = index(lines).search("name same", "entity", 3)

    assert [one.iri for one in found] == [f"{EX}{k:02}" for k in range(3)]
    assert number == 30


def test_hostile_text_is_searched_for_in_time():
    """A search text of a million words is as fast as one of a few words."""
    started = time.process_time()
    index().search(" ".join(f"w{k}" for k in range(300_000)), None, 9)
    words(["aB" * 500_000, "ä" * 500_000])

    assert time.process_time() - started < 30


@pytest.mark.parametrize("name", ["oxigraph", "rdflib"])
def test_construct(name):
    """CONSTRUCT returns its triples in one order for all engines, with blank nodes numbered."""
    executor = engine(name)
    query = "CONSTRUCT { ?x :of ?y . [] :is ?x } WHERE { ?x a :City ; :near ?y }"
    found = used("query", executor=executor, sparql=query)

    assert found.outcome is ToolOutcome.OK
    assert found.text.split("\n") == [
        "subject | predicate | object",
        f"<{EX}bern> | <{EX}of> | <{EX}zurich>",
        f"_:b0 | <{EX}is> | <{EX}bern>",
    ]
    nothing = used("query", executor=executor, sparql="CONSTRUCT WHERE { ?x :far ?y }")
    assert nothing.outcome is ToolOutcome.EMPTY
    every = "CONSTRUCT WHERE { ?s ?p ?o }"
    assert len(executor.explore(every, GRAPH, {}).rows) == 15
    repeated = "CONSTRUCT { :a :b :c } WHERE { ?x a :City }"
    assert len(executor.explore(repeated, GRAPH, {"": EX}).rows) == 1
    for refused in ("DESCRIBE <http://x/>", f"{every} ; DROP ALL", "CLEAR ALL"):
        assert used("query", executor=executor, sparql=refused).text.startswith("error: ")
    assert executor.results(every, GRAPH, {}).refused


def test_triples_are_capped_and_said_so():
    """Of a CONSTRUCT with many triples, the first are shown with the number of the others."""
    lines = "".join(f"<{EX}{k:03}> <{EX}p> <{EX}o> .\n" for k in range(100))
    found = used("query", lines, sparql="CONSTRUCT WHERE { ?s ?p ?o }")

    assert found.outcome is ToolOutcome.TRUNCATED
    assert found.text.count("\n") == graph_tools.ROWS + 1
    assert found.text.endswith("(70 more are not shown)")


def test_long_results_are_cut():
    """Long values, many columns and large schemas do not exceed the limit of a result."""
    lines = "".join(
        f'<{EX}{k:03}> a <{EX}{"C" * 900}{k}> ; <{EX}p> "{"x" * 5_000}" .\n' for k in range(100)
    )
    wide = " ".join(f"(?o AS ?v{k})" for k in range(300))
    wide = f"SELECT {wide} {{ ?s <{EX}p> ?o }}"
    for found in (
        used("schema", lines),
        used("query", lines, sparql=wide),
        used("describe", lines, iri=f"{EX}p"),
        used("search", lines, text="p"),
    ):
        assert len(found.text) < 50_000
    assert used("schema", lines).outcome is ToolOutcome.TRUNCATED


def test_only_a_query_that_orders_keeps_its_order():
    """ORDER BY in a string, an IRI or a comment does not order the rows."""
    plain = "SELECT ?x { ?x a :City }"
    rows = used("query", sparql=plain).text
    for spoken in ('FILTER("ORDER BY" != "a")', "# ORDER BY\n", "FILTER(?x != <urn:ORDER-BY>)"):
        assert used("query", sparql=plain.replace("}", f"{spoken} }}")).text == rows
    turned = used("query", sparql=f"{plain} order  by DESC(?x)").text
    assert turned.split("\n")[1:] == rows.split("\n")[:0:-1]


def test_a_hub_is_described_in_part():
    """A resource with very many statements is described in part, with a note."""
    lines = "".join(f"<{EX}{k}> <{EX}of> <{EX}hub> .\n" for k in range(6_000))
    found = used("describe", lines, iri=f"{EX}hub", limit=2)

    assert found.outcome is ToolOutcome.TRUNCATED
    assert found.text.endswith("(at least 4998 more are not shown)")


def test_schema_counts():
    """Classes, properties and triples are counted, blank nodes are followed, and VoID agrees."""
    text = used("schema").text
    void = used("schema", format="void").text
    store = ox.Store()
    store.load(void.encode(), ox.RdfFormat.TURTLE)
    rows = store.query(
        "PREFIX void: <http://rdfs.org/ns/void#> SELECT ?triples ?cities ?near { "
        "?d void:triples ?triples ; void:classPartition [ void:class <http://example.org/City> ; "
        "void:entities ?cities ] ; void:propertyPartition [ void:property <http://example.org/near>"
        " ; void:triples ?near ] }"
    )

    assert [[int(term.value) for term in row] for row in rows] == [[15, 3, 1]]
    assert "City (instances: 3)" in text
    assert "near (triples: 1) -> ns1:City" in text
    assert "rdfs:label (triples: 3) -> xsd:string" in text
    assert "mayor" in used("schema", GRAPH + ":bern a :City ; :mayor :x .").text


def test_a_graph_is_loaded_once_for_all_dialogues(monkeypatch):
    """Dialogues about one graph share its store, its index and its numbers."""
    loads, indexes = [], []

    def loading(graph, original=OxigraphExecutor._loaded):
        loads.append(len(graph.text))
        return original(graph)

    def indexing(triples):
        indexes.append(1)
        return LabelIndex(triples)

    monkeypatch.setattr(OxigraphExecutor, "_loaded", staticmethod(loading))
    monkeypatch.setattr(graph_tools, "LabelIndex", indexing)
    monkeypatch.setattr(graph_tools, "_graphs", type(graph_tools._graphs)())
    executor = OxigraphExecutor()
    for label in ("Text2SparqlToolsWorld-natural-1-tools", "Text2SparqlToolsEconomy-tools"):
        module = catalogue.module(catalogue.labelled_tasks()[label].task_class)
        loads.clear()
        indexes.clear()
        for case in cases(label, 6):
            module.use(case, "query", {"sparql": "SELECT ?x { ?x a ?y }"}, executor)
            module.use(case, "search", {"text": "Person"}, executor)
            module.use(case, "schema", {}, executor)
            module.judge(case, [module.reference(case)], executor)

        assert (len(loads), len(indexes)) == (1, 1), label


def used_calls(*made):
    """Return the prompts and answers of a dialogue with these calls and results."""
    prompts = ["Question\nSchema:\nPREFIX e: <http://e/>\ne:shown (instances: 1)\nLeft: 9."]
    answers = []
    for name, arguments, text, outcome in made:
        call = ToolCall(name, arguments)
        answers.append(wording.with_calls("", [call]))
        result = ToolResult(text, outcome)
        prompts.append(wording.results_prompt([ToolUse(call, result, NOW, NOW)], "Left: 8."))
    return prompts, [*answers, "the answer"]


def test_how_tools_were_used():
    """Calls are counted by tool and outcome; an IRI is grounded by results, shown by prompts."""
    prompts, answers = used_calls(
        ("search", '{"text": "a"}', "<http://e/found> (entity): a", ToolOutcome.OK),
        ("search", '{"text": "a"}', "<http://e/found> (entity): a", ToolOutcome.OK),
        ("query", '{"sparql": "x"}', "error: no", ToolOutcome.ERROR),
        ("query", '{"sparql": "y"}', "x\n(no rows)", ToolOutcome.EMPTY),
        ("describe", "{}", "PREFIX f: <http://f/> f:told", ToolOutcome.TRUNCATED),
    )
    query = (
        "PREFIX e: <http://e/> SELECT ?x { ?x a e:shown ; rdfs:label 'e:text' ; e:invented "
        "<http://e/found> , <http://f/told> }"
    )
    scores = graph_questions.tool_usage(prompts, answers, query, {})

    assert scores == {
        "toolCalls": 5.0,
        "searchCalls": 2.0,
        "describeCalls": 1.0,
        "schemaCalls": 0.0,
        "queryCalls": 2.0,
        "toolErrors": 1.0,
        "toolEmpties": 1.0,
        "toolRepeats": 1.0,
        "grounded": 0.5,
        "shown": 0.75,
    }
    standard = graph_questions.tool_usage(prompts, answers, "SELECT ?x { ?x a ?y }", {})
    assert not {"grounded", "shown"} & standard.keys()


@pytest.mark.parametrize(
    ("note", "answer", "over"),
    [
        ("Left: 1 of 9 tool calls.", "I do not know", False),
        ("No tool call is left: answer or give up now.", "I do not know", True),
        ("No tool call is left: answer or give up now.", " ", False),
    ],
)
def test_when_a_dialogue_is_out_of_budget(note, answer, over):
    """A last answer without a query is out of budget only if no call was left."""
    assert graph_questions.is_out_of_budget(["Left: 9.", note], answer) is over


def test_hostile_queries_are_read_in_time():
    """The names in a query are found in time linear in its length."""
    started = time.process_time()
    for hostile in ("a-" * 100_000, "PREFIX " * 50_000, "<" * 200_000, "a:" * 100_000):
        graph_questions.tool_usage(["Left"], [hostile], hostile, {})
        used("query", sparql=hostile[:20_000])

    assert time.process_time() - started < 60
