# SPDX-License-Identifier: Apache-2.0
"""The HTTP client of the MCP SDK, with limits on responses and streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import httpx2

from kgbench.connectors.guarded_httpx import GuardedClient
from kgbench.net.limits import Limits, Misbehaviour

_BYTES: Final = 1 << 26  # most bytes of a response
_STREAMED: Final = 86_400.0  # most seconds of a stream; each call has its own timeout


class MeasuredClient(GuardedClient):
    """An HTTP client with limited streams that sends keys to one origin only.

    ``misbehaviour`` is the last exceeded limit or refused redirect, because the SDK only reports a
    closed connection.
    """

    def __init__(self, url: str, seconds: float, **options: Any) -> None:
        super().__init__(url, seconds, timeout=seconds, **options)
        self._streamed = Limits(_BYTES, _BYTES, _STREAMED)
        self.misbehaviour: Misbehaviour | None = None

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """Send a request as :meth:`~kgbench.connectors.guarded_httpx.GuardedClient.send` does."""
        try:
            response = await super().send(request, stream=stream, **options)
        except Misbehaviour as error:
            self._note(error)
            raise
        if stream:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _ReportingStream(response.stream, self._note)
        return response

    def _note(self, error: Misbehaviour) -> None:
        self.misbehaviour = error


class _ReportingStream(httpx2.AsyncByteStream):
    """A response body that reports misbehaviour during reading."""

    def __init__(self, body: httpx2.AsyncByteStream, note: Callable[[Misbehaviour], None]) -> None:
        self._body = body
        self._note = note

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._body:
                yield chunk
        except Misbehaviour as error:
            self._note(error)
            raise

    async def aclose(self) -> None:
        await self._body.aclose()
