# SPDX-License-Identifier: Apache-2.0
"""One connection to an MCP server, kept by a task of its own, as the SDK demands.

Nothing that a server does raises anything but :class:`~kgbench.errors.ProviderRefused` where it
cannot be used at all; a call that fails is a result that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, Final

from kgbench.characters import one_line
from kgbench.connectors import keys
from kgbench.connectors.tool_source import ToolSource
from kgbench.errors import ProviderRefused, ResourceError
from kgbench.model import Json
from kgbench.secrets.echoes import Echoes
from kgbench.tool_calls import Tool, ToolOutcome, ToolResult, ToolServer
from kgbench.tool_servers import results

_PAGES: Final = 20  # of a list of tools
_MESSAGE: Final = 500  # characters
_MOST_STARTS: Final = 5  # of one server in a session
_ENDING: Final = 8.0  # seconds


class Connection:
    """A server that is connected to when first needed, and again after it has ended.

    ``seconds`` limit connecting, and each call. Raises
    :class:`~kgbench.errors.ModelSpecError` for a variable that has no value.
    """

    def __init__(self, source: ToolSource, seconds: float) -> None:
        self._source = source
        self._seconds = seconds
        self._values = keys.of_variables(source.variables)
        self._echoes = Echoes(self._values.values())
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._client: Any = None
        self._http: Any = None  # what asks the address of the server, where it has one
        self._listed: list[Any] = []
        self._failure: ProviderRefused | None = None
        self._starts = 0

    async def tools(self, taken: tuple[str, ...]) -> tuple[tuple[Tool, ...], ToolServer]:
        """Return the tools that a model can be offered beside those ``taken``, and who offers them.

        Raises :class:`~kgbench.errors.ProviderRefused`.
        """
        client = await self._connected()
        found = results.offered(self._listed, taken)
        return found, results.identified(client.server_info, found)

    async def use(self, name: str, given: Mapping[str, Json]) -> ToolResult:
        """Use a tool; whatever the server does, there is a result."""
        try:
            client = await self._connected()
            async with asyncio.timeout(self._seconds):
                answer = await client.call_tool(name, dict(given))
            found = results.result(answer)
        except TimeoutError:
            return _failed(f"the tool server gave no result within {self._seconds:g} seconds")
        except ProviderRefused as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - a foreign server may make the SDK raise anything
            if _is_protocol_error(error) and not _is_closed(error):
                return _failed(self._told(error))
            await self._drop()
            cause = getattr(self._http, "misbehaviour", None) or error
            return _failed(f"the tool server ended or broke the protocol: {self._told(cause)}")
        return ToolResult(self._echoes.hide(found.text), found.outcome)

    async def close(self) -> None:
        """End the connection, and the command if it was started here."""
        await self._drop()

    async def _connected(self) -> Any:
        async with self._lock:
            # One whose first caller was cancelled may still be on its way.
            if self._keeper is not None and (self._keeper.done() or self._client is None):
                await self._drop()
            if self._client is not None:
                return self._client
            if self._failure is not None:  # it failed to start: nobody waits for that again
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
        """Hold the connection open; all contexts of the SDK are entered and left in this task."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._new_client(stack))
                listed: list[Any] = []
                cursor = None
                for _ in range(_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    listed += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(listed) > results.MOST:
                        break
                self._client, self._listed = client, listed
                if not ready.done():
                    ready.set_result(None)
                await stop.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - groups of exceptions, too; told below
            if not ready.done():
                told = f"the tool server {self._source} cannot be used: {self._told(error)}"
                ready.set_exception(ProviderRefused(told))
                ready.exception()  # told even where nobody waits any more
        finally:
            self._client = None

    async def _new_client(self, stack: contextlib.AsyncExitStack) -> Any:
        from mcp import Client
        from mcp.client.stdio import get_default_environment
        from mcp.client.streamable_http import streamable_http_client

        from kgbench.tool_servers.command import LONGEST, started
        from kgbench.tool_servers.http import MeasuredClient

        _quiet()
        address = self._source.address
        if address is None:
            environment = {**get_default_environment(), **self._values}
            transport: Any = started(self._source.command, environment)
        else:
            headers = {}
            for key in self._values.values():  # there is one at most
                headers["Authorization"] = f"Bearer {key}"
            http = MeasuredClient(address, self._seconds, headers=headers, trust_env=False)
            self._http = await stack.enter_async_context(http)
            transport = streamable_http_client(
                address, http_client=http, max_sse_event_size=LONGEST
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

    def _told(self, error: BaseException) -> str:
        """Return what went wrong, in one line without keys."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said = one_line(f"{type(error).__name__}: {error}")[:_MESSAGE]
        return self._echoes.hide(said)


def _is_protocol_error(error: Exception) -> bool:
    from mcp import MCPError

    return isinstance(error, MCPError)


def _is_closed(error: Exception) -> bool:
    from mcp.types import CONNECTION_CLOSED

    return getattr(getattr(error, "error", None), "code", None) == CONNECTION_CLOSED


def _failed(why: str) -> ToolResult:
    return ToolResult(f"error: {why}", ToolOutcome.ERROR)


def _quiet() -> None:
    """Keep the SDK's log, which repeats what servers send, out of the terminal and of files."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)


def check_installed() -> None:
    """Raise :class:`~kgbench.errors.ResourceError` where the SDK is not installed."""
    try:
        import mcp  # noqa: F401 - imported by what is called later
    except ModuleNotFoundError as error:
        raise ResourceError(f"{error.name} is not installed: pip install 'kgbench[mcp]'") from None
