# SPDX-License-Identifier: Apache-2.0
"""Starting an MCP server: over HTTP, or for one client over standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from kgbench.plugins.agents import mcp_server as server
from kgbench.plugins.agents.mcp_graph import GraphTools, case_of
from kgbench.plugins.agents.mcp_store import StoreTools
from kgbench.plugins.agents.tool_sets import ToolSet
from kgbench.serve.app import application
from kgbench.serve.service import Service
from kgbench.serve.settings import Settings
from kgbench.serve.startup import run
from kgbench.serve.startup import server as http_server

_STORE = "serving {location}\npages  {{url}}\nSPARQL {{url}}sparql\nMCP    {{url}}mcp\n"
_GRAPH = "serving the graph {graph}\nMCP    {{url}}mcp\n"


def over_http(settings: Settings, graph: str | None, host: str, port: int) -> None:
    """Serve the store with its tools, or only the tools of a graph, until SIGTERM or Ctrl-C.

    Raises :class:`~kgbench.errors.TaskError` for a graph that cannot be read.
    """
    if graph is None:
        banner = _STORE.format(location=settings.location)

        def messages(service: Service) -> server.Endpoint:
            return server.Endpoint(StoreTools(service), settings)

        run(http_server(settings, application(settings, messages)), banner, host, port)
        return
    offered = GraphTools(case_of(graph), graph, settings.limits)
    banner = _GRAPH.format(graph=graph)
    run(http_server(settings, server.application(offered, settings)), banner, host, port)


def over_stdio(settings: Settings, graph: str | None) -> None:
    """Serve one client until its input ends; raises the errors of :func:`over_http`."""
    case = None if graph is None else case_of(graph)

    async def serving() -> None:
        async with contextlib.AsyncExitStack() as stack:
            if graph is not None and case is not None:
                offered: ToolSet = GraphTools(case, graph, settings.limits)
            else:
                offered = await stack.enter_async_context(_of_store(settings))
            await server.over_stdio(offered)

    sys.stderr.write(f"serving {graph or settings.location} over standard input and output\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving())


@contextlib.asynccontextmanager
async def _of_store(settings: Settings) -> AsyncIterator[StoreTools]:
    service = Service(settings)
    async with service.running():
        yield StoreTools(service)
