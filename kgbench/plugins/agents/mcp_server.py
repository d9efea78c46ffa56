# SPDX-License-Identifier: Apache-2.0
"""The MCP server, based on the official SDK: over HTTP, or over standard input and output.

HTTP is stateless: each request is answered with one JSON document, and no sessions are kept.
Requests pass the limits of all requests before they reach the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol

import mcp.types as wire
import pyoxigraph as ox
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kgbench.api import Case, Json, PageRefused, PageSettings, TaskError, Tool, ToolCall, ToolResult
from kgbench.execution.judging import JudgeLimits, ToolRequest, ToolRun, answer_batch
from kgbench.execution.pools import executor
from kgbench.plugins.agents import graph_tools
from kgbench.plugins.agents.mcp_store import StoreTools
from kgbench.serve.admission import DEEPEST
from kgbench.serve.app import MethodRoute, SecurityMiddleware, application, refusal
from kgbench.serve.requests import body, is_deeper
from kgbench.serve.service import Service
from kgbench.serve.settings import Limits, require_own_page
from kgbench.serve.startup import run
from kgbench.serve.startup import server as http_server
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tool_calls import OUTCOME_KEY, ToolOutcome
from kgbench.tools import wording

_SUITE: Final = "served"
_FORMATS: Final = {".ttl": ox.RdfFormat.TURTLE, ".nt": ox.RdfFormat.N_TRIPLES}
_WAITING: Final = 100  # maximum number of waiting calls
_BUSY: Final = ToolResult("error: too many calls wait: try again later", ToolOutcome.ERROR)


def case_of(name: str) -> Case:
    """Return a case with the graph ``name``: the label of a task with tools, or a file.

    Files are Turtle (``.ttl``) or N-Triples (``.nt``). Raises :class:`~kgbench.errors.TaskError`
    for anything else.
    """
    task = catalogue.labelled_tasks().get(name)
    if task is not None:
        module = catalogue.module(task.task_class)
        if not hasattr(module, "tools"):
            raise TaskError(f"the task {name} has no tools: name one that has, or a file")
        return module.cases(task, _SUITE, 0, 1)[0]
    path = Path(name)
    if path.suffix.lower() not in _FORMATS:
        raise TaskError(
            f"'{name}' is neither the label of a task with tools nor a file ending in .ttl or .nt"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
        for _ in ox.parse(text.encode("utf-8"), _FORMATS[path.suffix.lower()]):
            pass  # report syntax errors now, not at each call
    except (OSError, UnicodeError, SyntaxError, ValueError) as error:
        raise TaskError(f"the graph {name} cannot be read: {error}") from None
    data = {"graphTurtle": text, "tools": graph_tools.tools_as_json()}
    return catalogue.make_case(_SUITE, "Text2SparqlTools", {}, data)


class GraphTools:
    """The tools search, describe, schema and query over the graph of a case."""

    def __init__(self, case: Case, label: str, limits: Limits) -> None:
        self._case = case
        self._limits = JudgeLimits(seconds=limits.seconds, memory_bytes=limits.memory_bytes)
        self._workers = limits.workers
        self._executor: Any = None
        self._waiting = 0
        self.tools: Sequence[Tool] = tuple(
            tool for tool in tool_prompts.tools_of(case) if not tool.ends
        )
        self.instructions = (
            f"Tools over the knowledge graph {label}, which cannot be changed. Look at the schema, "
            "search for names, describe what is found, then query with SPARQL."
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Allow worker processes within this context; all end with it."""
        self._executor = executor(f"local:{self._workers}")
        try:
            yield
        finally:
            await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    async def use(self, name: str, values: Mapping[str, Json]) -> ToolResult:
        """Call a tool in a process with limits of time and memory."""
        if self._waiting >= _WAITING:
            return _BUSY
        self._waiting += 1
        try:
            request = ToolRequest(self._case, ToolCall(name, ""), values)
            work = self._executor.submit(answer_batch, [request], self._limits)
            (used,) = await asyncio.wrap_future(work)
        finally:
            self._waiting -= 1
        assert isinstance(used, ToolRun)
        return used.result


LONGEST: Final = 1 << 16
"""Maximum length of a result in characters."""
_CUT: Final = "\n(the rest is not shown)"
_FAILED: Final = (ToolOutcome.ERROR, ToolOutcome.REFUSED)
_STORE = "serving {location}\npages  {{url}}\nSPARQL {{url}}sparql\nMCP    {{url}}mcp\n"
_GRAPH = "serving the graph {graph}\nMCP    {{url}}mcp\n"


class ToolSet(Protocol):
    """A set of tools that a server offers."""

    @property
    def instructions(self) -> str:
        """Instructions for clients about the tools as a whole."""
        ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools in the order in which they are listed."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which the tools can be called."""
        ...

    async def use(self, name: str, values: Mapping[str, Json]) -> ToolResult:
        """Call the tool ``name``; the arguments match its schema."""
        ...


async def run_tool_call(
    offered: ToolSet, name: str, values: Mapping[str, Any] | None
) -> ToolResult:
    """Validate and run a call from a client; errors become results, long results are cut."""
    tool = next((candidate for candidate in offered.tools if candidate.name == name), None)
    if tool is None:
        known = ", ".join(candidate.name for candidate in offered.tools)
        return _error(f"there is no tool '{name[:100]}'; there are {known}")
    try:
        parsed = wording.read_arguments(json.dumps(values or {}))
    except ValueError as error:
        return _error(str(error))
    if problem := wording.fault_in(tool, parsed):
        return _error(problem)
    result = await offered.use(name, parsed)
    if len(result.text) <= LONGEST:
        return result
    outcome = ToolOutcome.TRUNCATED if result.outcome is ToolOutcome.OK else result.outcome
    return ToolResult(result.text[: LONGEST - len(_CUT)] + _CUT, outcome)


def _error(message: str) -> ToolResult:
    return ToolResult(f"error: {message}", ToolOutcome.ERROR)


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

    def __init__(self, offered: ToolSet, settings: PageSettings) -> None:
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
        """Answer one message; raises :class:`~kgbench.serve.admission.Refused`."""
        if request.method != "POST":
            raise PageRefused(405, "send MCP messages by POST", {"Allow": self.methods})
        settings = self._settings
        require_own_page(request, settings.public, shared=settings.shared_with)
        sent = await body(request, settings.limits)
        if is_deeper(sent, DEEPEST, json=True):
            raise PageRefused(400, f"the message is nested deeper than {DEEPEST} levels")
        return _SdkResponse(self._manager.handle_request, sent)


def application_of(offered: ToolSet, settings: PageSettings) -> ASGIApp:
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
            exception_handlers={PageRefused: refusal, Exception: failed},
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


def over_http(settings: PageSettings, graph: str | None, host: str, port: int) -> None:
    """Serve the store with its tools, or only the tools of a graph, until SIGTERM or Ctrl-C.

    Raises :class:`~kgbench.errors.TaskError` for a graph that cannot be read.
    """
    if graph is None:
        banner = _STORE.format(location=settings.location)

        def messages(service: Service) -> Endpoint:
            return Endpoint(StoreTools(service), settings)

        run(http_server(settings, application(settings, messages)), banner, host, port)
        return
    offered = GraphTools(case_of(graph), graph, settings.limits)
    banner = _GRAPH.format(graph=graph)
    run(http_server(settings, application_of(offered, settings)), banner, host, port)


def over_stdio(settings: PageSettings, graph: str | None) -> None:
    """Serve one client until its input ends; raises the errors of :func:`over_http`."""
    case = None if graph is None else case_of(graph)

    async def serving() -> None:
        async with contextlib.AsyncExitStack() as stack:
            if graph is not None and case is not None:
                offered: ToolSet = GraphTools(case, graph, settings.limits)
            else:
                offered = await stack.enter_async_context(_of_store(settings))
            running = server(offered)
            async with offered.running(), stdio_server() as (incoming, outgoing):
                await running.run(incoming, outgoing, running.create_initialization_options())

    sys.stderr.write(f"serving {graph or settings.location} over standard input and output\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving())


@contextlib.asynccontextmanager
async def _of_store(settings: PageSettings) -> AsyncIterator[StoreTools]:
    service = Service(settings)
    async with service.running():
        yield StoreTools(service)
