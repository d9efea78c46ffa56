# SPDX-License-Identifier: Apache-2.0
"""Runs against servers that reply as providers, gateways and proxies do, beyond their protocols."""

from __future__ import annotations

import email.utils
import json
import time
from collections import Counter
from decimal import Decimal

import pytest

from kgbench.analysis.outcomes import by_fact
from kgbench.analysis.run_results import RunResults
from kgbench.analysis.run_totals import totals
from kgbench.cli.run_report import totals_line
from kgbench.model import Usage
from kgbench.record import reading
from kgbench.secrets import HIDDEN
from kgbench.store import open_store
from kgbench.store.back_ends import REPLY_LOG
from tests.support.prices import price_table
from tests.support.runs import dialogues_of, hold, planned
from tests.support.servers.loopback import LoopbackServer, Response
from tests.support.servers.replies import Prepared

LABEL = "RdfFriendCount-turtle-1"
ANSWER = "http://example.org/people/person-00000004"
PAGE = b"<html><head><title>413 Request Entity Too Large</title></head><body>nginx</body></html>"
TABLE = price_table("loopback", read="2.0", written="1000.0", more="kgb:cachedPrice 0.5 ;")
COUNTED = {"prompt_tokens": 10, "completion_tokens": 2}


def answered(content=ANSWER, reason="stop", usage=COUNTED, **choice):
    """Return the body of an answer in the protocol of chat completions."""
    message = {"role": "assistant", "content": content}
    one = {"index": 0, "message": message, "finish_reason": reason, **choice}
    return {"id": "x", "model": "loopback", "choices": [one], "usage": usage}


def failed(status, body, **headers):
    """Return a response with an error."""
    return Response(status, body, {name.replace("_", "-"): v for name, v in headers.items()})


class Held:
    """A run of some dialogues with a server that gives prepared responses, the last one forever."""

    def __init__(self, *responses, store="memory:", iterations=1, **changed):
        with LoopbackServer(Prepared(*responses, prefix="/v1", forever=True)) as server:
            fields = {"max_retries": 5, "concurrency": 1, **changed}
            spec = changed.pop("spec", "openai:loopback@{url}").format(url=server.url)
            fields.pop("spec", None)
            plan = planned(LABEL, spec, iterations=iterations, **fields)
            with open_store(str(store)) as opened:
                self.done = hold(opened, plan)
                (info,) = reading.runs(opened)
                self.dialogues = dialogues_of(opened, info)
                results = RunResults(opened, info)
                self.outcomes = by_fact(sum(results.endings.values(), Counter()))
                self.warnings = results.warnings
                self.totals = totals(opened, info)
            self.calls = len(server.ledger)

    @property
    def reply(self):
        """Return the last reply of the first dialogue."""
        return self.dialogues[0].turns[-1].calls[-1].reply


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-loopback")


BROKEN = {
    "an error in a choice": answered("", "error", error={"code": 502, "message": "it hung up"}),
    "an error beside a part": answered("http://exa", "error", error={"message": "it hung up"}),
    "no resources": answered("http://exa", "insufficient_system_resource"),
    "an undeclared ending": answered("http://exa", "gone_fishing"),
    "an ending without content": answered("", "tool_calls"),
    "an error of status 200": {"error": {"message": "it hung up", "code": 503}},
    "an error beside an answer": {**answered(), "error": {"message": "it hung up"}},
    "an error of MiniMax": {
        "choices": None,
        "base_resp": {"status_code": 1000, "status_msg": "no"},
    },
    "an error of Cloudflare": {"success": False, "errors": [{"message": "it hung up"}]},
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_answer_is_asked_again_and_never_judged(body):
    """Failures of a provider in a response of status 200 are retried, and leave no score."""
    mended = Held(body, body, answered())
    broken = Held(body, max_retries=1)

    assert (mended.done.complete, mended.calls, mended.reply.text) == (1, 3, ANSWER)
    assert (broken.done.failed, broken.calls, broken.outcomes) == (1, 2, Counter())


TOO_LONG = {
    "of status 200": {"error": {"message": "maximum context length is 4096", "code": 400}},
    "of status 200 in plain text": Response(200, b"maximum context length is 4096 tokens"),
    "as a string": failed(400, {"error": "context length of only 4096 tokens, not enough"}),
    "of llama.cpp": failed(400, {"error": {"message": "no", "type": "exceed_context_size_error"}}),
}


@pytest.mark.parametrize("body", TOO_LONG.values(), ids=TOO_LONG)
def test_a_context_that_is_too_long_takes_one_call(body):
    """The length is a result of the model in anybody's words, and is not asked again."""
    held = Held(body)
    assert (held.done.complete, held.calls) == (1, 1)
    assert set(held.outcomes) == {"context-too-long"}


REFUSED = {
    "DeepSeek": {"message": "Content Exists Risk", "code": "invalid_request_error"},
    "OpenAI": {"message": "Invalid prompt", "code": "invalid_prompt"},
    "Alibaba": {"message": "Input may be bad", "code": "data_inspection_failed"},
}


@pytest.mark.parametrize("error", REFUSED.values(), ids=REFUSED)
def test_a_refusal_as_an_error_is_in_the_mean(error):
    """A filter that answers with an error is a refused answer, which is judged: it is empty."""
    held = Held(failed(400, {"error": error}))
    assert (held.done.complete, held.calls) == (1, 1)
    assert set(held.outcomes) == {"refused", "empty"}


def test_a_rate_limit_of_status_413_is_one():
    """A code of a rate limit decides, not the status; the call is made again after the wait."""
    error = {"message": "Request too large on tokens per minute", "code": "rate_limit_exceeded"}
    limited = failed(413, {"error": error}, retry_after="0.1")
    held = Held(limited, limited, answered())
    assert (held.done.complete, held.calls) == (1, 3)


def test_a_limit_of_a_proxy_is_no_property_of_the_model():
    """A page of status 413 leaves the dialogue open, and names the limit."""
    held = Held(failed(413, PAGE, content_type="text/html"))
    assert (held.done.failed, held.calls, held.outcomes) == (1, 1, Counter())
    assert "413 Request Entity Too Large (a limit of the server or of a proxy" in str(
        held.done.failures
    )


def test_a_date_to_retry_after_is_by_the_clock_of_the_server():
    """A server whose clock is two hours ahead asks for a moment, not for two hours."""
    date = email.utils.formatdate(time.time() + 7200, usegmt=True)
    limited = failed(429, {"error": {"message": "slow"}}, date=date, retry_after=date)
    assert Held(limited, answered()).done.complete == 1


READ = {
    "control characters": json.dumps(answered("a\\n\\tb")).replace("\\\\n\\\\t", "\n\t"),
    "comments": ": PROCESSING\n\n: PROCESSING\n\n" + json.dumps(answered("a\n\tb")),
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_bodies_that_are_almost_json_are_read(body):
    """An answer is not bought again for a raw line feed in it, or comments before it."""
    held = Held(Response(200, body.encode()))
    assert (held.calls, held.reply.text) == (1, "a\n\tb")


def test_a_reply_that_cannot_be_parsed_is_asked_for_once_more():
    """Two calls, not six, because a provider may charge for each."""
    half = json.dumps(answered())[:40].encode()
    held = Held(Response(200, half))

    assert (held.done.failed, held.calls) == (1, 2)


def test_what_cannot_be_parsed_is_kept_until_there_is_an_answer(tmp_path, monkeypatch):
    """Its text is in the reply log, without keys, and leaves it with the stored answer."""
    monkeypatch.setenv("OPENAI_API_KEY", key := "sk-loopback-0123456789")
    half = json.dumps(answered(f"by {key}"))[:120]
    place = tmp_path / "store"
    prepared = Prepared(*[Response(200, half.encode())] * 2, answered(), prefix="/v1", forever=True)
    with LoopbackServer(prepared) as server:
        plan = planned(LABEL, f"openai:loopback@{server.url}", iterations=1, max_retries=5)
        with open_store(str(place)) as opened:
            hold(opened, plan)
        kept = [json.loads(line)["raw"] for line in (place / REPLY_LOG).read_bytes().splitlines()]
        with open_store(str(place)) as opened:
            mended = hold(opened, plan)

    assert kept == [half.replace(key, HIDDEN)] * 2
    assert (mended.complete, mended.unclaimed) == (1, 0)
    assert not (place / REPLY_LOG).exists()


def test_an_answer_of_anthropic_without_a_reason_is_one():
    """``stop_reason: null``, as compatible servers send, is read."""
    usage = {"input_tokens": 10, "output_tokens": 2}
    text = [{"type": "text", "text": ANSWER}]
    body = {"type": "message", "content": text, "stop_reason": None, "usage": usage}
    held = Held(body, spec="anthropic:loopback@{url}")
    assert (held.calls, held.reply.text) == (1, ANSWER)


USAGE = {
    "additive reasoning": (
        {"total_tokens": 331, "completion_tokens_details": {"reasoning_tokens": 319}},
        Usage(10, 321, None, 319),
    ),
    "included reasoning": (
        {"total_tokens": 12, "completion_tokens_details": {"reasoning_tokens": 1}},
        Usage(10, 2, None, 1),
    ),
    "cache of DeepSeek": ({"prompt_cache_hit_tokens": 9}, Usage(10, 2, 9)),
    "cache of Moonshot": ({"cached_tokens": 8}, Usage(10, 2, 8)),
    "cache of OpenAI": ({"prompt_tokens_details": {"cached_tokens": 7}}, Usage(10, 2, 7)),
}


@pytest.mark.parametrize(("more", "usage"), USAGE.values(), ids=USAGE)
def test_tokens_are_counted_under_the_names_of_each_provider(tmp_path, more, usage):
    """The output is at least the total without the prompt, and cached tokens have their price."""
    (tmp_path / "prices.ttl").write_text(TABLE)
    held = Held(answered(usage={**COUNTED, **more}), prices=tmp_path / "prices.ttl")
    read = 2 * (usage.input - (usage.cached or 0)) + Decimal("0.5") * (usage.cached or 0)
    (counted,) = held.totals["models"].values()
    names = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    assert [counted[name] for name in names] == [
        *(usage.input, usage.output, usage.cached or 0, usage.reasoning or 0)
    ]
    assert Decimal(held.totals["cost_usd"]) == (read + 1000 * usage.output) / 10**6


def test_a_limit_of_cost_holds_for_additive_reasoning(tmp_path):
    """Reasoning that only the total shows stops a run before it passes its limit."""
    (tmp_path / "prices.ttl").write_text(TABLE)
    usage = {**COUNTED, "total_tokens": 331}
    limits = {"prices": tmp_path / "prices.ttl", "max_cost": Decimal(1)}
    held = Held(answered(usage=usage), iterations=10, **limits)
    assert held.done.complete == 3
    assert Decimal(held.totals["cost_usd"]) <= 1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 10}, {"completion_tokens": 2}])
def test_a_missing_count_makes_tokens_and_cost_unknown(tmp_path, usage):
    """Tokens that a provider did not count are neither zero nor free."""
    (tmp_path / "prices.ttl").write_text(TABLE)
    held = Held(answered("7", usage=usage), prices=tmp_path / "prices.ttl")
    line = totals_line(held.totals)
    assert "cost unknown" in line
    assert "tokens unknown" in line or "(unknown for 1 answer)" in line
    assert held.totals["unpriced"]
    assert held.done.unpriced


ALOUD = {
    "think-block/1": f"<think>\nI count.\n</think>\n\n{ANSWER}",
    "think-block/2": f"[THINK]I count.[/THINK]{ANSWER}",
    "channels/1": (
        "<|channel|>analysis<|message|>I count.<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
}


@pytest.mark.parametrize(("step", "said"), ALOUD.items(), ids=ALOUD)
def test_reasoning_in_answers_names_the_step_that_separates_it(step, said):
    """A warning names the option where answers begin with reasoning; with it there is none."""
    held = Held(answered(said))
    assert any(f"the option extraction={step} separates it" in line for line in held.warnings)
    declared = Held(answered(said), spec="openai:loopback@{url}?extraction=" + step)
    assert not any("extraction" in line for line in declared.warnings)
    assert declared.dialogues[0].answers == (ANSWER,)
