# SPDX-License-Identifier: Apache-2.0
"""The MCP servers of a session, with one connection for each, and the models that use them.

A connection is held by a task of its own, as the SDK requires. A server that cannot be used at all
raises :class:`~kgbench.errors.ProviderRefused`. A failed call raises nothing; its result has the
error. Secrets are hidden before a text is cut: the beginning of a secret at the cut would not be
found.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from kgbench.characters import one_line
from kgbench.connectors import keys
from kgbench.connectors.declared import ToolSource, tool_source
from kgbench.errors import ModelSpecError, ProviderRefused, ResourceError, pip_install
from kgbench.model import Json, ModelSetup
from kgbench.net import environment
from kgbench.net.limits import REPLY, Limits
from kgbench.rdf import canonical_json, digest
from kgbench.secrets import SecretDetector
from kgbench.tool_calls import OUTCOME_KEY, Tool, ToolOutcome, ToolResult, ToolServer

_PAGES: Final = 20  # most pages of a list of tools
_MESSAGE: Final = 500  # characters
_MOST_STARTS: Final = 5  # starts of a server in a session
_ENDING: Final = 8.0  # seconds
_STREAM: Final = Limits(REPLY, REPLY, 86_400.0)  # of a stream; each call has its own timeout
LONGEST: Final = 1 << 16
"""The most characters of a result."""
MOST: Final = 64
"""The most tools of a server that a model is offered."""
_LISTED: Final = 1 << 18  # characters of all tools together
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # names that every provider accepts
_NAMED: Final = 200  # characters of the name of a server
_CUT: Final = "\n(the rest is not shown)"
_FAILED: Final = frozenset((ToolOutcome.ERROR, ToolOutcome.REFUSED))
_DONE: Final = frozenset((ToolOutcome.OK, ToolOutcome.EMPTY, ToolOutcome.TRUNCATED))


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


class Connection:
    """A connection to a server, opened on first use and reopened after the server has ended.

    ``seconds`` is the timeout of connecting and of each call. Raises
    :class:`~kgbench.errors.ModelSpecError` if a variable of the source has no value.
    """

    def __init__(self, source: ToolSource, seconds: float) -> None:
        self._source = source
        self._seconds = seconds
        self._values = keys.of_variables(source.variables, alone=source.address is not None)
        self._secrets = SecretDetector(self._values.values())
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._client: Any = None
        self._http: Any = None  # the HTTP client of a server with an address
        self._listed: list[Any] = []
        self._failure: ProviderRefused | None = None
        self._starts = 0

    async def tools(self, taken: tuple[str, ...]) -> tuple[tuple[Tool, ...], ToolServer]:
        """Return the tools that a model can be offered, without names in ``taken``, and the server.

        Raises :class:`~kgbench.errors.ProviderRefused` if the server cannot be used.
        """
        client = await self._connected()
        offered_tools = usable_tools(self._listed, taken, self._secrets)
        server = server_identity(client.server_info, offered_tools, self._secrets)
        return offered_tools, server

    async def use(self, name: str, tool_arguments: Mapping[str, Json]) -> ToolResult:
        """Use a tool; if that fails, the result has the error."""
        try:
            client = await self._connected()
            async with asyncio.timeout(self._seconds):
                answer = await client.call_tool(name, dict(tool_arguments))
            return result(answer, self._secrets)
        except TimeoutError:
            return _failed(f"the tool server gave no result within {self._seconds:g} seconds")
        except ProviderRefused as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - a foreign server may make the SDK raise anything
            if _is_protocol_error(error) and not _is_closed(error):
                return _failed(self._error_line(error))
            await self._drop()
            cause = getattr(self._http, "misbehaviour", None) or error
            return _failed(
                f"the tool server ended or broke the protocol: {self._error_line(cause)}"
            )

    async def close(self) -> None:
        """Close the connection and end its command, if any."""
        await self._drop()

    async def _connected(self) -> Any:
        async with self._lock:
            # If the first caller was cancelled, its connection may still be opening.
            if self._keeper is not None and (self._keeper.done() or self._client is None):
                await self._drop()
            if self._client is not None:
                return self._client
            if self._failure is not None:  # it failed to start before, so fail at once
                raise self._failure
            try:
                await self._open()
            except ProviderRefused as error:
                self._failure = error
                raise
            return self._client

    async def _open(self) -> None:
        self._starts += 1
        if self._starts > _MOST_STARTS:
            raise ProviderRefused(
                f"the tool server {self._source} has ended {_MOST_STARTS} times: it is not asked "
                "again"
            )
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(ready, self._stop))
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.shield(ready)
        except TimeoutError:
            await self._drop()
            raise ProviderRefused(
                f"the tool server {self._source} gave no list of tools within "
                f"{self._seconds:g} seconds"
            ) from None
        except ProviderRefused:
            await self._drop()
            raise

    async def _keep(self, ready: asyncio.Future[None], stop: asyncio.Event) -> None:
        """Hold the connection open; one task must enter and leave all contexts of the SDK."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._new_client(stack))
                listed: list[Any] = []
                cursor = None
                for _ in range(_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    listed += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(listed) > MOST:
                        break
                self._client, self._listed = client, listed
                if not ready.done():
                    ready.set_result(None)
                await stop.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - exception groups, too; passed to the waiter
            if not ready.done():
                message = (
                    f"the tool server {self._source} cannot be used: {self._error_line(error)}"
                )
                ready.set_exception(ProviderRefused(message))
                # Retrieve the exception, so that asyncio does not log it if nobody waits.
                ready.exception()
        finally:
            self._client = None

    async def _new_client(self, stack: contextlib.AsyncExitStack) -> Any:
        from mcp import Client
        from mcp.client.stdio import get_default_environment
        from mcp.client.streamable_http import streamable_http_client

        from kgbench.connectors import tool_command
        from kgbench.net.client import GuardedClient

        _quiet()
        address = self._source.address
        if address is None:
            environment = {**get_default_environment(), **self._values}
            transport: Any = tool_command.start_command(self._source.command, environment)
        else:
            headers = {}
            for key in self._values.values():  # at most one
                headers["Authorization"] = f"Bearer {key}"
            http = GuardedClient(address, self._seconds, streamed=_STREAM, headers=headers)
            self._http = await stack.enter_async_context(http)
            transport = streamable_http_client(
                address, http_client=http, max_sse_event_size=tool_command.LONGEST
            )
        return Client(transport, read_timeout_seconds=self._seconds, cache=None)

    async def _drop(self) -> None:
        keeper, self._keeper, self._client = self._keeper, None, None
        if keeper is None:
            return
        self._stop.set()
        _, late = await asyncio.wait({keeper}, timeout=_ENDING)
        if late:
            keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)

    def _error_line(self, error: BaseException) -> str:
        """Return the error as one line without keys."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        # Hidden before the line is cut: the beginning of a key at the cut would not be found.
        message = self._secrets.hide(f"{type(error).__name__}: {error}")
        return one_line(message)[:_MESSAGE]


def _is_protocol_error(error: Exception) -> bool:
    from mcp import MCPError

    return isinstance(error, MCPError)


def _is_closed(error: Exception) -> bool:
    from mcp.types import CONNECTION_CLOSED

    return getattr(getattr(error, "error", None), "code", None) == CONNECTION_CLOSED


def _failed(message: str) -> ToolResult:
    return ToolResult(f"error: {message}", ToolOutcome.ERROR)


def _quiet() -> None:
    """Silence the SDK's log, which repeats the messages of servers."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)


def check_installed() -> None:
    """Raise :class:`~kgbench.errors.ResourceError` if the SDK is not installed."""
    try:
        import mcp  # noqa: F401 - imported later by the connection
    except ModuleNotFoundError as error:
        raise ResourceError(
            f"{error.name} is not installed: {pip_install('kgbench[mcp]')}"
        ) from None


def usable_tools(
    listed: Iterable[Any], taken: Iterable[str], secrets: SecretDetector
) -> tuple[Tool, ...]:
    """Return the listed tools of a server that a model can be offered, in order.

    ``secrets`` are hidden in descriptions and schemas. Tools are left out if a provider would
    refuse their name, if the name is repeated or contains a secret, or if the task has a tool of
    that name (``taken``). Raises :class:`~kgbench.errors.ProviderRefused` if no tool is left, or if
    their descriptions are too long.
    """
    names = set(taken)
    tools: list[Tool] = []
    for tool in listed:
        usable = _NAME.fullmatch(tool.name) and not secrets.tells(tool.name)
        if usable and tool.name not in names and len(tools) < MOST:
            names.add(tool.name)
            description = secrets.hide(tool.description or "")
            tools.append(Tool(tool.name, description, secrets.hide_in(tool.input_schema)))
    if not tools:
        raise ProviderRefused("the tool server offers no tool that a model can be given")
    if len(canonical_json(_as_json(tools))) > _LISTED:
        raise ProviderRefused(
            f"the tools of the tool server have more than {_LISTED} characters of descriptions"
        )
    return tuple(tools)


def server_identity(info: Any, tools: Sequence[Tool], secrets: SecretDetector) -> ToolServer:
    """Return the identity of a server: its own name and version, and the digest of ``tools``.

    ``secrets`` are hidden in name and version.
    """
    name, version = (
        one_line(secrets.hide(str(getattr(info, part, None) or "")))[:_NAMED]
        for part in ("name", "version")
    )
    return ToolServer(name or "unnamed", version, digest(canonical_json(_as_json(tools))))


def _as_json(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.parameters)}
        for tool in tools
    ]


def result(response: Any, secrets: SecretDetector) -> ToolResult:
    """Convert the result of a call to text, without ``secrets``.

    Content that is not text is only mentioned.
    """
    parts = [
        block.text if block.type == "text" else f"({block.type.replace('_', ' ')} is not shown)"
        for block in response.content
    ]
    text = "\n".join(parts)
    if not text and response.structured_content is not None:
        text = json.dumps(response.structured_content, ensure_ascii=False)
    text = secrets.hide(text)
    outcome = _outcome(response, text)
    if len(text) > LONGEST:
        text = text[: LONGEST - len(_CUT)] + _CUT
        outcome = ToolOutcome.TRUNCATED if outcome is ToolOutcome.OK else outcome
    return ToolResult(text, outcome)


def _outcome(response: Any, text: str) -> ToolOutcome:
    """Return the outcome of a call: the server's claim if plausible, otherwise a derived one."""
    possible = _FAILED if response.is_error else _DONE
    claimed = (response.meta or {}).get(OUTCOME_KEY)
    if isinstance(claimed, str) and claimed in possible:
        return ToolOutcome(claimed)
    if response.is_error:
        return ToolOutcome.ERROR
    return ToolOutcome.OK if text.strip() else ToolOutcome.EMPTY
