# SPDX-License-Identifier: Apache-2.0
"""The MCP server, based on the official SDK: over HTTP, or over standard input and output.

HTTP is stateless: each request is answered with one JSON document, and no sessions are kept.
Requests pass the limits of all requests before they reach the SDK.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final

import mcp.types as wire
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kgbench.plugins.agents.tool_sets import ToolSet, run_tool_call
from kgbench.serve.admission import DEEPEST
from kgbench.serve.app import MethodRoute, SecurityMiddleware, refusal
from kgbench.serve.authorisation import require_own_page
from kgbench.serve.refusals import Refused
from kgbench.serve.request_bodies import body, is_deeper
from kgbench.serve.settings import Settings
from kgbench.tool_calls import OUTCOME_KEY, ToolOutcome, ToolResult

_FAILED: Final = (ToolOutcome.ERROR, ToolOutcome.REFUSED)


def server(offered: ToolSet) -> Server[Any]:
    """Return an MCP server that offers the given tools."""

    async def list_tools(_: Any, __: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(
            tools=[
                wire.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    annotations=wire.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for tool in offered.tools
            ]
        )

    async def call_tool(_: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        return _wire_result(await run_tool_call(offered, params.name, params.arguments))

    return Server(
        "kgbench",
        version=version("kgbench"),
        instructions=offered.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _wire_result(result: ToolResult) -> wire.CallToolResult:
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=result.text)],
        is_error=result.outcome in _FAILED,
        _meta={OUTCOME_KEY: str(result.outcome)},
    )


class Endpoint:
    """The HTTP endpoint for MCP messages."""

    path = "/mcp"
    methods = "POST, OPTIONS"

    def __init__(self, offered: ToolSet, settings: Settings) -> None:
        self._offered = offered
        self._settings = settings
        self._manager = StreamableHTTPSessionManager(
            server(offered),
            json_response=True,
            stateless=True,
            max_request_body_size=settings.limits.request_bytes,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer messages within this context."""
        async with self._offered.running(), self._manager.run():
            yield

    async def __call__(self, request: Request) -> Response:
        """Answer one message; raises :class:`~kgbench.serve.refusals.Refused`."""
        if request.method != "POST":
            raise Refused(405, "send MCP messages by POST", {"Allow": self.methods})
        settings = self._settings
        require_own_page(request, settings.public, shared=settings.shared_with)
        sent = await body(request, settings.limits)
        if is_deeper(sent, DEEPEST, json=True):
            raise Refused(400, f"the message is nested deeper than {DEEPEST} levels")
        return _SdkResponse(self._manager.handle_request, sent)


def application(offered: ToolSet, settings: Settings) -> ASGIApp:
    """Return an ASGI application that offers only the given tools."""
    endpoint = Endpoint(offered, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    async def failed(_: Request, __: Exception) -> Response:
        return PlainTextResponse("the server failed on this request; its log says more\n", 500)

    return SecurityMiddleware(
        Starlette(
            routes=[MethodRoute(endpoint.path, endpoint, endpoint.methods)],
            lifespan=lifespan,
            exception_handlers={Refused: refusal, Exception: failed},
        ),
        settings,
    )


class _SdkResponse(Response):
    """A response by the SDK to a request whose body has been read already."""

    def __init__(
        self, handle: Callable[[Scope, Receive, Send], Awaitable[None]], sent: bytes
    ) -> None:
        super().__init__()
        self._handle = handle
        self._sent = sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting = [{"type": "http.request", "body": self._sent, "more_body": False}]

        async def receiving() -> Any:
            return waiting.pop() if waiting else await receive()

        await self._handle(scope, receiving, send)


async def over_stdio(offered: ToolSet) -> None:
    """Serve one client over standard input and output until its input ends."""
    running = server(offered)
    async with offered.running(), stdio_server() as (incoming, outgoing):
        await running.run(incoming, outgoing, running.create_initialization_options())
