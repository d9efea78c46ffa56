# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of all connectors: a case, setups, and single requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Case, ModelSetup, Reply, Request
from tests.support.servers import scripts
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.openai_server import OpenAISpeech

CASE = Case(
    iri="https://w3id.org/kgbench/case/test/Probe/case/0",
    suite="https://w3id.org/kgbench/suite/test",
    task_class="Probe",
    parameters={},
    data={"answer": "one\ntwo\nthree"},
    digest="0" * 64,
)
KEY = "sk-planted-0123456789abcdef"
PATIENCE = 60.0  # seconds for a call that must be answered: far more than a busy machine needs
SHORT = 2.0  # seconds for a call that must reach its deadline; every machine sends it long before

#: The server that speaks the protocol of each connector with an SDK, and the SDKs that are extras.
SPEECHES = {
    "openai": OpenAISpeech,
    "vllm": OpenAISpeech,
    "anthropic": AnthropicSpeech,
    "google": GoogleSpeech,
    "google_legacy": GoogleSpeech,
}
SDKS = {
    "anthropic": "anthropic",
    "google": "google.genai",
    "google_legacy": "google.generativeai",
}
KEYS = ("OPENAI_API_KEY", "VLLM_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")

#: The error for each kind of failed response.
FAILURES = {
    scripts.RATE_LIMIT: RateLimited,
    scripts.QUOTA: ProviderRefused,
    scripts.SERVER_ERROR: ProviderError,
    scripts.OVERLOADED: ProviderError,
    scripts.CUT: ProviderError,
    scripts.GARBAGE: ProviderError,
    scripts.MALFORMED: ProviderError,
    scripts.NOT_JSON: ProviderError,
    scripts.EMPTY_CHOICES: ProviderError,
    scripts.UNAUTHORISED: ProviderRefused,
    scripts.UNKNOWN_MODEL: ProviderRefused,
    scripts.BAD_REQUEST: ProviderRefused,
    scripts.CONTEXT: ContextTooLong,
    scripts.TOO_LARGE: ContextTooLong,
}
#: The same, and no response within the timeout of a call.
FAILURES_AND_SILENCE = {**FAILURES, scripts.HANG: ProviderTimeout}


def setup_for(
    connector: str, model_id: str, base_url: str | None = None, **rest: Any
) -> ModelSetup:
    """Return a model setup; ``rest`` are its ``sampling`` and ``options``."""
    return ModelSetup(
        iri=f"https://w3id.org/kgbench/model/{model_id}",
        label=model_id,
        connector=connector,
        model_id=model_id,
        spec=f"{connector}:{model_id}" + (f"@{base_url}" if base_url else ""),
        base_url=base_url,
        **rest,
    )


def asked(*messages: str, seed: str = "0") -> Request:
    """Return a request with ``messages``, by default one short prompt."""
    return Request(messages or ("What is a triple?",), CASE, seed)


def replies(
    module: ModuleType, setup: ModelSetup, requests: Sequence[Request], timeout: float = PATIENCE
) -> list[Reply]:
    """Return the replies of one connector to ``requests``, sent one after the other."""

    async def talk() -> list[Reply]:
        async with module.open(setup, timeout) as connector:
            return [await connector.ask(request) for request in requests]

    return asyncio.run(talk())


def answer(
    module: ModuleType, setup: ModelSetup, *messages: str, timeout: float = PATIENCE
) -> Reply:
    """Return the reply to one conversation."""
    return replies(module, setup, [asked(*messages)], timeout)[0]
