# SPDX-License-Identifier: Apache-2.0
"""Anthropic's models through the official SDK: ``anthropic:MODEL``, key in ``ANTHROPIC_API_KEY``.

The API requires a limit of answer tokens; without ``max_tokens`` in the configuration it is
:data:`MAX_TOKENS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kgbench.connectors import calls, messages
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import read, sampling
from kgbench.connectors.servers import Server, Service
from kgbench.errors import ModelSpecError
from kgbench.model import Json, ModelSetup, Reply, Request

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from kgbench.connectors.anthropic_batches import AnthropicBatches

MAX_TOKENS = 8192
SERVICE = Service(
    "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",), "v1", fixed=True
)
DECLARED = Declaration(
    specifications=("anthropic:MODEL", "anthropic:MODEL@ADDRESS"),
    options=SERVICE.options(),
    service=SERVICE,
    extra="anthropic",
    native_tools=lambda _: True,
    sampling=tuple(messages.SAMPLING),
)


def open(setup: ModelSetup, timeout: float) -> Anthropic:  # noqa: A001 - the interface
    """Return a connector for a model of Anthropic or of a server with the same protocol."""
    return Anthropic(setup.model_id, *_parts(setup, timeout))


def open_batches(setup: ModelSetup, timeout: float) -> AnthropicBatches:
    """Return a client for the same model through the message batches of its server."""
    from kgbench.connectors.anthropic_batches import AnthropicBatches

    return AnthropicBatches(setup.model_id, *_parts(setup, timeout))


def _parts(setup: ModelSetup, timeout: float) -> tuple[dict[str, Json], AsyncAnthropic, Caller]:
    options = read(setup.options, DECLARED.options, setup.spec)
    parameters = {"max_tokens": MAX_TOKENS, **sampling(setup, messages.SAMPLING)}
    server = SERVICE.server(setup, options, timeout)
    return parameters, _client(server, timeout), server.caller


def _client(server: Server, timeout: float) -> AsyncAnthropic:
    url = server.address.base  # the SDK appends the version of the API
    try:
        import anthropic

        http = calls.http_client(url, timeout)
    except ImportError:
        raise ModelSpecError(
            "the Anthropic SDK is not installed: pip install 'kgbench[anthropic]'"
        ) from None
    return anthropic.AsyncAnthropic(
        api_key=server.key or "none",
        base_url=url,
        timeout=http.timeout,
        max_retries=0,
        http_client=http,
    )


class AnthropicConnector(calls.SdkConnector["AsyncAnthropic"]):
    """A model at Anthropic's API and the client's connections to it."""

    def __init__(
        self, model_id: str, parameters: dict[str, Json], client: AsyncAnthropic, caller: Caller
    ) -> None:
        super().__init__(client, caller)
        self._model_id = model_id
        self._parameters = parameters


class Anthropic(AnthropicConnector):
    """A model at the messages API; see the module."""

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        import anthropic

        return await calls.call_sdk(
            anthropic, self._caller, lambda: self._send(request), messages.reply, "request-id"
        )

    async def _send(self, request: Request) -> Any:
        """Send a request; all parameters go into the body, as the SDK has no arguments for some."""
        import anthropic

        headers = None if self._caller.secrets else {"Authorization": anthropic.omit}
        return await self._client.messages.with_raw_response.create(
            model=self._model_id,
            messages=cast("Any", messages.request_messages(request)),
            max_tokens=self._parameters["max_tokens"],
            extra_headers=headers,
            extra_body={**self._parameters, **messages.tools_of(request)},
        )
