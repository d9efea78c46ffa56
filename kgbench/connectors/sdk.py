# SPDX-License-Identifier: Apache-2.0
"""The frame of connectors to servers: the connection, calls, and failures as our errors.

The SDKs of OpenAI and Anthropic come from the same generator: :class:`Sdk` serves both, batches
(:class:`~kgbench.connectors.batches.Batches`) included. Bodies are made and read here, because the
SDKs' own methods lack parameters and accept invalid responses; from the SDK come addresses,
headers, key and errors.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self
from urllib.parse import quote

from kgbench import rdf
from kgbench.connectors.bodies import listed, mapping, text_of
from kgbench.connectors.calls import Caller, Reader
from kgbench.connectors.declared import Option, read_options
from kgbench.connectors.servers import Address, Service
from kgbench.errors import ModelSpecError, pip_install
from kgbench.model import Json, ModelSetup, Reply
from kgbench.net.limits import REPLY, Misbehaviour, ResponseTooLarge

if TYPE_CHECKING:
    from kgbench.net.client import GuardedClient

_PAGE = 100  # batches in a page of their list


class HttpConnector:
    """A model at a server, and the connections of its HTTP client."""

    def __init__(self, http: GuardedClient, caller: Caller) -> None:
        self._http = http
        self._caller = caller

    @property
    def caller(self) -> Caller:
        """The context of the calls, which names the server."""
        return self._caller

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _answered(self, sent: Awaitable[Any]) -> Any:
        """Return the result of a call within its timeout; errors of status pass through."""
        import httpx2

        try:
            async with asyncio.timeout(self._caller.timeout):
                return await sent
        except (TimeoutError, httpx2.TimeoutException):
            raise self._caller.timeout_error() from None
        except (httpx2.HTTPError, Misbehaviour) as error:
            raise self._caller.connection_error(error) from None


class SdkConnector(HttpConnector):
    """A model that ``setup`` names, at a server of ``service``, which an SDK contacts.

    ``MODULE`` and ``NAME`` are the module and the name of the SDK, ``OPTIONS`` those of the
    connector, whose values are in ``options``. Raises :class:`~kgbench.errors.ModelSpecError` if
    they are invalid, if a key is missing, or if the SDK is not installed.
    """

    MODULE: ClassVar[str]
    NAME: ClassVar[str]
    OPTIONS: ClassVar[Mapping[str, Option]]

    def __init__(self, setup: ModelSetup, timeout: float, service: Service) -> None:
        self._setup = setup
        self.options = read_options(setup.options, self.OPTIONS, setup.spec)
        self._server = service.server(setup, self.options, timeout)
        self._sdk: Any = installed(self.MODULE, self.NAME)
        http = http_client(self.base_url(self._server.address), timeout)
        super().__init__(http, self._server.caller)

    @staticmethod
    def base_url(address: Address) -> str:
        """Return what the SDK calls the base URL."""
        return address.url


class Sdk(SdkConnector):
    """A model at a server of OpenAI's or Anthropic's protocol.

    ``ID_HEADER`` has the ids of requests; ``BATCHES`` is the path of the batches.
    """

    ID_HEADER: ClassVar[str]
    BATCHES: ClassVar[str]

    def __init__(self, setup: ModelSetup, timeout: float, service: Service) -> None:
        super().__init__(setup, timeout, service)
        self._client: Any = getattr(self._sdk, f"Async{self.NAME}")(
            api_key=self._server.key or "none",
            base_url=self.base_url(self._server.address),
            timeout=self._http.timeout,
            max_retries=0,
            http_client=self._http,
        )

    @property
    def _headers(self) -> dict[str, Any]:
        """Headers of every request: without a key, none is sent."""
        return {} if self._caller.secrets else {"Authorization": self._sdk.omit}

    async def call(self, path: str, body: Json, reader: Reader) -> Reply:
        """Post ``body`` to ``path`` for an answer, which ``reader`` parses."""
        try:
            response = await self._answered(self._sent(path, body))
        except self._sdk.APIStatusError as error:
            return self._failed(error)
        request_id = response.headers.get(self.ID_HEADER)
        return self._caller.read(response.text, reader, request_id)

    async def fetch(
        self,
        path: str,
        body: Json = None,
        *,
        post: bool = False,
        query: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
    ) -> tuple[Json, Mapping[str, str]]:
        """Make a call that is not for an answer, a GET without a body; return body and headers."""
        sent = self._sent(path, body, post=post or body is not None, query=query, files=files)
        try:
            response = await self._answered(sent)
        except self._sdk.APIStatusError as error:
            self._raise(error)
        return self._caller.json(response.text), response.headers

    async def lines(self, stream: Any) -> AsyncIterator[Json]:
        """Yield the documents of a JSON Lines body, which the SDK's ``stream`` opens.

        Only line feeds end lines: strings may contain other line separators of Unicode, at which
        the SDKs split, too. Raises :class:`~kgbench.errors.ProviderError` for a truncated or
        invalid body.
        """
        import httpx2

        pieces: list[bytes] = []
        try:
            async with AsyncExitStack() as stack:
                response = await self._answered(self._opened(stack, stream))
                async for chunk in response.iter_bytes():
                    for line in _lines(pieces, chunk):
                        yield self._caller.json(line)
                if last := b"".join(pieces).strip():
                    yield self._caller.json(last)
        except httpx2.TimeoutException:
            raise self._caller.timeout_error() from None
        except (httpx2.HTTPError, Misbehaviour) as error:
            raise self._caller.connection_error(error) from None
        except self._sdk.APIStatusError as error:
            self._raise(error)

    def object_id(self, body: Json) -> str:
        """Return the id of what ``body`` describes.

        Raises :class:`~kgbench.errors.ProviderError` if it has none.
        """
        found = text_of(mapping(body).get("id"))
        if not found:
            raise self._caller.error("the response names no id")
        return rdf.storable(found).value

    # --- batches ----------------------------------------------------------------------------

    async def cancel(self, batch: str) -> None:
        """Cancel a batch; requests that are done are still charged."""
        await self.fetch(f"{self.BATCHES}/{quote(batch, safe='')}/cancel", post=True)

    async def _batch(self, batch: str) -> Mapping[str, Any]:
        """Return the description of a batch."""
        body, _ = await self.fetch(f"{self.BATCHES}/{quote(batch, safe='')}")
        return mapping(body)

    async def _pages(
        self, cursor: str
    ) -> AsyncIterator[tuple[list[Mapping[str, Any]], Mapping[str, str]]]:
        """Yield the pages of the list of batches, the newest first, with the response headers.

        ``cursor`` is the parameter with the id of the last batch of the page before.
        """
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            body, headers = await self.fetch(self.BATCHES, query=query)
            batches = listed(mapping(body).get("data"))
            if not batches:
                return
            yield batches, headers
            if mapping(body).get("has_more") is not True:
                return
            query[cursor] = self.object_id(batches[-1])

    async def _sent(
        self,
        path: str,
        body: Json,
        *,
        post: bool = True,
        query: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
    ) -> Any:
        import httpx2

        options = {"headers": self._headers, "params": query or {}}
        if not post:
            return await self._client.get(path, cast_to=httpx2.Response, options=options)
        if files is not None:
            options["headers"] = {**self._headers, "Content-Type": "multipart/form-data"}
        return await self._client.post(
            path, cast_to=httpx2.Response, body=body, files=files, options=options
        )

    async def _opened(self, stack: AsyncExitStack, stream: Any) -> Any:
        """Open ``stream``; the SDK may parse another response before, without checking types."""
        try:
            return await stack.enter_async_context(stream)
        except (AttributeError, TypeError, ValueError):
            raise self._caller.error("the response is not what the protocol says") from None

    async def _answered(self, sent: Awaitable[Any]) -> Any:
        try:
            return await super()._answered(sent)
        except self._sdk.APITimeoutError:
            raise self._caller.timeout_error() from None
        except self._sdk.APIConnectionError as error:
            raise self._caller.connection_error(error.__cause__ or error) from None

    def _failed(self, error: Any) -> Reply:
        """Return the refused reply that an error of status is, else raise what it means."""
        response = error.response
        return self._caller.failed(
            error.status_code, response.text, response.headers, error.request_id
        )

    def _raise(self, error: Any) -> NoReturn:
        """Raise what an error of status means, also if it comes from a filter."""
        self._failed(error)
        raise self._caller.error("the request was refused by a filter") from None


def installed(module: str, name: str) -> Any:
    """Import the SDK ``module``, which the extra of its first part installs.

    Raises :class:`~kgbench.errors.ModelSpecError` if it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        extra = module.partition(".")[0]
        raise ModelSpecError(
            f"the {name} SDK is not installed: {pip_install(f'kgbench[{extra}]')}"
        ) from None


def http_client(url: str, timeout: float) -> GuardedClient:
    """Return the HTTP client of an SDK, which only contacts the server at ``url``."""
    from kgbench.net.client import GuardedClient

    return GuardedClient(url, timeout)


def _lines(pieces: list[bytes], chunk: bytes) -> Iterator[bytes]:
    """Yield the lines that ``chunk`` completes, except blank ones.

    ``pieces`` holds the pieces of the incomplete line. Raises
    :class:`~kgbench.net.limits.ResponseTooLarge` for a line that is longer than a reply may be.
    """
    *complete, incomplete = chunk.split(b"\n")
    for line in complete:
        pieces.append(line)
        if text := b"".join(pieces).strip():
            yield text
        pieces.clear()
    pieces.append(incomplete)
    if len(pieces) * len(chunk) > REPLY and sum(map(len, pieces)) > REPLY:
        raise ResponseTooLarge(f"a line of the response has more than {REPLY >> 20} MB")
