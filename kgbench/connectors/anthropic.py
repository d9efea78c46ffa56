# SPDX-License-Identifier: Apache-2.0
"""Anthropic's models through the official SDK: ``anthropic:MODEL``, key in ``ANTHROPIC_API_KEY``.

The API requires a limit of answer tokens; without ``max_tokens`` in the configuration it is
:data:`MAX_TOKENS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgbench.connectors import messages
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import read, sampling
from kgbench.connectors.sdk import Sdk
from kgbench.connectors.servers import Service
from kgbench.model import Json, ModelSetup, Reply, Request

if TYPE_CHECKING:
    from kgbench.connectors.anthropic_batches import AnthropicBatches

PATH = "/v1/messages"
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
    return Anthropic(setup, timeout)


def open_batches(setup: ModelSetup, timeout: float) -> AnthropicBatches:
    """Return a client for the same model through the message batches of its server."""
    from kgbench.connectors.anthropic_batches import AnthropicBatches

    return AnthropicBatches(setup, timeout)


class AnthropicModel(Sdk):
    """A model at Anthropic's API or at a server with the same protocol."""

    def __init__(self, setup: ModelSetup, timeout: float) -> None:
        options = read(setup.options, DECLARED.options, setup.spec)
        parameters = {"max_tokens": MAX_TOKENS, **sampling(setup, messages.SAMPLING)}
        self._constant = {"model": setup.model_id, **parameters}
        server = SERVICE.server(setup, options, timeout)
        # The SDK appends the version of the API to the address.
        super().__init__("Anthropic", server, server.address.base, timeout, "request-id")

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request for the next answer."""
        return {**self._constant, **messages.request(request)}


class Anthropic(AnthropicModel):
    """A model at the messages API; see the module."""

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        return await self.call(PATH, self.body(request), messages.reply)
