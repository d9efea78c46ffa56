# SPDX-License-Identifier: Apache-2.0
"""``analyze tools``: tool calls and their outcomes; success in relation to calls and cost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import kgbench
from kgbench.analysis.tool_usage import ALL_TOOLS, NAMELESS, UNKNOWN, tool_success, tool_usage
from kgbench.cli import app
from kgbench.errors import QueryError
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.tools import wording
from tests.support.analysis_store import results, small
from tests.support.runs import hold
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.tool_runs import LABEL, QUERY, call, plan_of

REPEATING = (
    wording.with_calls("", [call("search", "a", text="Anne"), call("search", "b", text="Anne")]),
    wording.with_calls(
        "", [call("lookup", "c"), call("", "d"), call("query", "e", sparql="SELECT")]
    ),
    wording.with_calls("", [call("answer", "f", sparql=QUERY)]),
)
PRICES = """
@prefix kgb: <https://w3id.org/kgbench/ns#> . @prefix dcterms: <http://purl.org/dc/terms/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
[] a kgb:Price ; skos:notation "loopback" ; kgb:inputPrice 10.0 ; kgb:outputPrice 20.0 ;
   dcterms:date "2026-11-01"^^xsd:date ; dcterms:source <https://example.org/prices> .
"""
BASELINES = ("baseline:searcher", "baseline:silent")


class Counted(OpenAISpeech):
    """Charges 1,000 tokens in and 100 out for each call."""

    def _usage(self, entry, text):  # noqa: ARG002 - independent of the text
        return {"input": 1_000, "output": 100}, (0, 0)


def scripted(prompt):
    """Return the next step of the script."""
    return REPEATING[min(prompt.count("Left: ") - 1, len(REPEATING) - 1)]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a store with a scripted model, asked twice over a server, and two baselines."""
    path = str(tmp_path_factory.mktemp("tools") / "store")
    with (
        pytest.MonkeyPatch.context() as patch,
        LoopbackServer(OpenAISpeech(), answer=scripted) as s,
    ):
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        plan = plan_of(f"openai:loopback@{s.url}", *BASELINES, iterations=2)
        with open_store(path) as store:
            assert hold(store, plan).finished
    return path


@pytest.fixture
def store(asked):
    """Yield that store, opened."""
    with open_store(asked) as opened:
        yield opened


def test_calls_are_counted_by_tool_and_outcome(store):
    """Repeats, unknown and missing names, errors and shares of dialogues match the script."""
    table = tool_usage(store, select(store, models="*loopback*"))
    rows = {row["tool"]: row for row in table.records()}
    whole = rows[ALL_TOOLS]

    assert {tool: row["calls"] for tool, row in rows.items()} == {
        ALL_TOOLS: 12, "search": 4, "answer": 2, "query": 2, UNKNOWN: 2, NAMELESS: 2,
    }  # fmt: skip
    assert whole["ok"] == 0.5
    assert whole["error"] == 0.5
    assert whole["repeats"] == rows["search"]["repeats"] == 2
    assert rows["query"]["error"] == 1.0
    assert whole["dialogues"] == 1.0
    assert whole["grounded"] == pytest.approx(1 / 3)  # of anne, member and role, one is shown
    assert whole["seconds"] >= 0.0
    assert {row["server"] for row in rows.values()} == {None}


def test_share_of_dialogues_counts_those_without_calls(store):
    """A model without tool calls has no row; the share is of all dialogues of a model."""
    found = tool_usage(store, select(store)).records()

    assert not [row for row in found if "silent" in row["model"]]
    assert {row["model"] for row in found} >= {"baseline:searcher"}


def test_success_stands_beside_calls_and_cost(store):
    """Each model has its score, calls, tokens and cost per dialogue, and per right answer."""
    rows = {row["model"]: row for row in tool_success(store, select(store)).records()}
    (loopback,) = (row for model, row in rows.items() if "loopback" in model)

    assert loopback["calls"] == 6.0
    assert loopback["dialogues"] == 2
    assert loopback["right"] == 1  # the query answers the first question, not the second
    assert loopback["tokens_per_right"] == 2 * loopback["tokens"]
    assert loopback["cost"] is None  # its price is unknown
    silent = rows["baseline:silent"]
    assert (silent["calls"], silent["score"], silent["cost"]) == (0.0, 0.0, 0.0)
    assert silent["cost_per_right"] is None


def test_tokens_and_cost_per_right_answer(tmp_path, monkeypatch):
    """Two dialogues of three calls of 1,000 and 100 tokens, one of them right, by hand."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    (tmp_path / "prices.ttl").write_text(PRICES)
    with (
        LoopbackServer(Counted(), answer=scripted) as server,
        open_store("memory:") as opened,
    ):
        plan = plan_of(f"openai:loopback@{server.url}", iterations=2)
        assert hold(opened, replace(plan, prices=tmp_path / "prices.ttl")).finished
        (row,) = tool_success(opened, select(opened)).records()
        (whole, *_) = tool_usage(opened, select(opened)).records()

    assert (row["dialogues"], row["right"], row["score"]) == (2, 1, 0.5)
    assert (row["tokens"], row["tokens_per_right"]) == (3_300.0, 6_600.0)
    # 3,000 tokens at 10 USD a million and 300 at 20, for each dialogue
    assert row["cost"] == pytest.approx(0.036)
    assert row["cost_per_right"] == pytest.approx(0.072)
    assert (whole["calls"], whole["repeats"], whole["dialogues"]) == (12, 2, 1.0)


def test_a_model_without_counts_has_unknown_tokens(store):
    """If a provider does not count tokens, they are unknown, not zero."""
    (row,) = tool_success(store, select(store, models="*searcher")).records()

    assert row["tokens"] is None
    assert row["tokens_per_right"] is None


def test_a_store_without_tool_calls():
    """Without tool calls the tables have no rows, and a note says so."""
    opened = results(small())

    assert opened.tools().rows == ()
    assert opened.tools(by="model").rows == ()
    assert opened.tools().notes == ("No dialogue of this selection has tool calls.",)
    with pytest.raises(QueryError, match="add --by model"):
        opened.tools(metric="f1")


def test_the_command_line_has_both_tables(asked):
    """``analyze tools`` and ``--by model`` write JSON with the columns of the tables."""
    typed = CliRunner()
    by_tool = typed.invoke(app, ["analyze", "tools", "--store", asked, "--json"])
    by_model = typed.invoke(app, ["analyze", "tools", "--by", "model", "--store", asked, "--json"])

    assert {"tool", "calls", "repeats", "grounded"} <= set(json.loads(by_tool.stdout)["rows"][0])
    assert {"score", "calls", "cost_per_right"} <= set(json.loads(by_model.stdout)["rows"][0])


def test_the_figure_names_models_and_tasks(asked):
    """The figure has a colour for each model, a shape for each task, and both panels."""
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    with kgbench.open(asked) as opened:
        figure = opened.tools.figure()
        texts = "".join("".join(t.get_text().split()) for t in figure.findobj(match=Text))
        assert "toolcallsperdialogue" in texts
        assert LABEL.replace("-", "") in texts.replace("-", "")
        assert all(model in texts for model in BASELINES)
        best = opened.tools.figure(top=1).findobj(match=Text)
        assert "silent" not in "".join(text.get_text() for text in best)
