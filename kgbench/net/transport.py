# SPDX-License-Identifier: Apache-2.0
"""A transport for httpx2 that limits the time and bytes of whole responses.

httpx2 only has timeouts of single reads: a server could send a byte now and then forever, even in
the headers. Therefore each request carries the meter of its response to the connection
(:class:`_Timeout`), whose reads obey it (:class:`_Stream`), and the body is counted and
decompressed as it arrives (:class:`MeasuredBody`, also in the asynchronous client of the SDKs).
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Self

import httpcore2
import httpx2

from kgbench.errors import EnvironmentVariableError
from kgbench.net import environment
from kgbench.net.environment import Proxy
from kgbench.net.limits import BodyDecoder, InvalidResponse, Meter, Misbehaviour

_REFUSAL: Final = 1 << 20  # bytes of a 401 response


class Transport(httpx2.BaseTransport):
    """A transport whose responses obey the ``meter`` in the extensions of their requests.

    Errors of httpcore2 become :class:`OSError` or :class:`~kgbench.net.limits.InvalidResponse`.
    """

    def __init__(
        self, *, connect: float, idle: float, max_idle_connections: int, proxied: bool
    ) -> None:
        self._connect = connect
        self._idle = idle
        self._max_idle_connections = max_idle_connections
        self._proxied = proxied
        self._pools: dict[tuple[bool, Proxy | None], httpcore2.ConnectionPool] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request`` and return the response, with a decompressed body."""
        meter: Meter = request.extensions["meter"]
        meter.begin_head()
        timeout = _Timeout(meter, self._idle)
        connect = min(self._connect, float(timeout))
        url = request.url
        assert isinstance(request.stream, httpx2.SyncByteStream)
        sent = httpcore2.Request(
            request.method,
            _address(url),
            headers=request.headers.raw,
            content=request.stream,
            extensions={"timeout": {"connect": connect, "read": timeout, "write": timeout}},
        )
        proxy = environment.proxy_for(str(url)) if self._proxied else None
        try:
            with _converted_errors(connect):
                response = self._pool(url.scheme == "https", proxy).handle_request(sent)
        except OSError as error:
            if proxy is None or isinstance(error, TimeoutError):
                raise
            raise ConnectionError(f"{error}{environment.advice(str(url))}") from None
        timeout.in_head = False
        if response.status == httpx2.codes.UNAUTHORIZED:
            # httpx2 reads a 401 response completely before it sends credentials.
            meter = Meter(replace(meter.limits, encoded=_REFUSAL, decoded=_REFUSAL))
        headers = httpx2.Headers(response.headers)
        coding = headers.pop("Content-Encoding", None)
        return httpx2.Response(
            response.status,
            headers=headers,
            stream=MeasuredBody(_Content(response, headers), meter, coding),
            extensions=response.extensions,
        )

    def _pool(self, secure: bool, proxy: Proxy | None) -> httpcore2.ConnectionPool:
        with self._lock:
            if (secure, proxy) not in self._pools:
                self._pools[secure, proxy] = self._new_pool(secure, proxy)
            return self._pools[secure, proxy]

    def _new_pool(self, secure: bool, proxy: Proxy | None) -> httpcore2.ConnectionPool:
        options: dict[str, Any] = {
            "ssl_context": environment.tls_context() if secure else None,
            "max_connections": None,
            "max_keepalive_connections": self._max_idle_connections,
            "network_backend": _Network(),
        }
        if proxy is None:
            return httpcore2.ConnectionPool(**options)
        if proxy.is_socks:  # its handshake has no timeouts, which the streams here need
            raise EnvironmentVariableError(
                f"{proxy} speaks SOCKS, through which kgbench only calls models and tool servers: "
                f"name a proxy that speaks HTTP, or add the host to NO_PROXY"
            )
        parsed = proxy.for_httpx()
        if parsed.ssl_context is not None:
            options["proxy_ssl_context"] = parsed.ssl_context
        return httpcore2.HTTPProxy(_address(parsed.url), proxy_auth=parsed.raw_auth, **options)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()


class MeasuredBody(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The body of a response, counted and decompressed as it arrives.

    ``inner`` is the stream of bytes as sent, ``coding`` the header ``Content-Encoding``. Iteration
    raises :class:`~kgbench.net.limits.Misbehaviour`, after ``note`` of an asynchronous client.
    """

    def __init__(
        self,
        inner: Any,
        meter: Meter,
        coding: str | None,
        note: Callable[[Misbehaviour], None] | None = None,
    ) -> None:
        self._inner = inner
        self._meter = meter
        self._coding = coding
        self._note = note

    def __iter__(self) -> Iterator[bytes]:
        body = BodyDecoder(self._coding, self._meter)
        for data in self._inner:
            yield from body.pieces(data)
        body.end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = BodyDecoder(self._coding, self._meter)
            async for data in self._inner:
                for piece in body.pieces(data):
                    yield piece
            body.end()
        except Misbehaviour as error:
            if self._note is not None:
                self._note(error)
            raise

    def close(self) -> None:
        """Return the connection to the pool, or close it if the body was not read completely."""
        self._inner.close()

    async def aclose(self) -> None:
        """Do the same as :meth:`close` for asynchronous streams."""
        await self._inner.aclose()


class _Content:
    """The body of an httpcore2 response as sent; says how much of its Content-Length is missing."""

    def __init__(self, response: httpcore2.Response, headers: httpx2.Headers) -> None:
        self._response = response
        length = headers.get("Content-Length", "")
        self._left = int(length) if length.isdecimal() else 0

    def __iter__(self) -> Iterator[bytes]:
        try:
            with _converted_errors():
                for data in self._response.iter_stream():
                    self._left -= len(data)
                    yield data
        except InvalidResponse:
            if self._left <= 0:
                raise
            raise InvalidResponse(f"the response ended {self._left} bytes too early") from None

    def close(self) -> None:
        self._response.close()


class _Timeout(float):
    """The timeout of a request, which httpcore2 passes to each read and write of its connection.

    It carries the meter of the response, which the connection cannot store because it serves
    several requests in turn.
    """

    meter: Meter
    idle: float
    in_head: bool

    def __new__(cls, meter: Meter, idle: float) -> Self:
        timeout = super().__new__(cls, min(idle, meter.remaining()))
        timeout.meter, timeout.idle, timeout.in_head = meter, idle, True
        return timeout

    def left(self) -> float:
        """Return the timeout of the next read or write."""
        return min(self.idle, self.meter.remaining())


class _Network(httpcore2.NetworkBackend):
    """A network backend whose streams obey the limits of a response."""

    def __init__(self) -> None:
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(self._plain.connect_tcp(*arguments, **options))


class _Stream(httpcore2.NetworkStream):
    def __init__(self, plain: httpcore2.NetworkStream) -> None:
        self._plain = plain

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert isinstance(timeout, _Timeout)
        try:
            data = self._plain.read(max_bytes, timeout.left())
        except httpcore2.ReadTimeout:
            timeout.left()  # raises TooSlow if the limit of the whole response is exceeded
            raise
        if timeout.in_head:
            timeout.meter.count_head(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        assert isinstance(timeout, _Timeout)
        self._plain.write(buffer, timeout.left())

    def start_tls(self, *arguments: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(self._plain.start_tls(*arguments, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)

    def close(self) -> None:
        self._plain.close()


@contextmanager
def _converted_errors(connect: float = 0.0) -> Iterator[None]:
    """Convert the errors of httpcore2 to those of this module."""
    try:
        yield
    except httpcore2.ConnectTimeout:  # not a TimeoutError, because no request was sent yet
        message = f"timed out: no connection within {connect:g} seconds"
        raise ConnectionError(message) from None
    except httpcore2.TimeoutException as error:
        raise TimeoutError(str(error) or "timed out") from None
    except (httpcore2.NetworkError, httpcore2.ProxyError) as error:
        cause = error.__context__  # the error of the system, for example of a certificate
        raise (cause if isinstance(cause, OSError) else ConnectionError(str(error))) from None
    except httpcore2.LocalProtocolError:  # its message quotes headers and may contain a token
        raise InvalidResponse(
            "the request cannot be sent: a header has unusable characters"
        ) from None
    except httpcore2.ProtocolError as error:
        raise InvalidResponse(str(error)) from None


def _address(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
