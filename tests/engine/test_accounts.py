# SPDX-License-Identifier: Apache-2.0
"""Costs of runs: totals from the graph, prices, limits that stop a run, and estimates."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from itertools import takewhile

import pytest

from kgbench import config
from kgbench.cli import run_report
from kgbench.engine import planning, spending
from kgbench.engine.preflight import model_estimates
from kgbench.errors import ModelSpecError, ResourceError
from kgbench.model import Usage
from kgbench.record import accounts, reading
from kgbench.store import open_store
from tests.support.prices import price_table
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.validation import assert_conforms

LABEL = "RdfFriendCount-turtle-1"
TABLE = price_table("loopback", read="2.00", written="10.5")


@pytest.fixture
def table(tmp_path):
    """Return a user's price table."""
    path = tmp_path / "prices.ttl"
    path.write_text(TABLE)
    return path


def plan_of(server, iterations=4, **limits):
    """Return a plan with one model and one task."""
    spec = f"openai:loopback@{server.url}"
    fields = {"max_retries": 0, "concurrency": 1, **limits}
    return planned(LABEL, spec, iterations=iterations, **fields)


def charged(server):
    """Return the tokens that the server's own ledger charged."""
    used = [entry.usage for entry in server.acknowledged]
    return sum(u["input"] for u in used), sum(u["output"] for u in used)


def test_totals_are_those_of_the_server_after_interruptions(server, table):
    """Tokens and cost of a run in several sessions equal the server's charges for its answers."""
    with open_store("memory:") as store:
        first = hold(store, plan_of(server, 2, prices=table))
        second = hold(store, plan_of(server, 5, prices=table))
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()
        (paid,) = accounts.prices(store, info.graph).values()
        seconds = accounts.working_seconds(store, info.iri, info.graph)
        assert_conforms(store)

    read, written = charged(server)
    assert (usage.input, usage.output, usage.answers) == (read, written, 5)
    assert first.cost + second.cost == (read * 2 + written * Decimal("10.5")) / 1_000_000
    assert (paid.input, paid.date, paid.source) == (
        "2",
        "2026-01-02",
        "https://example.org/prices",
    )
    assert seconds > 0


def test_token_limit_stops_and_the_same_command_with_more_continues(server):
    """A reached limit stops the run; with a higher limit only the rest is asked."""
    plan = plan_of(server, 10)
    with open_store("memory:") as store:
        first = hold(store, replace(plan, max_tokens=800))
        again = hold(store, replace(plan, max_tokens=800))
        spent = sum(charged(server))
        last = hold(store, plan)

    assert 0 < first.complete < 10
    assert first.limit == "--max-tokens 800"
    assert not first.interrupted
    assert spent <= 800
    assert (again.complete, again.before) == (0, first.complete)
    assert last.finished
    assert len(server.ledger) == 10


class Silent(OpenAISpeech):
    """Words responses as OpenAI does, but without token counts."""

    def respond(self, entry, behaviour, answer):
        """See :class:`tests.support.servers.loopback.Speech`."""
        response = super().respond(entry, behaviour, answer)
        return response._replace(body={**response.body, "usage": None})


def test_limits_hold_over_sessions_without_token_counts(monkeypatch, table):
    """Answers without token counts count by their length, also those of earlier sessions."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with LoopbackServer(Silent(), answer=fixed("x" * 4_000)) as server:
        for limits in ({"max_tokens": 5_000}, {"max_cost": Decimal("0.0525"), "prices": table}):
            plan = plan_of(server, 20, **limits)
            with open_store("memory:") as store:
                first = hold(store, plan)
                again = hold(store, plan)
                done = hold(store, replace(plan, max_tokens=8_000, max_cost=None))
            assert 3 <= first.complete <= 5
            assert (again.complete, again.limit) == (0, first.limit)
            assert 1 <= done.complete <= 4


def test_limits_wait_for_what_is_under_way(server):
    """Calls under way delay others and end no run, which uses almost the whole limit."""
    plan = replace(plan_of(server, 40), max_tokens=2000, concurrency=8)
    with open_store("memory:") as store:
        first = hold(store, plan)
        again = hold(store, plan)

    spent = sum(charged(server))
    assert first.limit == again.limit == "--max-tokens 2000"
    assert again.complete == 0
    assert 2000 - 1.5 * spent / first.complete < spent <= 2000


def test_answers_that_cost_far_more_than_prompts_do_not_pass_a_limit(loopback):
    """Answers that cost far more than prompts do not exceed a limit: few calls begin at first."""
    server, _ = loopback(scripts.slowed(scripts.always(), 0.1), answer=fixed("x" * 40_000))
    plan = replace(plan_of(server, 60), max_tokens=100_000, concurrency=16)
    with open_store("memory:") as store:
        done = hold(store, plan)

    assert done.limit == "--max-tokens 100000"
    assert 80_000 < sum(charged(server)) <= 100_000


def test_long_and_short_prompts_together_do_not_pass_a_limit(server):
    """The longest prompt under way is reserved for each dialogue, not the newest one."""
    (model,) = plan_of(server).models
    limits = spending.Limits(max_tokens=100_000)
    spent = spending.Spending([model], [], {}, {}, limits, batched=())
    for _ in range(40):
        assert spent.begin(model.iri, 10) is None
        spent.end(model.iri, Usage(10, 10), 0)
    prompts = [30_000, 10, 10] * 20
    held = list(takewhile(lambda read: spent.begin(model.iri, read) is None, prompts))
    assert 1 <= len(held) < 60
    assert 800 + sum(read + 10 for read in held) <= 100_000
    for read in held:
        spent.end(model.iri, Usage(read, 10), 0)
    assert spent.begin(model.iri, 10) is None


def test_no_first_call_is_made_where_a_limit_leaves_no_room(server):
    """Repeating the command with a reached limit makes no call."""
    said = []
    plan = replace(plan_of(server, 10), max_tokens=800)
    with open_store("memory:") as store:
        hold(store, plan, preflight=said.append)
        asked = len(server.ledger)
        again = hold(store, plan, preflight=said.append)

    assert again.limit == "--max-tokens 800"
    assert len(server.ledger) == asked
    assert len(said) == 3  # the first call, its answer, and the minutes


def test_a_paid_run_suggests_a_backup(server, table, capsys):
    """The report of a run that cost money names the command for a backup; others do not."""
    paid, free = (plan_of(server, 1, prices=table), planned(LABEL, "baseline:oracle"))
    for plan, suggests in ((paid, True), (free, False)):
        with open_store("memory:") as store:
            run_report.report(store, plan, hold(store, plan), "s", whole_store=True, json_=False)
        assert ("kgbench store backup FILE.nq.gz --store s" in capsys.readouterr().out) is suggests


def test_cost_limit_stops_before_it_is_passed(server, table):
    """No dialogue begins whose cost exceeds the rest of the limit."""
    with open_store("memory:") as store:
        done = hold(store, plan_of(server, 10, max_cost=Decimal("0.002"), prices=table))

    assert 0 < done.complete < 10
    assert Decimal(0) < done.cost <= Decimal("0.002")


def test_cost_of_an_unpriced_model_is_unknown_and_cannot_be_limited(server):
    """A cost without a price is unknown, not zero; a limit on it is refused before any call."""
    with open_store("memory:") as store:
        with pytest.raises(ModelSpecError, match="no price is known"):
            hold(store, plan_of(server, max_cost=Decimal(1)))
        assert server.ledger == []
        done = hold(store, plan_of(server))
        (info,) = reading.runs(store)
        assert (done.unpriced, accounts.prices(store, info.graph)) == ({"loopback"}, {})


def test_failed_dialogues_can_be_left_alone(loopback):
    """Without retrying errors the next session asks only new dialogues."""
    server, _ = loopback(scripts.sequence(*[scripts.SERVER_ERROR] * 3))
    with open_store("memory:") as store:
        first = hold(store, plan_of(server, 5))
        left = hold(store, plan_of(server, 6), retry_errors=False)
        last = hold(store, plan_of(server, 6))

    assert (first.complete, first.failed) == (2, 3)
    assert (left.complete, left.left_open, left.finished) == (1, 3, False)
    assert (last.complete, last.finished) == (3, True)
    assert len(server.ledger) == 9


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        ("openai:gpt-4o-mini", True),
        ("openai:gpt-4o-mini-2024-07-18", True),
        ("anthropic:claude-sonnet-4-20250514", True),
        ("openai:gpt-4o-mini@http://localhost:8000/v1", False),
        ("openai:no-such-model", False),
        ("vllm:gpt-4o-mini", False),
        ("baseline:oracle", True),
    ],
)
def test_shipped_prices_are_for_the_providers_own_service(spec, known):
    """A dated snapshot has its model's price; another server or connector has none."""
    found = spending.price_of(config.model_setup(spec), spending.declared_prices())

    assert (found is not None) == known


def test_a_snapshot_with_a_price_of_its_own_has_it():
    """A dated snapshot has the price of its alias, unless it is declared itself."""
    entries = spending.declared_prices()
    prices = [
        spending.price_of(config.model_setup(f"openai:gpt-4o{date}"), entries).input
        for date in ("", "-2024-08-06", "-2024-05-13")
    ]
    assert prices[0] == prices[1] < prices[2]


def test_the_newest_price_counts_and_cached_tokens_have_their_own(server, tmp_path):
    """Of several prices the latest until today is used; cached tokens cost what they declare."""
    path = tmp_path / "prices.ttl"
    newer = TABLE.replace("2.00", "3.00").replace("2026-01-02", "2026-01-03")
    future = TABLE.replace("2.00", "4.00").replace("2026-01-02", "9026-01-03")
    path.write_text(TABLE + newer.replace("x:loop", "x:newer") + future.replace("x:loop", "x:far"))
    newest = spending.price_of(plan_of(server).models[0], spending.declared_prices(path))
    assert (newest.input, newest.date) == (Decimal(3), "2026-01-03")
    price = spending.price_of(config.model_setup("openai:gpt-4o"), spending.declared_prices())

    assert price.cost(Usage(1_000_000, 0, 400_000)) == Decimal("2.0")
    assert price.cost(Usage(None, None)) is None


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        TABLE.replace("kgb:Price", "kgb:Model"),
        TABLE.replace("2.00", "'free'"),
        TABLE.replace("kgb:outputPrice 10.5 ;", ""),
        TABLE.replace("kgb:outputPrice 10.5 ;", "kgb:outputPrice 10.5 ; kgb:batchFactor 50 ;"),
        TABLE.replace("2026-01-02", "02.01.2026"),
        TABLE + TABLE.replace("x:loopback", "x:other").replace("2.00", "3.00"),
    ],
)
def test_damaged_price_table_is_refused(tmp_path, text):
    """An invalid price table is refused, and the message names the file."""
    path = tmp_path / "mine.ttl"
    path.write_text(text)

    with pytest.raises(ResourceError, match=r"mine\.ttl"):
        spending.declared_prices(path)


def test_the_documented_price_table_is_one(tmp_path, repository):
    """The price table of ``docs/running.md`` is valid for ``--prices``."""
    page = (repository / "docs" / "running.md").read_text("utf-8")
    (table,) = re.findall(r"```turtle\n(.*?)```", page, re.DOTALL)
    (tmp_path / "ours.ttl").write_text(table)

    assert "our-model" in {entry.name for entry in spending.declared_prices(tmp_path / "ours.ttl")}


def test_estimate_counts_what_is_still_to_do(server):
    """Complete dialogues are not estimated; several rounds give a range."""
    plan = planned("RdfSyntaxFixList-turtle", "openai:gpt-4o", "openai:x", iterations=3)
    asked = planning.exercises(plan)
    whole = list(model_estimates(plan, set(), spending.declared_prices(), asked))
    rounds = whole[0].most.calls // whole[0].least.calls

    assert [one.dialogues for one in whole] == [3, 3]
    assert rounds > 1
    assert whole[0].least.cost < whole[0].most.cost
    assert whole[1].least.cost is None
