# SPDX-License-Identifier: Apache-2.0
"""The HTTP client by which the MCP SDK asks a server, within limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import httpx2

from kgbench.connectors.guarded_httpx import GuardedClient
from kgbench.net.limits import Limits, Misbehaviour

_BYTES: Final = 1 << 26  # of one response
_STREAMED: Final = 86_400.0  # seconds of a stream; each call has a limit of its own


class MeasuredClient(GuardedClient):
    """A client whose streams have a limit of bytes; keys go to one origin only.

    ``misbehaviour`` is the last limit that was hit or redirect that was not followed: the SDK says
    only that the connection is closed.
    """

    def __init__(self, url: str, seconds: float, **options: Any) -> None:
        super().__init__(url, seconds, timeout=seconds, **options)
        self._streamed = Limits(_BYTES, _BYTES, _STREAMED)
        self.misbehaviour: Misbehaviour | None = None

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """See :meth:`~kgbench.connectors.guarded_httpx.GuardedClient.send`."""
        try:
            response = await super().send(request, stream=stream, **options)
        except Misbehaviour as error:
            self._note(error)
            raise
        if stream:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Noted(response.stream, self._note)
        return response

    def _note(self, error: Misbehaviour) -> None:
        self.misbehaviour = error


class _Noted(httpx2.AsyncByteStream):
    """A body whose misbehaviour is noted where it is read."""

    def __init__(self, body: httpx2.AsyncByteStream, note: Callable[[Misbehaviour], None]) -> None:
        self._body = body
        self._note = note

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body:
                yield piece
        except Misbehaviour as error:
            self._note(error)
            raise

    async def aclose(self) -> None:
        await self._body.aclose()
