# SPDX-License-Identifier: Apache-2.0
"""The audit of tool calls: honest calls agree, and each kind of change has a class."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.execution.frames import REASONS
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.rdf import digest, string
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.reevaluation.tool_audit import audit
from kgbench.store import open_store
from kgbench.store.protocol import Block
from kgbench.tools import wording
from tests.support.runs import hold
from tests.support.tool_runs import NATIVE, call, held, loopbacks, plan_of
from tests.support.validation import assert_conforms

MANY = "SELECT ?a ?b ?c { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z }"
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{k} ?b{k} ?c{k} ." for k in range(9)) + " }"
PREFIXES = """PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX outcome: <https://w3id.org/kgbench/tool-outcome/>"""
CHANGED = f"""{PREFIXES}
DELETE {{ GRAPH ?g {{ ?case kgb:caseData ?old }} }}
INSERT {{ GRAPH ?g {{ ?case kgb:caseData ?new }} }}
WHERE {{ GRAPH ?g {{ ?case a kgb:Case ; kgb:caseData ?old }}
  BIND (REPLACE(STR(?old), "chiefResearchOfficer", "chiefGardener") AS ?text)
  BIND (STRDT(?text, DATATYPE(?old)) AS ?new) }}"""


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set the provider's key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")


@pytest.fixture(scope="module")
def pool():
    """Yield the pool that executes calls again."""
    with executor("local:1") as made:
        yield made


def recorded(store, steps, engine="oxigraph", **parameters):
    """Run a scripted model and return its stored dialogue."""
    with loopbacks() as start:
        server = start(steps)
        plan = plan_of(f"openai:loopback@{server.url}", **parameters)
        assert hold(store, replace(plan, judge_timeout=3.0), engine=engine).finished
    (dialogue,) = held(store)
    return dialogue


def forge(store, dialogue, index, outcome, text):
    """Replace the stored result of one call in the first answer."""
    node, new = f"<{dialogue.iri}/0/tool/{index}>", f"<{dialogue.run}/text/{digest(text)}>"
    store.update(
        f"{PREFIXES} DELETE {{ GRAPH ?g {{ {node} kgb:toolOutcome ?o . ?r kgb:text ?t }} }} "
        f"INSERT {{ GRAPH ?g {{ {node} kgb:toolOutcome outcome:{outcome} . ?r kgb:text {new} . "
        f"{new} a kgb:Text , prov:Entity ; prov:value {string(text)} }} }} "
        f"WHERE {{ GRAPH ?g {{ {node} kgb:toolOutcome ?o . ?r prov:wasGeneratedBy {node} ; "
        f"kgb:text ?t }} }}"
    )


def classes(store, pool, **limits):
    """Return the classes of the differing calls by index."""
    found = audit(store, pool, JudgeLimits(seconds=3.0, **limits))
    assert found.calls == found.agree + len(found.differ)
    return {one["index"]: one["class"] for one in found.differ}


def test_every_outcome_is_recorded(pool):
    """Calls that end ok, in an error, empty, truncated, refused or over budget are recorded."""
    calls = (
        call("schema"),
        call("query", sparql="SELECT"),
        call("describe", iri="https://abc.def/nobody"),
        call("query", sparql=MANY),
        call("query", sparql="DELETE WHERE { ?s ?p ?o }"),
        call("schema"),
    )
    with open_store("memory:") as store:
        dialogue = recorded(store, (wording.with_calls("", calls), NATIVE[2]), budgetCalls=5)
        assert_conforms(store)
        assert classes(store, pool) == {}
    uses = dialogue.turns[0].uses

    wanted = ["ok", "error", "empty", "truncated", "refused", "over-budget"]
    assert [use.result.outcome for use in uses] == wanted
    assert uses[5].result.text == "not used: the budget of tool calls is spent"
    assert dialogue.tool_protocol == "native"


def test_a_forged_result(pool):
    """A difference that no limit, engine or change of the case explains is classed as forged."""
    with open_store("memory:") as store:
        dialogue = recorded(store, (NATIVE[0], NATIVE[2]))
        assert classes(store, pool) == {}
        forge(store, dialogue, 1, "ok", "role\nthe time limit is mentioned here")
        assert classes(store, pool) == {1: "forged"}
    with open_store("memory:") as store:
        recorded(store, (NATIVE[0], NATIVE[2]))
        store.update(CHANGED)
        assert classes(store, pool) == {1: "changed-graph"}


def test_a_limit_that_was_hit(pool):
    """If the recorded or the new call hit a limit, the difference is classed as time."""
    calls = (call("query", sparql=ENDLESS), call("schema"))
    with open_store("memory:") as store:
        dialogue = recorded(store, (wording.with_calls("", calls), NATIVE[2]))
        assert classes(store, pool) == {}
        forge(store, dialogue, 0, "ok", "n\n42")
        assert classes(store, pool) == {0: "time"}
        forge(store, dialogue, 1, "error", f"error: {REASONS['time']}")
        assert classes(store, pool) == {0: "time", 1: "time"}


def test_another_engine(pool):
    """A result that only the other engine gives is classed as an engine difference."""
    calls = (call("query", sparql="SELECT (1/3 AS ?third) WHERE {}"), call("schema"))
    with open_store("memory:") as store:
        recorded(store, (wording.with_calls("", calls), NATIVE[2]), engine="rdflib")
        assert classes(store, pool, engine="rdflib") == {}
        assert classes(store, pool) == {0: "engine"}


def test_the_command_tells_of_differences(tmp_path):
    """``reevaluate --audit-tools --json`` counts calls and lists each difference."""
    with open_store(str(tmp_path / "store")) as store:
        dialogue = recorded(store, (NATIVE[0], NATIVE[2]))
        forge(store, dialogue, 0, "empty", "(nothing)")
    words = ["reevaluate", "--audit-tools", "--json", "--store", str(tmp_path / "store")]
    said = CliRunner().invoke(app, words)
    found = json.loads(said.stdout)

    assert (found["calls"], found["agree"]) == (2, 1)
    (differing,) = found["differ"]
    assert differing == {
        "dialogue": dialogue.iri,
        "round": 0,
        "index": 0,
        "tool": "search",
        "class": "forged",
        "recorded": "empty",
        "now": "ok",
    }


def test_dialogues_recorded_under_a_former_name_are_audited(pool):
    """Calls recorded under a former class name are executed with the tools of its successor."""
    now, then = "Text2SparqlTools", "Text2SparqlToolsOrganizational"
    with open_store("memory:") as store, open_store("memory:") as former:
        recorded(store, NATIVE)
        for graph in store.graphs():
            lines = [f"{triple} ." for triple in store.triples(graph)]
            renamed = [re.sub(rf"{now}(?=[/\"])", then, line) for line in lines]
            former.bulk_load([Block(graph, renamed)])
        audited = audit(former, pool, JudgeLimits())
        (again,) = reevaluate_stored(former, pool, JudgeLimits())

    assert audited.agree == audited.calls == 3
    assert again.comparison.dialogues == 1
