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

from kgbench.net.limits import Meter, Misbehaviour, Unreadable
from kgbench.net.transport import Transport

AGENT: Final = "kgbench (benchmark of language models)"


@dataclass(frozen=True, slots=True)
class Response:
    """The response to one request, whatever its status; the body is read piece by piece."""

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    _stream: Iterable[bytes]

    def pieces(self) -> Iterator[bytes]:
        """The body, decompressed.

        Raises :class:`~kgbench.net.limits.Misbehaviour` or :class:`OSError`.
        """
        yield from self._stream

    def text(self, most: int) -> str:
        """The beginning of the body, as far as it is text and can be read."""
        content = b""
        try:
            for piece in self.pieces():
                content += piece
                if len(content) >= most:
                    break
        except (OSError, Misbehaviour):
            pass  # what was read so far is all that there is to tell
        return content[:most].decode("utf-8", "replace").strip()


class Client:
    """Sends requests, follows no redirects and keeps no cookies; may be used by several threads.

    ``connect`` and ``idle`` are the most seconds for a connection and without a byte. Up to
    ``kept`` idle connections are kept. With ``proxied`` the proxies of the environment are used.
    """

    def __init__(
        self,
        *,
        connect: float,
        idle: float,
        kept: int = 0,
        proxied: bool = False,
        auth: httpx2.Auth | None = None,
        agent: str = AGENT,
    ) -> None:
        self._headers = {"User-Agent": agent, "Accept-Encoding": "gzip", "Accept": "*/*"}
        if not kept:
            self._headers["Connection"] = "close"
        self.transport = Transport(connect=connect, idle=idle, kept=kept, proxied=proxied)
        self._http = httpx2.Client(
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            auth=auth or httpx2.Auth(),  # else httpx2 takes a name and password from the address
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

        Raises :class:`~kgbench.net.limits.Misbehaviour`; :class:`TimeoutError` where a connected
        server is silent for too long; and :class:`OSError` where there is no connection.
        """
        try:
            address = _address(url)
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise Unreadable(f"the address cannot be read: {error}") from None
        # build_request() takes three times as long, for headers and addresses of the client.
        named = {**self._headers, **(headers or {})}
        request = httpx2.Request(
            method, address, content=body, headers=named, extensions={"meter": meter}
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
    """The parsed address; a store is asked at two or three, thousands of times."""
    return httpx2.URL(url)
