# SPDX-License-Identifier: Apache-2.0
"""The vLLM connector: in process, checked against vLLM's signatures, and on a server."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgbench.connectors import CallAbandoned, vllm
from kgbench.connectors.reply_signs import Kind, Meaning, Sign, signs
from kgbench.errors import (
    ContextTooLong,
    ModelSpecError,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
)
from kgbench.model import Outcome, Reply
from tests.connectors import FAILURES_AND_SILENCE, KEY, PATIENCE, SHORT, answer, asked, setup_for
from tests.connectors.vllm_signatures import (
    RECORDED,
    Conversation,
    VLLMClientError,
    of_wheel,
    stand_in,
)
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import always

LONG = "The decoder prompt (length 9) is longer than the maximum model length of 8."


def _say(conversation: Conversation) -> Any:
    """Answer the last prompt as it asks to be answered."""
    last = conversation[-1]["content"]
    if last == "cut":
        return "half an ans", "length"
    if last == "aborted":
        return "", "abort"
    if last == "too long":
        raise VLLMClientError(LONG)
    if last == "wrong":
        raise VLLMClientError("a role is missing")
    if last == "broken":
        raise RuntimeError("the engine died")
    return f"answer to {last}"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a module ``vllm`` that answers without a model."""
    module = stand_in(_say)
    monkeypatch.setitem(sys.modules, "vllm", module)
    return module


def _all(*prompts: str, timeout: float = PATIENCE, **rest: Any) -> list[Reply | BaseException]:
    """Return the answers to ``prompts``, asked concurrently."""

    async def talk() -> list[Reply | BaseException]:
        async with vllm.open(setup_for("vllm", "org/model", **rest), timeout) as connector:
            calls = (connector.ask(asked(prompt)) for prompt in prompts)
            return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(talk())


@pytest.mark.parametrize(
    "sign", [sign for sign in signs() if sign.kind is Kind.ENDING], ids=lambda sign: sign.words[0]
)
def test_endings_of_the_engine_are_those_that_are_declared(sign: Sign) -> None:
    """Each declared ending, and an undeclared one, means the same as at a server."""
    setup = setup_for("vllm", "org/model")
    connector: Any = vllm.open(setup, PATIENCE)
    for word in (*sign.words, "gone_fishing"):
        said = SimpleNamespace(text="text", finish_reason=word, token_ids=(1,))
        output = SimpleNamespace(
            outputs=[said], prompt_token_ids=(1,), num_cached_tokens=0, request_id="r"
        )
        result = connector._reply(output)
        judged = sign.meaning is not Meaning.PROVIDER_ERROR and word != "gone_fishing"
        assert isinstance(result, Reply if judged else ProviderError)
        if isinstance(result, Reply):
            assert (result.outcome or "scored") == sign.meaning


def test_what_is_asked_at_once_is_one_batch(engine: Any) -> None:
    """Concurrent conversations are one batch, up to its size, each with its own answer."""
    prompts = [f"prompt {k}" for k in range(5)]
    replies = _all(*prompts, options={"batch": 4})

    assert [f"answer to {prompt}" for prompt in prompts] == [r.text for r in replies]
    assert [len(batch) for batch in engine.engines[0].batches] == [4, 1]


def test_a_bad_conversation_spoils_only_itself(engine: Any) -> None:
    """If a batch fails, its conversations are asked singly, and each gets its own error."""
    found = _all("good", "too long", "wrong", "broken", "cut", "aborted")

    assert found[0].text == "answer to good"
    kinds = [ContextTooLong, ProviderRefused, ProviderError]
    assert kinds == [type(error) for error in found[1:4]]
    assert (found[4].text, found[4].outcome) == ("half an ans", Outcome.TRUNCATED)
    assert type(found[5]) is ProviderError


def test_options_and_sampling_go_where_vllm_takes_them(engine: Any, tmp_path: Path) -> None:
    """Engine options, template and sampling have vLLM's names; those not set are not passed."""
    (tmp_path / "template.jinja").write_text("{{ messages }}", encoding="utf-8")
    options = {
        "tensor_parallel_size": "2",
        "max_model_len": 4096,
        "chat_template": str(tmp_path / "template.jinja"),
        "enable_thinking": "false",
    }
    _all("prompt", options=options, sampling={"temperature": 0.0, "seed": 3})

    loaded = engine.engines[0]
    assert loaded.options == {
        "model": "org/model",
        "tensor_parallel_size": 2,
        "max_model_len": 4096,
    }
    asked_with = loaded.chat_options
    assert asked_with["chat_template"] == "{{ messages }}"
    assert asked_with["chat_template_kwargs"] == {"enable_thinking": False}
    assert asked_with["use_tqdm"] is False
    assert vars(asked_with["sampling_params"]) == {
        "max_tokens": None,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 3,
    }


def test_options_of_published_configurations_are_vllms_own(engine: Any) -> None:
    """``context_size`` is the engine's length, and tags enclose every prompt."""
    options = {"context_size": 8192, "startTag": "<s>", "endTag": "</s>"}
    (reply,) = _all("prompt", options=options)

    assert engine.engines[0].options == {"model": "org/model", "max_model_len": 8192}
    assert isinstance(reply, Reply)
    assert reply.text == "answer to <s>prompt</s>"


def test_a_call_ends_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes too long is a timeout for the caller."""

    def slow(conversation: Conversation) -> str:
        time.sleep(0.3)
        return "late"

    monkeypatch.setitem(sys.modules, "vllm", stand_in(slow))
    assert isinstance(_all("prompt", timeout=0.1)[0], ProviderTimeout)


def _held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Install an engine that signals its start and answers on request."""
    begun, go_on = threading.Event(), threading.Event()

    def answered(conversation: Conversation) -> str:
        begun.set()
        assert go_on.wait(PATIENCE)
        return f"answer to {conversation[-1]['content']}"

    monkeypatch.setitem(sys.modules, "vllm", stand_in(answered))
    return begun, go_on


def test_who_has_gone_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call cancelled before or in its batch does not affect later calls."""
    begun, go_on = _held(monkeypatch)

    async def talk() -> str:
        async with vllm.open(setup_for("vllm", "m"), PATIENCE) as connector:
            early = [asyncio.create_task(connector.ask(asked("early"))) for _ in range(2)]
            await asyncio.sleep(0)  # they wait now, and nothing has been asked yet
            for call in early:
                call.cancel()
            while connector._waiting:  # type: ignore[attr-defined]  # noqa: ASYNC110 - or for ever
                await asyncio.sleep(0.01)
            inside = asyncio.create_task(connector.ask(asked("inside")))
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            inside.cancel()
            last = asyncio.create_task(connector.ask(asked("last")))
            await asyncio.wait([*early, inside])
            go_on.set()
            return (await last).text

    assert asyncio.run(talk()) == "answer to last"


def test_closing_gives_up_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing cancels calls in the running batch and in the queue before their deadline."""
    begun, go_on = _held(monkeypatch)

    async def talk() -> list[Any]:
        async with vllm.open(setup_for("vllm", "m", options={"batch": 1}), PATIENCE) as connector:
            calls = [asyncio.create_task(connector.ask(asked(name))) for name in "ab"]
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            gone = asyncio.gather(*calls, return_exceptions=True)
            gone.add_done_callback(lambda _: go_on.set())
        return await gone

    assert [type(end) for end in asyncio.run(talk())] == [asyncio.CancelledError] * 2


def test_a_stopped_run_withdraws_what_the_engine_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requests in the queue are abandoned; those in the running batch are answered."""
    begun, go_on = _held(monkeypatch)

    async def talk() -> list[Any]:
        async with vllm.open(setup_for("vllm", "m", options={"batch": 1}), PATIENCE) as connector:
            calls = [asyncio.create_task(connector.ask(asked(name))) for name in "abc"]
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            connector.withdraw()  # type: ignore[attr-defined]
            go_on.set()
            return await asyncio.gather(*calls, return_exceptions=True)

    answered, *withdrawn = asyncio.run(talk())
    assert answered.text == "answer to a"
    assert [type(end) for end in withdrawn] == [CallAbandoned] * 2


@pytest.mark.parametrize(
    ("model_id", "rest", "message"),
    [
        ("missing", {}, "missing is not a model"),
        ("m", {"sampling": {"typical_p": 1}}, "typical_p"),
        ("m", {"sampling": {"n": 2}}, "not a sampling parameter"),
        ("m", {"options": {"tensor_parallel_size": 0}}, "at least 1"),
        ("m", {"options": {"chat_template": "no/such.jinja"}}, "cannot be read"),
        ("m", {"options": {"context_size": 1, "max_model_len": 2}}, "say different lengths"),
    ],
)
def test_unusable_setups_are_refused(
    engine: Any, model_id: str, rest: dict[str, Any], message: str
) -> None:
    """A model that cannot be loaded, or a parameter that vLLM does not take, is refused."""
    with pytest.raises(ModelSpecError, match=message):
        answer(vllm, setup_for("vllm", model_id, **rest))


def test_without_vllm_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without vLLM the message names the extra and the specification of a server."""
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModelSpecError, match=r"kgbench\[vllm\].*vllm:m@http"):
        answer(vllm, setup_for("vllm", "m"))


def test_an_address_means_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an address, vLLM's server is used, with its own key and never with OpenAI's."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer(OpenAISpeech()) as server:
        reply = answer(vllm, setup_for("vllm", "org/model", server.url))

    assert reply.model == "org/model-2025-01-01"
    assert "authorization" not in server.ledger[0].headers


def test_a_template_of_the_model_goes_to_the_server(tmp_path: Path) -> None:
    """Template and thinking are parameters of each request; engine options are refused."""
    (tmp_path / "template.jinja").write_text("{{ messages }}", encoding="utf-8")
    options = {"chat_template": str(tmp_path / "template.jinja"), "enable_thinking": "false"}
    with LoopbackServer(OpenAISpeech()) as server:
        answer(vllm, setup_for("vllm", "org/model", server.url, options=options))
        body = server.ledger[0].body
        started = setup_for("vllm", "m", server.url, options={"tensor_parallel_size": 2})
        with pytest.raises(ModelSpecError, match="when it is started"):
            vllm.open(started, 1)

    assert body["chat_template"] == "{{ messages }}"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(("kind", "error"), FAILURES_AND_SILENCE.items())
def test_a_servers_failure_is_the_error_it_means(kind: str, error: type[ProviderError]) -> None:
    """A failure of the server is its usual error, which names the requested model."""
    with LoopbackServer(OpenAISpeech(), script=always(kind)) as server:
        setup = setup_for("vllm", "org/model", server.url)
        with pytest.raises(ProviderError, match="vllm:org/model") as raised:
            answer(vllm, setup, timeout=SHORT if kind == scripts.HANG else PATIENCE)

        assert error is type(raised.value)
        assert len(server.requests(1)) == 1


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (scripts.TRUNCATION, Outcome.TRUNCATED),
        (scripts.REFUSAL, Outcome.REFUSED),
        (scripts.FILTER, Outcome.REFUSED),
        (scripts.EMPTY_TEXT, None),
    ],
)
def test_a_servers_reason_is_kept(kind: str, outcome: Outcome | None) -> None:
    """The server's finish reason gives the outcome."""
    with LoopbackServer(OpenAISpeech(), script=always(kind)) as server:
        assert answer(vllm, setup_for("vllm", "m", server.url)).outcome is outcome


@pytest.mark.skipif("VLLM_WHEEL" not in os.environ, reason="VLLM_WHEEL names no wheel of vLLM")
def test_the_recorded_signatures_are_those_of_the_wheel() -> None:
    """The parameters and fields of the stand-in equal those of the wheel, in order."""
    real = of_wheel(Path(os.environ["VLLM_WHEEL"]))
    for name, recorded in RECORDED.items():
        assert recorded == [item for item in real[name] if item in recorded], name


@pytest.mark.skipif(
    "VLLM_TEST_MODEL" not in os.environ, reason="VLLM_TEST_MODEL names no model for this machine"
)
def test_a_real_model_answers() -> None:
    """If vLLM and its accelerator are present, a batch of two is answered."""
    setup = setup_for(
        "vllm",
        os.environ["VLLM_TEST_MODEL"],
        options={"max_model_len": 2048, "enforce_eager": True},
    )

    async def talk() -> list[Reply]:
        async with vllm.open(setup, 600) as connector:
            return await asyncio.gather(*(connector.ask(asked(p)) for p in ("Say yes.", "Say no.")))

    assert all(reply.text and reply.usage.output for reply in asyncio.run(talk()))
