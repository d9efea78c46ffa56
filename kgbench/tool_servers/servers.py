# SPDX-License-Identifier: Apache-2.0
"""The MCP servers of a session: which model gets the tools of which, each connected to once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from kgbench.connectors.tool_source import ToolSource, tool_source
from kgbench.errors import ModelSpecError
from kgbench.model import Json, ModelSetup
from kgbench.tool_calls import Tool, ToolResult, ToolServer
from kgbench.tool_servers.connection import Connection, check_installed


class Equipment(NamedTuple):
    """The tools of a server for one dialogue, and what uses them."""

    tools: tuple[Tool, ...]
    server: ToolServer
    connection: Connection

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools."""
        return frozenset(tool.name for tool in self.tools)

    async def use(self, name: str, given: Mapping[str, Json]) -> ToolResult:
        """Use a tool; whatever the server does, there is a result."""
        return await self.connection.use(name, given)


class ToolServers:
    """The servers that the models of a plan name; open inside its context.

    ``seconds`` limit connecting and each call. Raises :class:`~kgbench.errors.ModelSpecError` for a
    model that names a command where commands must not be started (``may_start``), and
    :class:`~kgbench.errors.ResourceError` where the SDK is not installed.
    """

    def __init__(
        self, models: Iterable[ModelSetup], seconds: float, *, may_start: bool = False
    ) -> None:
        self._connections: dict[ToolSource, Connection] = {}
        self._of: dict[str, Connection] = {}
        for model in models:
            source = tool_source(model)
            if source is None:
                continue
            if source.command and not may_start:
                raise ModelSpecError(
                    f"{model.label} gets the tools of a command ({source}), which is started only "
                    "where you say so: add --start-tool-servers"
                )
            check_installed()
            if source not in self._connections:
                self._connections[source] = Connection(source, seconds)
            self._of[model.iri] = self._connections[source]

    async def equipment(self, model: ModelSetup, taken: Iterable[str]) -> Equipment | None:
        """Return what ``model`` gets beside the tools ``taken``; ``None`` if it names no server.

        Raises :class:`~kgbench.errors.ProviderRefused` if the server cannot be used.
        """
        connection = self._of.get(model.iri)
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
