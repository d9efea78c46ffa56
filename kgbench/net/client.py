# SPDX-License-Identifier: Apache-2.0
"""The HTTP client of kgbench: httpx2 within limits, for stores, endpoints, downloads and probes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, Self

import httpx2

from kgbench.net.limits import InvalidResponse, Meter, Misbehaviour
from kgbench.net.transport import Transport

AGENT: Final = "kgbench (benchmark of language models)"


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request, of any status; the body is read in pieces."""

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    _stream: Iterable[bytes]

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed body.

        Raises :class:`~kgbench.net.limits.Misbehaviour` or :class:`OSError`.
        """
        yield from self._stream

    def text(self, max_bytes: int) -> str:
        """Return the first ``max_bytes`` bytes of the body as text, or fewer after an error."""
        content = b""
        try:
            for piece in self.pieces():
                content += piece
                if len(content) >= max_bytes:
                    break
        except (OSError, Misbehaviour):
            pass  # an excerpt for a message: what was read so far suffices
        return content[:max_bytes].decode("utf-8", "replace").strip()


class Client:
    """An HTTP client without redirects and cookies; may be used by several threads.

    ``connect`` is the connect timeout and ``idle`` the read timeout, in seconds. Up to
    ``max_idle_connections`` are kept for later requests. With
    ``proxied`` the proxies of the environment are used.
    """

    def __init__(
        self,
        *,
        connect: float,
        idle: float,
        max_idle_connections: int = 0,
        proxied: bool = False,
        auth: httpx2.Auth | None = None,
        agent: str = AGENT,
    ) -> None:
        self._headers = {"User-Agent": agent, "Accept-Encoding": "gzip", "Accept": "*/*"}
        if not max_idle_connections:
            self._headers["Connection"] = "close"
        self.transport = Transport(
            connect=connect, idle=idle, max_idle_connections=max_idle_connections, proxied=proxied
        )
        self._http = httpx2.Client(
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            auth=auth or httpx2.Auth(),  # else httpx2 uses credentials in the address
            transport=self.transport,
            trust_env=False,
        )

    @contextmanager
    def send(
        self,
        method: str,
        url: str,
        meter: Meter,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Response]:
        """Send a request; its response, measured by ``meter``, can be read inside ``with``.

        Raises :class:`~kgbench.net.limits.Misbehaviour` for a response beyond the limits,
        :class:`TimeoutError` if a connected server does not respond in time, and :class:`OSError`
        if there is no connection.
        """
        try:
            address = _address(url)
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise InvalidResponse(f"the address cannot be read: {error}") from None
        # Client.build_request() takes three times as long, merging headers and URLs of the client.
        merged = {**self._headers, **(headers or {})}
        request = httpx2.Request(
            method, address, content=body, headers=merged, extensions={"meter": meter}
        )
        response = self._http.send(request, stream=True)
        try:
            stream = response.iter_raw()
            reason = response.reason_phrase
            yield Response(
                str(response.url), response.status_code, reason, response.headers, stream
            )
        finally:
            response.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@lru_cache(maxsize=16)
def _address(url: str) -> httpx2.URL:
    """Parse an address, with a cache: a store has two or three, used thousands of times."""
    return httpx2.URL(url)
