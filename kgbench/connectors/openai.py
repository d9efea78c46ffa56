# SPDX-License-Identifier: Apache-2.0
"""OpenAI and servers with the same protocol, through the official SDK.

``openai:gpt-4o-mini``, ``openai:NAME@http://host``; the option ``api=responses`` chooses the
responses API instead of chat completions, ``key_env`` names another environment variable for the
key than ``OPENAI_API_KEY``. Other servers may need no key, and get all sampling parameters
unchecked; for OpenAI's own server, parameters that its SDK does not know are refused.
"""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kgbench.connectors import chat_completions, responses
from kgbench.connectors.bodies import count, listed, mapping
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import ANSWER_LIMITS, Option, read
from kgbench.connectors.sdk import Sdk
from kgbench.connectors.servers import Service
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import Json, ModelSetup, Reply, Request

if TYPE_CHECKING:
    from kgbench.connectors.openai_batches import OpenAIBatches

_PATIENCE = 5.0  # seconds for what a server tells about itself
SERVICE = Service("https://api.openai.com", "OPENAI_BASE_URL", ("OPENAI_API_KEY",), "v1")
DECLARED = Declaration(
    specifications=("openai:MODEL", "openai:MODEL@ADDRESS"),
    options={
        "api": Option(
            str,
            "chat",
            allowed=("chat", "responses"),
            meaning="the interface: `/chat/completions` or `/responses`",
        ),
        **SERVICE.options(),
    },
    service=SERVICE,
    extra="openai",
    embeddings=SERVICE,
    native_tools=lambda _: True,
)


def open(  # noqa: A001 - the interface
    setup: ModelSetup, timeout: float, service: Service = SERVICE
) -> OpenAI:
    """Return a connector for a model of OpenAI or of a server with the same protocol.

    The server is at ``setup.base_url``, else ``OPENAI_BASE_URL``, else OpenAI's own. ``service``
    is another service with the same protocol.
    """
    return OpenAI(setup, timeout, service)


def open_batches(setup: ModelSetup, timeout: float) -> OpenAIBatches:
    """Return a client for the same model through the batch interface of its server."""
    from kgbench.connectors.openai_batches import OpenAIBatches

    return OpenAIBatches(setup, timeout)


class OpenAIModel(Sdk):
    """A model at an OpenAI-compatible server, with the protocol that its options choose."""

    def __init__(self, setup: ModelSetup, timeout: float, service: Service = SERVICE) -> None:
        options = read(setup.options, DECLARED.options, setup.spec)
        self._setup = setup
        self._protocol = responses if options["api"] == "responses" else chat_completions
        for name in self._protocol.RESERVED:
            if name in setup.sampling:
                raise ModelSpecError(f"{setup.spec}: '{name}' is not a sampling parameter")
        server = service.server(setup, options, timeout)
        super().__init__("OpenAI", server, server.address.url, timeout, "x-request-id")
        if service.is_own(server.address.url):
            _check_sampling(setup, self._protocol)


def _check_sampling(setup: ModelSetup, protocol: ModuleType) -> None:
    """Refuse sampling parameters that OpenAI's own API does not have."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    parameters = ResponseCreateParamsBase if protocol is responses else CompletionCreateParamsBase
    known = set(parameters.__annotations__) - set(protocol.RESERVED)
    for name in protocol.sampling(setup):
        if name not in known:
            raise ModelSpecError(
                f"{setup.spec} does not take '{name}'; it takes {', '.join(sorted(known))}"
            )


class OpenAI(OpenAIModel):
    """A model at an OpenAI-compatible server; see the module.

    ``context`` is the number of tokens of a conversation, ``slots`` the number of calls that the
    server answers at the same time, after :meth:`read_limits`, if the server tells them.
    """

    context: int | None = None
    slots: int | None = None

    async def read_limits(self) -> None:
        """Ask the server for ``context`` and ``slots``; most servers do not tell them.

        vLLM and SGLang tell the context in their list of models, llama.cpp's server both at
        ``/props``.
        """
        url = urlsplit(self._caller.url)
        listed_models = listed(mapping(await self._get(f"{self._caller.url}/models")).get("data"))
        for model in listed_models:
            if model.get("id") == self._setup.model_id:
                self.context = count(model.get("max_model_len"))
        if self.context is None:
            props = mapping(await self._get(f"{url.scheme}://{url.netloc}/props"))
            of_slot = mapping(props.get("default_generation_settings"))
            self.context = count(of_slot.get("n_ctx")) or None
            self.slots = count(props.get("total_slots")) or None

    async def _get(self, url: str) -> Json:
        """Return the body at an address of the server, or ``None`` if it has nothing there."""
        try:
            async with asyncio.timeout(_PATIENCE):
                body, _ = await self.fetch(url)
        except (TimeoutError, ProviderError):
            return None
        return body

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        body = self._protocol.request(self._setup, request)
        for name in ANSWER_LIMITS if request.at_most is not None else ():
            if isinstance(limit := body.get(name), int):
                body[name] = min(limit, request.at_most or limit)
        return await self.call(f"/{self._protocol.PATH}", body, self._protocol.reply)
