# SPDX-License-Identifier: Apache-2.0
"""Embeddings, with the real SDK, against a server that speaks the real protocol."""

from __future__ import annotations

import traceback

import pytest

from kgbench.connectors.openai import PORTION, embed
from kgbench.errors import ModelSpecError, ProviderError
from tests.connectors import FAILURES_AND_SILENCE, KEY, PATIENCE, SHORT, setup_for
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, Response, tokens
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.replies import Prepared
from tests.support.servers.scripts import always


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_each_text_has_its_vector() -> None:
    """Each text gets its vector, whatever the order of the response; the model is named."""
    texts = [f"text {k}" for k in range(PORTION + 3)]
    with LoopbackServer(OpenAISpeech(embed=lambda text: [float(text[5:]), 1.0])) as server:
        found = embed(setup_for("openai", "near", server.url), texts)

    assert found.vectors == [[float(k), 1.0] for k in range(len(texts))]
    assert found.model == "near-2025-01-01"
    assert found.tokens == sum(map(tokens, texts))
    assert [len(entry.body["input"]) for entry in server.ledger] == [PORTION, 3]
    assert server.ledger[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("kind", "error"), FAILURES_AND_SILENCE.items())
def test_a_failure_is_the_error_it_means(kind: str, error: type[ProviderError]) -> None:
    """A failure is one call and one error, which names the model and no key."""
    with LoopbackServer(OpenAISpeech(echo_key=True), script=always(kind)) as server:
        setup = setup_for("openai", "near", server.url)
        with pytest.raises(ProviderError) as raised:
            embed(setup, ["a", "b"], SHORT if kind == scripts.HANG else PATIENCE)

        assert error is type(raised.value)
        assert "openai:near" in str(raised.value)
        assert KEY not in "".join(traceback.format_exception(raised.value))
        assert len(server.requests(1)) == 1


@pytest.mark.parametrize(
    "vector", [[], ["1"], [float("nan")], [True], None, {"a": 1}, [1.0] * 2], ids=repr
)
def test_what_is_no_vector_is_refused(vector: object) -> None:
    """An invalid vector in any place is refused."""
    speech = OpenAISpeech(embed=lambda text: vector if text == "odd" else [1.0])  # type: ignore[return-value]
    with LoopbackServer(speech) as server:
        setup = setup_for("openai", "near", server.url)
        with pytest.raises(ProviderError, match="embeddings"):
            embed(setup, ["odd", "even"])


def test_vectors_of_all_requests_have_one_length() -> None:
    """Vectors of another length in a later response are refused."""
    texts = [f"text {k}" for k in range(PORTION + 1)]
    speech = OpenAISpeech(embed=lambda text: [1.0] * (2 if text == texts[-1] else 1))
    with LoopbackServer(speech) as server:
        setup = setup_for("openai", "near", server.url)
        with pytest.raises(ProviderError, match=r"openai:near.*differ in length"):
            embed(setup, texts)


def test_a_filter_gives_no_vectors() -> None:
    """Texts that a filter refuses have no embeddings, which is an error."""
    refused = Response(400, {"error": {"code": "content_filter", "message": "not this"}})
    with LoopbackServer(Prepared(refused, prefix="/v1")) as server:
        setup = setup_for("openai", "near", server.url)
        with pytest.raises(ProviderError, match=r"openai:near.*refused by a filter"):
            embed(setup, ["a"])


@pytest.mark.parametrize(
    "setup",
    [
        setup_for("anthropic", "m"),
        setup_for("baseline", "oracle"),
        setup_for("openai", "m", "http://h/v1", sampling={"temperature": 0}),
    ],
)
def test_models_without_embeddings_are_refused(setup: object) -> None:
    """A model without embeddings is refused before any call."""
    with pytest.raises(ModelSpecError, match="gives no embeddings"):
        embed(setup, ["a"])  # type: ignore[arg-type]
