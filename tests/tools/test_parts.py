# SPDX-License-Identifier: Apache-2.0
"""Parts of tool use: wording and checks of calls, budgets, and results of graph tools."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.execution.judging import JudgeLimits, ToolRequest, answer_batch, end_child
from kgbench.execution.oxigraph import OxigraphExecutor
from kgbench.model import Call, Reply, Task, Turn, Usage
from kgbench.plugins.agents import graph_tools
from kgbench.tasks import catalogue
from kgbench.tool_calls import Tool, ToolCall, ToolOutcome, ToolResult, ToolUse
from kgbench.tools import wording
from kgbench.tools.module import Budget, Spent, budget_of, spent_in

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GRAPH = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:redFox a :Animal ; rdfs:label "Red Fox" ; :eats :mouse ; :seenAt [ :place "wood" ] .
:arcticFox a :Animal ; rdfs:label "Arctic Fox" .
:mouse a :Animal .
[] :hunter :redFox ; :year 2020 .
"""
EX = "http://example.org/"
TOOL = Tool(
    "search",
    "",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "kind": {"type": "string", "enum": ["class"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["text"],
    },
)
names = st.text(min_size=1, max_size=20)


def used(name, **given_arguments):
    """Return the result of a tool over the graph."""
    return graph_tools.use(name, given_arguments, GRAPH, {"": EX}, OxigraphExecutor())


@given(
    st.text().filter(lambda text: "tool_call" not in text),
    st.lists(st.builds(ToolCall, names, st.text(), st.none() | names), min_size=1, max_size=5),
)
def test_native_calls_survive_their_wording(text, calls):
    """Calls and text of a provider are read back unchanged from the recorded answer."""
    said, read = wording.split_calls(wording.with_calls(text, calls))

    assert read == tuple(calls)
    assert said == (text if text.strip() else "")


@given(st.lists(st.tuples(names, st.text(), st.none() | names), max_size=5))
def test_results_survive_their_wording(given_results):
    """Tool results are read back unchanged from the recorded prompt."""
    uses = [
        ToolUse(ToolCall(name, "{}", id_), ToolResult(text), NOW, NOW)
        for name, text, id_ in given_results
    ]
    told, note = wording.split_results(wording.results_prompt(uses, "Left: 3."))

    assert [(one.tool, one.text, one.id) for one in told] == given_results
    assert note == "Left: 3."


@given(st.text(alphabet='`{}[]":, \n\\toljsncargume_') | st.text())
def test_any_answer_can_be_read(answer):
    """Calls can be read from any answer, and each call is complete or has a fault."""
    for call in wording.calls(answer):
        assert call.malformed or call.name or isinstance(call.arguments, str)


@pytest.mark.parametrize(
    ("answer", "name", "malformed"),
    [
        ('```json\n{"tool": "schema"}\n```', "schema", None),
        ('Let me see.\n```\n{"tool": "schema", "arguments": {}}\n```', "schema", None),
        ('{"tool": "schema"}', "schema", None),
        ('```json\n{"tool": "schema"\n```', "", "not JSON"),
        ('```json\n{"name": "schema"}\n```', "", "'tool'"),
        ('```json\n{"tool": "schema", "arguments": []}\n```', "schema", "'arguments'"),
        ('```json\n{"tool": "a"}\n```\n```json\n{"tool": "b"}\n```', "", "one tool at a time"),
        ('```json\n{"tool": ' + "[" * 100_000 + "\n```", "", "not JSON"),
    ],
)
def test_calls_of_the_text_protocol(answer, name, malformed):
    """One JSON object is a call; anything similar is a malformed call with a reason."""
    (call,) = wording.calls(answer)

    assert call.name == name
    assert (call.malformed is None) if malformed is None else (malformed in call.malformed)


def test_a_flood_of_calls_is_cut_off():
    """The calls beyond the limit of one answer become a single malformed call."""
    flood = [ToolCall("schema", "{}", str(k)) for k in range(wording.MOST_CALLS + 9)]
    calls = wording.calls(wording.with_calls("", flood))

    assert len(calls) == wording.MOST_CALLS + 1
    assert calls[-1].malformed


@pytest.mark.parametrize(
    ("given_arguments", "fault"),
    [
        ({"text": "x"}, None),
        ({"text": "x", "limit": 9, "kind": "class"}, None),
        ({}, "needs the argument 'text'"),
        ({"text": 1}, "of the type string"),
        ({"text": "x", "limit": True}, "of the type integer"),
        ({"text": "x", "limit": 0}, "at least 1"),
        ({"text": "x", "limit": 10}, "at most 9"),
        ({"text": "x", "kind": "thing"}, "one of class"),
        ({"text": "x", "more": 1}, "no argument 'more'; it takes text, kind, limit"),
    ],
)
def test_arguments_are_checked(given_arguments, fault):
    """Arguments that do not fit the tool's schema have a message about the fault."""
    found = wording.fault_in(TOOL, given_arguments)

    assert (found is None) if fault is None else (fault in found)


@pytest.mark.parametrize(
    ("calls", "spent", "over"),
    [
        (2, Spent(9, 4.9, Decimal("0.019")), ()),
        (3, Spent(), ("tool calls",)),
        (0, Spent(10), ("tokens",)),
        (0, Spent(0, 5.0), ("seconds",)),
        (0, Spent(0, 0.0, Decimal("0.02")), ("US dollars",)),
        (9, Spent(99, 9.0, Decimal(1)), ("tool calls", "tokens", "seconds", "US dollars")),
    ],
)
def test_each_limit_ends_the_budget(calls, spent, over):
    """Calls, tokens, seconds and dollars each end a budget when they are used up."""
    assert Budget(3, 10, 5.0, Decimal("0.02")).exhausted(calls, spent) == over


def test_the_budget_is_told():
    """A model is told of every limit that is set, and of no other."""
    whole = budget_of({"budgetCalls": 3, "budgetTokens": 10, "budgetDollars": 0.5})

    assert whole.remaining(1, Spent(4, 9.0, Decimal("0.1"))) == (
        "Left: 2 of 3 tool calls, 6 of 10 tokens, 0.4000 of 0.5 US dollars."
    )
    assert budget_of({"budgetCalls": 3, "budgetDollars": 0.0}) == Budget(3)


def test_what_turns_have_spent():
    """Tokens are counted or estimated as a quarter of the characters; batches take no time."""
    counted = Call(NOW, NOW.replace(second=2), Reply("abc", Usage(10, 5)))
    silent = Call(NOW, NOW.replace(second=1), Reply("x" * 20))

    waited = Call(NOW, NOW.replace(hour=9), Reply("abc", Usage(1, 2)), batch="urn:batch")
    turns = [Turn("p" * 20, (counted,)), Turn("p" * 20, (silent,)), Turn("", (waited,))]

    def cost(usage):
        return Decimal(usage.input) + 2 * Decimal(usage.output)

    # 10 + 5, then 43 characters read and 20 written, then 1 + 2
    assert spent_in(turns, cost) == Spent(15 + 10 + 5 + 3, 3.0, Decimal(20 + 20 + 5))


def test_search_ranks_by_shared_words():
    """The result that shares the most words is first; kind and limit are respected."""
    assert used("search", text="the RED fox").text.split("\n") == [
        f"<{EX}redFox> (entity): Red Fox",
        f"<{EX}arcticFox> (entity): Arctic Fox",
    ]
    assert used("search", text="animal", kind="class").text == f"<{EX}Animal> (class)"
    assert used("search", text="eats").text == f"<{EX}eats> (property)"
    assert used("search", text="fox", limit=1).outcome is ToolOutcome.TRUNCATED
    assert used("search", text="whale").outcome is ToolOutcome.EMPTY
    assert "Animal (instances: 3)" in used("schema").text


def test_describe_follows_blank_nodes():
    """A resource is described by its statements, with those of adjacent blank nodes."""
    found = used("describe", iri=f"<{EX}redFox>").text

    assert f"<{EX}redFox> <{EX}eats> <{EX}mouse>" in found
    assert f'<{EX}redFox> <{EX}seenAt> [] [ <{EX}place> "wood" ]' in found
    assert f"[] <{EX}hunter> <{EX}redFox> [ <{EX}year>" in found
    assert used("describe", iri=f"{EX}nothing").outcome is ToolOutcome.EMPTY
    for hostile in ("fox", "http://x/> ?p ?o . <http://x/", ""):
        assert used("describe", iri=hostile).outcome is ToolOutcome.ERROR


def test_query_shows_results_and_errors():
    """Rows are limited with a note, errors are text, and updates are refused."""
    assert used("query", sparql="SELECT ?x { ?x a :Animal }").text.split("\n") == [
        "x",
        *(f"<{EX}{name}>" for name in ("arcticFox", "mouse", "redFox")),
    ]
    assert used("query", sparql="ASK { :mouse a :Animal }").text == "true"
    many = "SELECT ?a ?b ?c { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z }"
    assert used("query", sparql=many).outcome is ToolOutcome.TRUNCATED
    assert used("query", sparql="SELECT ?x { ?x a :Stone }").outcome is ToolOutcome.EMPTY
    assert used("query", sparql="SELECT").outcome is ToolOutcome.ERROR
    for refused in ("DELETE WHERE { ?s ?p ?o }", "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }"):
        assert used("query", sparql=refused).outcome is ToolOutcome.REFUSED


def test_a_query_that_never_ends_is_an_error():
    """A query beyond the time limit is an error that says so; other tools still work."""
    task: Task = catalogue.labelled_tasks()["Text2SparqlToolsOrganizational-tools"]
    (case,) = catalogue.module(task.task_class).cases(task, "kgbench-1", 0, 1)
    endless = (
        "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{k} ?b{k} ?c{k} ." for k in range(9)) + " }"
    )
    asked = [
        ToolRequest(case, ToolCall(name, json.dumps(given_arguments)), given_arguments)
        for name, given_arguments in (
            ("query", {"sparql": endless}),
            ("search", {"text": "Anne"}),
            ("nonsense", {}),
        )
    ]
    try:
        late, found, failed = answer_batch(asked, JudgeLimits(seconds=3.0))
    finally:
        end_child()

    assert late.result.outcome is ToolOutcome.ERROR
    assert "time limit" in late.result.text
    assert found.result.outcome is ToolOutcome.OK
    assert failed.result.outcome is ToolOutcome.ERROR
