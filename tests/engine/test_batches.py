# SPDX-License-Identifier: Apache-2.0
"""Runs in batches: the real SDKs against servers that speak the real protocols."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from kgbench.connectors import batches as interface
from kgbench.engine import Journal, planning
from kgbench.engine.queues import JudgeQueue
from kgbench.errors import ModelSpecError
from kgbench.model import Outcome
from kgbench.record import accounts, batches, reading
from kgbench.record.accounts import recorded_price, total
from kgbench.store import open_store
from tests.support.batch_runs import ONE, ROUNDS, SPEECHES, asked_twice, open_batches, started
from tests.support.prices import price_table
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import fixed
from tests.support.servers.scripts import always, sequence
from tests.support.validation import assert_conforms

OUTCOMES = """
PREFIX kgb: <https://w3id.org/kgbench/ns#>
SELECT ?o WHERE { GRAPH ?g { ?call a kgb:ModelCall ; kgb:outcome ?o } }
"""


@pytest.fixture(params=["openai", "anthropic"])
def provider(request, monkeypatch):
    """Yield a function that starts a server, for each kind in turn."""
    yield from started(request.param, monkeypatch)


@pytest.fixture(params=list(SPEECHES))
def any_protocol(request, monkeypatch):
    """Yield the same functions, and one for the responses API."""
    yield from started(request.param, monkeypatch)


def test_a_run_in_batches_is_recorded_like_any_other(any_protocol):
    """All dialogues of a round are one batch; answers, tokens and ids are those of the server."""
    made = any_protocol()
    with open_store("memory:") as store:
        done = hold(store, made.plan(4))
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()
        (batch,) = batches.all_batches(store, info.graph)
        (execution,) = reading.executions(store, info.graph)
        held = reading.execution_dialogues(store, info.graph, execution, info.iri)
        assert_conforms(store)

    assert done.finished
    assert (done.calls, done.awaited) == (4, 0)
    assert made.created() == 1
    assert (batch.id, batch.requests) == (made.desk.batches[0].id, 4)
    assert batch.state in ("completed", "ended")
    assert {d.answers[0] for d in held} == {a.response.answer for a in made.desk.ledger}
    charged = [asked.response.usage for asked in made.desk.ledger]
    assert usage.input == usage.batch_input == sum(one["input"] for one in charged)
    assert usage.output == usage.batch_output == sum(one["output"] for one in charged)


def test_each_round_is_a_batch_of_its_own(provider, monkeypatch):
    """The next prompts of all dialogues are one batch; each answer is judged once."""
    judged, judge = [], JudgeQueue.judge

    async def counted(self, dialogue, request):
        judged.append(request.answers)
        return await judge(self, dialogue, request)

    monkeypatch.setattr(JudgeQueue, "judge", counted)
    made = provider(answer=fixed("this is no Turtle"))
    with open_store("memory:") as store:
        done = hold(store, made.plan(3, ROUNDS))

    assert done.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [3, 3, 3]
    last = made.desk.batches[-1].asked[0].body["messages"]
    assert [m["role"] for m in last] == ["user", "assistant"] * 2 + ["user"]
    assert sorted(map(len, judged)) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert asked_twice(made) == []


def test_large_rounds_are_several_batches(provider, monkeypatch):
    """No batch exceeds the allowed size, and dialogues begin as others end."""
    monkeypatch.setattr("kgbench.engine.batch_rounds.BatchRounds.MOST", 3)
    made = provider()
    with open_store("memory:") as store:
        done = hold(store, made.plan(14))

    assert done.finished
    assert all(len(batch.asked) <= 3 for batch in made.desk.batches)
    assert sum(len(batch.asked) for batch in made.desk.batches) == 14


def test_long_prompts_are_several_batches(provider, monkeypatch):
    """No batch has more characters than allowed, unless a single request has."""
    made = provider()
    plan = made.plan(5)
    lengths = [len(one.prompt) for cases in planning.exercises(plan).values() for one in cases]
    most = min(lengths) * 5 // 2  # two prompts fit, a third one does not, and five may be held
    assert max(lengths) * 2 <= most
    monkeypatch.setattr("kgbench.engine.batch_rounds.MOST_CHARACTERS", most)
    with open_store("memory:") as store:
        done = hold(store, plan)

    assert done.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [2, 2, 1]


def test_batches_cost_what_they_are_said_to(provider, tmp_path):
    """Tokens of batches have the batch price, those of other calls the full price."""
    table = tmp_path / "prices.ttl"
    table.write_text(price_table("test", more="kgb:batchFactor 0.5 ;"))
    made = provider()
    with open_store("memory:") as store:
        first = hold(store, made.plan(3, prices=table))
        second = hold(store, replace(made.plan(5, prices=table), batch=False))
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()
        (paid,) = accounts.prices(store, info.graph).values()
        assert_conforms(store)

    batched = [asked.response.usage for asked in made.desk.ledger]
    live = [entry.usage for entry in made.server.acknowledged if entry.usage]
    assert (len(batched), len(live)) == (3, 2)

    def price(used):
        return sum(Decimal(3) * u["input"] + Decimal(7) * u["output"] for u in used) / 1_000_000

    assert total(usage, recorded_price(paid)).cost == price(live) + price(batched) / 2
    assert first.cost + second.cost == price(live) + price(batched) / 2


@pytest.mark.parametrize(
    ("kind", "outcome", "batches_made"),
    [
        (scripts.TRUNCATION, Outcome.TRUNCATED, 1),
        (scripts.REFUSAL, Outcome.REFUSED, 1),
        (scripts.CONTEXT, Outcome.CONTEXT_TOO_LONG, 1),
        (scripts.BAD_REQUEST, Outcome.PROVIDER_ERROR, 1),
        (scripts.SERVER_ERROR, Outcome.PROVIDER_ERROR, 3),
        (scripts.MALFORMED, Outcome.PROVIDER_ERROR, 3),
    ],
)
def test_what_fails_in_a_batch_ends_as_elsewhere(provider, kind, outcome, batches_made):
    """A failed request fails alone; one that may succeed on a retry is in the next batch again."""
    made = provider(each=sequence("answer", kind, "answer", then=kind))
    with open_store("memory:") as store:
        done = hold(store, made.plan(3))
        outcomes = [row["o"].value.rpartition("/")[2] for row in store.query(OUTCOMES)]
        left = open_batches(store)
        if kind == scripts.BAD_REQUEST:
            assert_conforms(store)

    assert done.complete + done.failed == 3
    assert [len(batch.asked) for batch in made.desk.batches] == [3, 1, 1][:batches_made]
    assert outcomes == [outcome]
    assert left == []


def test_what_expires_is_asked_again_and_what_is_answered_is_kept(provider):
    """The answers of an expired batch count; the other requests are in the next batch."""
    made = provider(ending=lambda number: "completed" if number else "expired")
    with open_store("memory:") as store:
        done = hold(store, made.plan(4))

    assert done.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [4, 2]
    assert asked_twice(made) == []


def test_what_was_cancelled_is_left_for_another_session(provider):
    """After a cancelled batch, this session asks nothing more, and the next asks only the rest."""
    made = provider(ending=lambda number: "completed" if number else "cancelled")
    with open_store("memory:") as store:
        first = hold(store, made.plan(4))
        second = hold(store, made.plan(4))
        assert_conforms(store)

    assert (first.complete, first.failed) == (2, 2)
    assert second.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [4, 2]


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_a_batch_that_is_too_much_for_now_is_handed_in_again(provider):
    """A batch that OpenAI fails because too many tokens are enqueued is submitted again later."""
    made = provider(ending=lambda number: "completed" if number else "failed")
    with open_store("memory:") as store:
        done = hold(store, made.plan(3))

    assert done.finished
    assert [len(batch.asked) for batch in made.desk.batches] == [3, 3]


@pytest.mark.parametrize("kind", [scripts.CUT, scripts.SERVER_ERROR, scripts.RATE_LIMIT, "garbage"])
def test_bad_weather_hands_in_no_batch_twice(provider, kind):
    """Failing calls about batches, also after a batch was created, submit no request twice."""
    chance = random.Random(3)
    failing = [kind if chance.random() < 0.4 else "answer" for _ in range(60)]
    made = provider(script=sequence(kind, *failing))
    with open_store("memory:") as store:
        done = hold(store, made.plan(4, ROUNDS))

    assert done.finished
    assert asked_twice(made) == []


def test_a_wrong_key_stops_the_model_and_records_no_failures(provider):
    """A wrong key submits nothing; the provider's message is reported without the key."""
    made = provider(script=always(scripts.UNAUTHORISED), echo_key=True)
    with open_store("memory:") as store:
        done = hold(store, made.plan(4))
        left = open_batches(store)
        said = str(done.stopped_models)

    assert not done.finished
    assert "401" in said
    assert "planted" not in said
    assert left == []
    assert len(made.server.ledger) == 1


@pytest.mark.parametrize("provider", ["openai"], indirect=True)
@pytest.mark.parametrize(("label", "most"), [(ONE, 5000), (ROUNDS, 20_000)])
def test_limits_hold_for_batches(provider, label, most):
    """No more dialogues begin than the limit has room for, by the greatest estimate."""
    made = provider(answer=fixed("this is no Turtle"))
    with open_store("memory:") as store:
        done = hold(store, made.plan(50, label, max_tokens=most))
        again = hold(store, made.plan(50, label, max_tokens=most))
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()

    assert 0 < done.complete < 50
    assert done.limit == f"--max-tokens {most}"
    assert (done.awaited, again.complete) == (0, 0)
    assert usage.input + usage.output <= most


@pytest.mark.parametrize("spec", ["google:m@http://127.0.0.1:9", "vllm:m@http://127.0.0.1:9/v1"])
def test_models_without_batches_are_refused(spec):
    """A model without a batch interface is refused, instead of using single calls.

    Baselines answer at once and need none.
    """
    plan = planned(ONE, spec, iterations=1, batch=True)
    with open_store("memory:") as store:
        with pytest.raises(ModelSpecError, match="in batches"):
            hold(store, plan)
        assert hold(store, planned(ONE, "baseline:oracle", iterations=2, batch=True)).finished


def test_names_of_requests_are_short_enough():
    """The name of a request has at most 64 characters, the maximum of both providers."""
    assert len(interface.name("0" * 32, "f" * 64)) == 64


def test_the_log_names_batches_and_dialogues(provider, tmp_path):
    """Every request and reply is in the log, with its batch."""
    made = provider()
    journal = Journal(tmp_path / "log.jsonl")
    with open_store("memory:") as store:
        hold(store, made.plan(2), journal=journal)
    journal.close()
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    kinds = Counter(line["event"] for line in lines)

    assert kinds["request"] == kinds["reply"] == 2
    assert kinds["batch"] == kinds["batch-closed"] == 1
    named = {line["batch"] for line in lines if line["event"] in ("request", "reply")}
    assert named == {made.desk.batches[0].id}
    assert all("dialogue" in line for line in lines if line["event"] == "reply")
    assert not any("seconds" in line for line in lines)
