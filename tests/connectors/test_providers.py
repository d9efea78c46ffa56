# SPDX-License-Identifier: Apache-2.0
"""The connectors of Anthropic and Google: the real SDKs, against servers of their protocols."""

from __future__ import annotations

import importlib
import importlib.util
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from kgbench.connectors import find
from kgbench.errors import ModelSpecError, ProviderError, ProviderTimeout, RateLimited
from kgbench.model import ModelSetup, Outcome, Usage
from tests.connectors import FAILURES, answer, asked, replies, setup_for
from tests.support.servers import scripts
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer, Speech, echo, fixed, tokens
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import Behaviour, Script, always, sequence

KEY = "planted-key-0123456789abcdef"


class Provider(NamedTuple):
    """A connector with the server that speaks its protocol."""

    name: str
    module: ModuleType
    speech: Callable[..., Speech]
    key_header: str
    variables: tuple[str, ...]
    api: str = ""

    def at(self, server: LoopbackServer, **rest: Any) -> ModelSetup:
        """Return the setup of a model on ``server``."""
        options = {**({"api": self.api} if self.api else {}), **rest.pop("options", {})}
        return setup_for(self.name, "test-model", server.url, options=options, **rest)

    def serve(self, script: Script | None = None, **rest: Any) -> LoopbackServer:
        """Return a server for this provider that shows keys in its errors."""
        return LoopbackServer(self.speech(echo_key=True), script=script, **rest)


GOOGLE_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
SDKS = {
    "anthropic": ("anthropic", AnthropicSpeech, "authorization", ("ANTHROPIC_API_KEY",)),
    "google": ("google.genai", GoogleSpeech, "x-goog-api-key", GOOGLE_KEYS),
    "google_legacy": ("google.generativeai", GoogleSpeech, "x-goog-api-key", GOOGLE_KEYS),
}
ALL = tuple(SDKS)
#: The two APIs of OpenAI, whose other properties are in a file of their own.
OPENAI = {"chat": "openai", "responses": "openai"}


def _installed(sdk: str) -> bool:
    try:
        return importlib.util.find_spec(sdk) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(params=ALL)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """Yield each provider in turn, with its key in the environment."""
    yield from _provided(request.param, monkeypatch)


@pytest.fixture(params=(*ALL, *OPENAI))
def any_api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """Yield the same, and each API of OpenAI."""
    yield from _provided(request.param, monkeypatch)


def _provided(api: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    name = OPENAI.get(api, api)
    speeches = {**SDKS, "openai": ("openai", OpenAISpeech, "authorization", ("OPENAI_API_KEY",))}
    sdk, speech, header, variables = speeches[name]
    if not _installed(sdk):
        pytest.skip(f"the extra kgbench[{name.replace('_', '-')}] is not installed")
    for variable in variables:
        monkeypatch.setenv(variable, KEY)
    with warnings.catch_warnings():
        # Warnings of the SDKs on import are not kgbench's.
        warnings.simplefilter("ignore")
        importlib.import_module(sdk)
        module = find(name)
        yield Provider(name, module, speech, header, variables, api if api in OPENAI else "")


def test_an_answer_arrives_with_all_that_is_said_about_it(provider: Provider) -> None:
    """Text, usage, answering model, request id and finish reason are those of the server."""
    prompt = "Which node is connected to the start?"
    with provider.serve() as server:
        reply = answer(provider.module, provider.at(server), prompt)

    n, m = tokens(prompt), tokens(reply.text)
    assert echo(prompt) == reply.text
    if provider.name == "anthropic":
        assert Usage(3 * n, m, n, 0) == reply.usage
        assert (reply.model, reply.finish_reason) == ("test-model-20250101", "end_turn")
    else:
        assert Usage(n, m, n // 2, None) == reply.usage
        assert (reply.model, reply.finish_reason) == ("test-model-001", "STOP")
    if provider.name != "google_legacy":  # this connector drops the id
        assert reply.request_id == "req_00000000"
    assert (reply.reasoning, reply.outcome) == (None, None)


def test_reasoning_is_kept_beside_the_answer(provider: Provider) -> None:
    """Thinking blocks and thought parts do not belong to the answer's text."""
    if provider.name == "google_legacy":
        pytest.skip("the retired package knows no reasoning")
    with LoopbackServer(provider.speech("thinking ..."), answer=fixed("done")) as server:
        reply = answer(provider.module, provider.at(server))

    assert (reply.text, reply.reasoning) == ("done", "thinking ...")
    assert reply.usage.reasoning is not None
    assert (reply.usage.output or 0) >= reply.usage.reasoning


def test_the_conversation_is_sent_in_turns(provider: Provider) -> None:
    """Prompts and answers alternate; an empty answer, which the APIs refuse, is described."""
    with provider.serve() as server:
        replies(
            provider.module, provider.at(server), [asked("one", " ", "b\ud800", "two", "three")]
        )

    body = server.ledger[0].body
    if provider.name == "anthropic":
        said = [(m["role"], m["content"]) for m in body["messages"]]
    else:
        said = [(m["role"], m["parts"][0]["text"]) for m in body["contents"]]
    model = "assistant" if provider.name == "anthropic" else "model"
    texts = ["one", "(no answer)", "b�", "two", "three"]
    assert list(zip(["user", model, "user", model, "user"], texts, strict=True)) == said


def test_only_what_is_set_is_sent(provider: Provider) -> None:
    """Sampling parameters have the provider's names; those that are not set are not sent."""
    given = {"temperature": 0.5, "max_tokens": 77, "stop": ["END"], "top_k": 3}
    with provider.serve() as server:
        answer(provider.module, provider.at(server))
        answer(provider.module, provider.at(server, sampling=given))

    plain, sampled = (entry.body for entry in server.ledger)
    assert all("stream" not in f"{entry.path}{entry.body}".lower() for entry in server.ledger)
    if provider.name == "anthropic":
        assert set(plain) == {"model", "messages", "max_tokens"}
        assert sampled["temperature"] == 0.5
        assert (sampled["max_tokens"], sampled["stop_sequences"]) == (77, ["END"])
    else:
        assert not plain.get("generationConfig")
        config = sampled["generationConfig"]
        assert (config["temperature"], config["topK"]) == (0.5, 3)
        assert (config["maxOutputTokens"], config["stopSequences"]) == (77, ["END"])


@pytest.mark.parametrize(
    ("kind", "outcome", "text"),
    [
        (scripts.TRUNCATION, Outcome.TRUNCATED, "12345"),
        (scripts.FILTER, Outcome.REFUSED, ""),
        (scripts.REFUSAL, Outcome.REFUSED, ""),
        (scripts.EMPTY_TEXT, None, ""),
    ],
)
def test_answers_that_are_none_keep_their_reason(
    any_api: Provider, kind: str, outcome: Outcome | None, text: str
) -> None:
    """Truncation, filter and refusal are replies with that outcome and the partial text."""
    with any_api.serve(always(kind), answer=fixed("1234567890")) as server:
        reply = answer(any_api.module, any_api.at(server))

    if (any_api.name, kind) == ("openai", scripts.REFUSAL):
        text = "I cannot help with that."
    assert (outcome, text) == (reply.outcome, reply.text)
    assert reply.finish_reason is not None
    assert reply.usage.input is not None or any_api.name != "openai"


@pytest.mark.parametrize(("kind", "error"), FAILURES.items())
def test_a_failure_is_one_call_and_the_error_it_means(
    any_api: Provider, kind: str, error: type[ProviderError]
) -> None:
    """Every kind of failure raises its own error, names the model, and is not retried."""
    with any_api.serve(always(kind)) as server:
        setup = any_api.at(server)
        with pytest.raises(ProviderError) as raised:
            answer(any_api.module, setup)

        assert error is type(raised.value), raised.value
        assert f"{any_api.name}:test-model" in str(raised.value)
        assert KEY not in "".join(traceback.format_exception(raised.value))
        assert len(server.ledger) == 1
        assert server.acknowledged == []


@pytest.mark.parametrize(("said", "seconds"), [("7", 7.0), ("0.25", 0.25), (None, None)])
def test_a_rate_limit_says_when_to_come_back(
    any_api: Provider, said: str | None, seconds: float | None
) -> None:
    """The provider's delay, in header or body, is read in seconds; without it there is none."""
    speech = GoogleSpeech(in_header=True) if any_api.name == "google_legacy" else any_api.speech()
    behaviour = Behaviour(scripts.RATE_LIMIT, retry_after=said)
    with LoopbackServer(speech, script=sequence(behaviour)) as server:
        setup = any_api.at(server)
        with pytest.raises(RateLimited) as raised:
            answer(any_api.module, setup)

    assert seconds == raised.value.retry_after


@pytest.mark.parametrize("kind", [scripts.HANG, scripts.TRICKLE])
def test_a_call_ends_at_its_deadline(any_api: Provider, kind: str) -> None:
    """A server that sends nothing, or too little at a time, is a timeout."""
    with any_api.serve(always(kind)) as server:
        setup = any_api.at(server)
        with pytest.raises(ProviderTimeout, match=r"no answer within 0\.3 s"):
            answer(any_api.module, setup, timeout=0.3)


def test_the_key_goes_to_the_server(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is sent in the provider's header; another variable can be named."""
    monkeypatch.setenv("OTHER_KEY", "other-key")
    with provider.serve() as server:
        answer(provider.module, provider.at(server))
        answer(provider.module, provider.at(server, options={"key_env": "OTHER_KEY"}))
        for variable in provider.variables:
            monkeypatch.delenv(variable)
        answer(provider.module, provider.at(server))

    sent = [entry.headers.get(provider.key_header) for entry in server.ledger]
    scheme = "Bearer " if provider.name == "anthropic" else ""
    assert sent[:2] == [f"{scheme}{KEY}", f"{scheme}other-key"]
    assert sent[2] in (None, "none")


def test_unusable_setups_are_refused_at_once(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing key, or a parameter that the API does not accept, is refused before any call."""
    for variable in provider.variables:
        monkeypatch.delenv(variable)
    with pytest.raises(ModelSpecError, match="API_KEY"):
        provider.module.open(setup_for(provider.name, "m"), 1)
    wrong = setup_for(provider.name, "m", "http://127.0.0.1:9", sampling={"tools": []})
    with pytest.raises(ModelSpecError, match="does not take 'tools'"):
        provider.module.open(wrong, 1)
