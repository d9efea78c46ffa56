# SPDX-License-Identifier: Apache-2.0
"""The MCP servers of a session, with one connection for each, and the models that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from kgbench.connectors.options import ToolSource, tool_source
from kgbench.errors import ModelSpecError
from kgbench.model import Json, ModelSetup
from kgbench.net import environment
from kgbench.tool_calls import Tool, ToolResult, ToolServer
from kgbench.tool_servers.connection import Connection, check_installed


class Equipment(NamedTuple):
    """The tools of a server for a dialogue, with the connection to use them."""

    tools: tuple[Tool, ...]
    server: ToolServer
    connection: Connection

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools."""
        return frozenset(tool.name for tool in self.tools)

    async def use(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Use a tool; if that fails, the result has the error."""
        return await self.connection.use(name, arguments)


class ToolServers:
    """The MCP servers of the models of a plan; a context manager that closes their connections.

    ``seconds`` is the timeout of connecting and of each call. Raises
    :class:`~kgbench.errors.ModelSpecError` if a model names a command and ``may_start`` is false,
    :class:`~kgbench.errors.ResourceError` if the SDK is not installed, and
    :class:`~kgbench.errors.EnvironmentVariableError` for unusable certificates or proxies.
    """

    def __init__(
        self, models: Iterable[ModelSetup], seconds: float, *, may_start: bool = False
    ) -> None:
        self._connections: dict[ToolSource, Connection] = {}
        self._connection_of: dict[str, Connection] = {}
        for model in models:
            source = tool_source(model)
            if source is None:
                continue
            if source.command and not may_start:
                raise ModelSpecError(
                    f"{model.label} uses the tools of a command ({source}), which kgbench starts "
                    "only with the option --start-tool-servers"
                )
            check_installed()
            if source.address is not None:
                environment.check(source.address)
            if source not in self._connections:
                self._connections[source] = Connection(source, seconds)
            self._connection_of[model.iri] = self._connections[source]

    async def equipment(self, model: ModelSetup, taken: Iterable[str]) -> Equipment | None:
        """Return the equipment of ``model``, without tools whose names are in ``taken``.

        ``None`` if the model has no server. Raises :class:`~kgbench.errors.ProviderRefused` if the
        server cannot be used.
        """
        connection = self._connection_of.get(model.iri)
        if connection is None:
            return None
        tools, server = await connection.tools(tuple(taken))
        return Equipment(tools, server, connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for connection in self._connections.values():
            await connection.close()
