# SPDX-License-Identifier: Apache-2.0
"""The preflight call to each model: its server, and the effect of a failure."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.engine.preflight import PROMPT
from kgbench.errors import ProviderRefused
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from tests.connectors import KEY
from tests.support.runs import Stop, hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import UNAUTHORISED, Behaviour, always
from tests.support.tool_runs import LABEL

TASK = "RdfConnectionExplainStatic-turtle"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def run(store, spec, *options):
    """Return the result of ``kgbench run`` of one dialogue with a model."""
    words = ["run", "--store", str(store), "--task", TASK, "-n", "1", "--model", spec, *options]
    return CliRunner().invoke(app, words)


def prompts(server):
    """Return the first prompt of each call that a server received."""
    return [one.body["messages"][0]["content"] for one in server.ledger]


def test_a_first_call_is_made_and_said(tmp_path):
    """Address, model and variable of the key are named before the first dialogue, not the key."""
    with LoopbackServer(OpenAISpeech()) as server:
        spec = f"openai:small@{server.url}"
        done = run(tmp_path / "store", spec)
        again = run(tmp_path / "store", spec)
        asked = prompts(server)

    assert done.exit_code == again.exit_code == 0
    assert f"first call: {server.url}, model 'small', with a key" in done.stderr
    assert KEY not in done.output
    assert asked[0] == PROMPT
    assert asked.count(PROMPT) == 1  # nothing is left to do the second time
    assert len(asked) == 2
    assert "first call" not in again.stderr


def test_a_first_call_that_fails_ends_the_run(tmp_path, monkeypatch):
    """A refused key is reported with address, model and reason; nothing is written."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with LoopbackServer(OpenAISpeech(), script=always(UNAUTHORISED)) as server:
        done = run(tmp_path / "store", f"openai:small@{server.url}")
        asked = prompts(server)

    assert done.exit_code != 0
    said = str(done.exception)
    assert f"the first call failed: {server.url}, model 'small', without a key: " in said
    assert "HTTP 401" in said
    assert "; look at the key in OPENAI_API_KEY; nothing was asked or written" in said
    assert asked == [PROMPT]
    with open_reader(str(tmp_path / "store")) as store:
        assert reading.runs(store) == []


def test_a_first_call_can_be_left_out(tmp_path):
    """With ``--no-preflight`` only the dialogues are asked."""
    with LoopbackServer(OpenAISpeech()) as server:
        done = run(tmp_path / "store", f"openai:small@{server.url}", "--no-preflight")
        asked = prompts(server)

    assert done.exit_code == 0
    assert PROMPT not in asked
    assert len(asked) == 1


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:4111/v1", "localhost", "//127.0.0.1:4111/v1", "host/v1", "ftp://host/v1"],
)
def test_an_address_without_a_scheme_is_refused(tmp_path, address):
    """An address without a scheme is refused: it would count as a part of the model's name."""
    done = run(tmp_path / "store", f"openai:small@{address}")

    assert done.exit_code != 0
    assert "address that begins with http:// or https://" in done.output + str(done.exception)


def test_a_variable_without_a_key_is_refused(tmp_path, monkeypatch):
    """If the configured variable has no key, nothing is sent."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with LoopbackServer(OpenAISpeech()) as server:
        done = run(tmp_path / "store", f"openai:small@{server.url}?key_env=NO_SUCH_KEY")
        asked = prompts(server)

    assert done.exit_code != 0
    assert "set the environment variable NO_SUCH_KEY" in str(done.exception)
    assert asked == []


def test_errors_name_the_host_that_was_called(tmp_path, monkeypatch):
    """Errors name the host that was called, also if the environment sets the address."""
    with LoopbackServer(OpenAISpeech(), script=always(UNAUTHORISED)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run(tmp_path / "store", "openai:small", "--no-preflight")
        host = server.url.split("/")[2]

    assert f"openai:small at {host}: HTTP 401" in done.output


@pytest.mark.parametrize("kind", [scripts.SERVER_ERROR, scripts.OVERLOADED, scripts.MALFORMED])
def test_a_first_call_is_retried(kind):
    """A server that fails a few times at first, such as one that loads its model, is waited for."""
    said = []
    script = scripts.sequence(kind, kind, kind)
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), script=script) as server:
        plan = planned(TASK, f"openai:small@{server.url}", iterations=1)
        done = hold(store, plan, preflight=said.append)
        asked = prompts(server)

    assert done.finished
    assert asked.count(PROMPT) == 4
    assert sum(line.startswith("waiting: ") and server.url[7:-3] in line for line in said) == 3


def test_a_first_call_has_the_retries_of_the_plan():
    """A server that fails for good is called as often as any other call, then the run ends."""
    script = always(scripts.SERVER_ERROR)
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), script=script) as server:
        plan = planned(TASK, f"openai:small@{server.url}", iterations=1, max_retries=2)
        with pytest.raises(ProviderRefused, match="--no-preflight leaves out the first call"):
            hold(store, plan, preflight=lambda _: None)
        assert reading.runs(store) == []
        asked = prompts(server)

    assert asked == [PROMPT] * 3


@pytest.mark.parametrize("kind", [UNAUTHORISED, scripts.UNKNOWN_MODEL, scripts.CONTEXT])
def test_one_model_that_fails_at_first_does_not_stop_the_others(kind):
    """A model whose first call fails is left out and named; the others are measured."""

    def script(entry):
        return Behaviour(kind if entry.body["model"] == "wrong" else scripts.ANSWER)

    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), script=script) as server:
        models = [f"openai:{name}@{server.url}" for name in ("wrong", "right")]
        plan = planned(TASK, *models, iterations=2)
        done = hold(store, plan, preflight=lambda _: None)
        asked = [call.body["model"] for call in server.ledger]

    (reason,) = done.stopped_models.values()
    assert asked.count("wrong") == 1
    assert (done.complete, done.failed, done.planned) == (2, 0, 4)
    assert "the first call failed: " in reason
    assert "model 'wrong'" in reason
    assert reason.endswith("(--no-preflight leaves out the first call)")


def test_a_model_in_this_process_runs_beside_one_that_cannot_be_called():
    """Models without a server are measured although the only server refuses the key."""
    script = always(UNAUTHORISED)
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), script=script) as server:
        plan = planned(TASK, f"openai:small@{server.url}", "baseline:oracle", iterations=1)
        done = hold(store, plan, preflight=lambda _: None)

    assert done.complete == 1
    assert len(done.stopped_models) == 1


def test_a_stop_during_first_calls_begins_nothing():
    """A stop while a first call is retried ends the run at once, without another call."""
    stop = Stop()

    def script(_):
        stop.soon()
        return Behaviour(scripts.SERVER_ERROR)

    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), script=script) as server:
        plan = planned(TASK, f"openai:small@{server.url}", iterations=1)
        done = hold(store, plan, preflight=lambda _: None, stop=stop, patience_scale=1000)
        asked = prompts(server)

    assert done.interrupted
    assert asked == [PROMPT]


class Deaf(OpenAISpeech):
    """A server that takes tools and never shows them to its model."""

    def respond(self, entry, *rest):
        """Answer as if no tools were offered."""
        return super().respond(replace(entry, body={**entry.body, "tools": []}), *rest)


def test_tools_that_do_not_reach_the_model_are_noticed():
    """Equal numbers of tokens with and without tools end the run; the text protocol remains."""
    said = []
    with LoopbackServer(Deaf()) as server, open_store("memory:") as store:
        spec = f"openai:deaf@{server.url}"
        with pytest.raises(ProviderRefused, match=r"do not reach the model.*toolProtocol=text"):
            hold(store, planned([LABEL], spec, iterations=1), preflight=said.append)
        assert reading.runs(store) == []
        text = f"{spec}?toolProtocol=text"
        assert hold(store, planned([LABEL], text, iterations=1), preflight=said.append).finished


def test_tools_that_reach_the_model_are_used():
    """A server that counts the tools lets the run begin, after one more call."""
    with LoopbackServer(OpenAISpeech()) as server, open_store("memory:") as store:
        plan = planned([LABEL], f"openai:able@{server.url}", iterations=1)
        assert hold(store, plan, preflight=[].append).finished
        offered = [bool(one.body.get("tools")) for one in server.ledger if PROMPT in str(one.body)]
    assert offered == [True, False]


LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 300}, "total_slots": 2}}
VLLM = {
    "/v1/models": {
        "data": [{"id": "other", "max_model_len": 9}, {"id": "small", "max_model_len": 300}]
    }
}


@pytest.mark.parametrize(("told", "slots"), [(LLAMA, 2), (VLLM, 3)])
def test_limits_of_an_own_server_are_read(told, slots):
    """Prompts that do not fit are named, and no more calls are made at once than are answered."""
    said = []
    answers = {"script": lambda _: Behaviour(delay=0.05), "told": told}
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech(), **answers) as server:
        plan = planned(
            TASK, f"openai:small@{server.url}?max_tokens=9", iterations=30, concurrency=3
        )
        assert hold(store, plan, preflight=said.append).finished
        most = max(entry.parallel for entry in server.ledger)

    assert f"the prompts of {TASK} may be too long for small?max_tokens=9, whose" in said[1]
    assert "conversations have 300 tokens" in said[1]
    assert most <= slots


def test_the_first_call_tells_speed_and_minutes():
    """The speeds are those that the server measured, else that of the answer; it has a limit."""
    said = []
    with open_store("memory:") as store, LoopbackServer(OpenAISpeech()) as server:
        plan = planned(TASK, f"openai:small@{server.url}", iterations=1)
        assert hold(store, plan, preflight=said.append).finished
        first, dialogue = (entry.body["max_tokens"] for entry in server.ledger[:2])

    assert (first, dialogue) == (64, 1024)
    assert re.search(r"^first answer after .* s, [\d,.e+]+ tokens/s written: 'answer ", said[1])
    assert re.search(
        r"^small: the plan takes about 1 min if .*, and \d+ min if every answer has 1,024 tokens",
        said[2],
    )
