# SPDX-License-Identifier: Apache-2.0
"""The HTTP clients of kgbench: httpx2 within limits.

:class:`Client` is for stores, endpoints, downloads and probes, :class:`GuardedClient` for the SDKs
of providers and tool servers. By themselves, SDKs follow redirects to any server, some of them with
the API key, and read responses of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, Self

import httpx2

from kgbench.net import environment, limits
from kgbench.net.limits import (
    REDIRECTS,
    InvalidResponse,
    Limits,
    Meter,
    Misbehaviour,
    RedirectRefused,
    redirect_target,
)
from kgbench.net.transport import MeasuredBody, Transport

AGENT: Final = "kgbench (benchmark of language models)"

MOST_STREAMED: Final = 1 << 32
"""Maximal bytes of a response that is read line by line."""

SLOWEST: Final = 10_000
"""Minimal average of bytes per second for a streamed response beyond its timeout."""

_CONNECT: Final = 15.0  # seconds; a reachable host accepts connections sooner
_KEPT: Final = 256  # idle connections


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


class GuardedClient(httpx2.AsyncClient):
    """An ``httpx2.AsyncClient`` for calls to one server that take at most ``seconds``.

    Only the origin of ``url`` is contacted: an SDK may take addresses from responses, such as the
    address of a batch's results, and would send the key there. Of the environment, only proxies and
    certificates are used. Connections are not limited, because the caller limits the calls.
    ``streamed`` are the limits of a response that is read in pieces, ``misbehaviour`` is the last
    exceeded limit or refused redirect, because an SDK may only report a closed connection.
    """

    def __init__(
        self, url: str, seconds: float, *, streamed: Limits | None = None, **options: Any
    ) -> None:
        proxy = environment.proxy_for(url)
        super().__init__(
            trust_env=False,
            verify=environment.tls_for(url),
            proxy=None if proxy is None else proxy.for_httpx(),
            timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT)),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT),
            **options,
        )
        self._home = url
        self._whole = Limits(limits.REPLY, limits.REPLY, seconds)
        self._streamed = streamed or Limits(MOST_STREAMED, MOST_STREAMED, seconds, SLOWEST)
        self.misbehaviour: Misbehaviour | None = None

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """Send ``request``; follow redirects within its origin if they keep method and body.

        Raises :class:`~kgbench.net.limits.Misbehaviour`; reading the response may raise it, too.
        """
        meter = Meter(self._streamed if stream else self._whole)
        options["follow_redirects"] = False
        try:
            response = await self._landed(request, options)
            coding = response.headers.pop("content-encoding", None)
            response.stream = MeasuredBody(response.stream, meter, coding, self._note)
            # JSON is UTF-8, whatever the header says (RFC 8259, section 8.1). Codecs such as
            # "undefined" are known to Python, but raise errors that no caller expects.
            response.encoding = "utf-8-sig"
            if not stream:
                await _read(response)
        except Misbehaviour as error:
            self._note(error)
            raise
        return response

    async def _landed(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Return the first response that is no redirect."""
        redirect_target(self._home, str(request.url))
        for _ in range(REDIRECTS + 1):
            request.headers["Accept-Encoding"] = "gzip"
            response = await super().send(request, stream=True, **options)
            if response.next_request is None:
                return response
            await response.aclose()
            redirect_target(str(request.url), response.headers["location"])
            if response.next_request.method != request.method:
                raise RedirectRefused(
                    f"the server redirects a {request.method} with HTTP {response.status_code}, "
                    f"which would lose its body: look at the address of the server"
                )
            request = response.next_request
        raise RedirectRefused(f"the server redirects more than {REDIRECTS} times")

    def _note(self, error: Misbehaviour) -> None:
        self.misbehaviour = error


async def _read(response: httpx2.Response) -> None:
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise


@lru_cache(maxsize=16)
def _address(url: str) -> httpx2.URL:
    """Parse an address, with a cache: a store has two or three, used thousands of times."""
    return httpx2.URL(url)
