# SPDX-License-Identifier: Apache-2.0
"""Limits of responses and redirects for ``requests``, which Google's retired SDK uses."""

from __future__ import annotations

import http.client
import io
import socket
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from kgbench.net import limits
from kgbench.net.limits import BodyDecoder, Limits, Meter, ReadLimits


def guard(session: requests.Session, seconds: float) -> None:
    """Make ``session`` follow no redirects, and limit its responses in size and time.

    Its calls then raise :class:`requests.TooManyRedirects` for a redirect, and
    :class:`~kgbench.net.limits.Misbehaviour` for a response beyond the limits.
    """
    session.max_redirects = 0
    for scheme in ("https://", "http://"):
        session.mount(scheme, _Guarded(seconds))


class _Guarded(HTTPAdapter):
    def __init__(self, seconds: float) -> None:
        self._limits = Limits(limits.REPLY, limits.REPLY, seconds)
        super().__init__(max_retries=0)

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self._measure(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        self._measure(manager)
        return manager

    def _measure(self, manager: Any) -> None:
        """Make the connections of ``manager`` measure their responses from the first byte."""
        manager.pool_classes_by_scheme = {
            "http": _measuring(HTTPConnectionPool, self._limits),
            "https": _measuring(HTTPSConnectionPool, self._limits),
        }

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> Any:
        request.headers["Accept-Encoding"] = "gzip"
        meter = Meter(self._limits)
        response = super().send(request, *arguments, **{**options, "stream": True})
        raw = response.raw
        try:
            body = BodyDecoder(response.headers.pop("Content-Encoding", None), meter)
            content = io.BytesIO()
            while data := raw.read1(1 << 16, decode_content=False):
                meter.count_received(len(data))
                content.writelines(body.pieces(data))
            body.end()
        except urllib3.exceptions.HTTPError as error:
            raw.close()
            raise requests.ConnectionError(error) from None
        except BaseException:
            raw.close()
            raise
        raw.release_conn()
        content.seek(0)
        response.raw = content
        return response


def _measuring(pool: Any, within: Limits) -> Any:
    """Return a subclass of the connection pool ``pool`` whose responses have limits."""

    class Connection(pool.ConnectionCls):  # type: ignore[misc]
        def getresponse(self) -> Any:
            reads = ReadLimits(Meter(within), within.seconds)
            self.response_class = lambda sock, **options: _Response(sock, reads, **options)
            return super().getresponse()

    return type(pool.__name__, (pool,), {"ConnectionCls": Connection})


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, reads: ReadLimits, **options: Any) -> None:
        self._reads = reads
        source: Any = _Source(sock, reads)
        super().__init__(source, **options)

    def begin(self) -> None:
        super().begin()
        self._reads.begin_body()


class _Source(io.RawIOBase):
    """A raw stream over a socket whose reads have limits."""

    def __init__(self, sock: socket.socket, reads: ReadLimits) -> None:
        # The file holds a reference, so that the socket stays open.
        self._raw = sock.makefile("rb", buffering=0)
        self._socket = sock
        self._reads = reads

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        """Return the buffered reader, the only part of a socket that a response uses."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._reads.wait())
        try:
            size = self._raw.readinto(buffer)
        except TimeoutError:
            self._reads.wait()  # raises TooSlow if the limit of the whole response is exceeded
            raise
        self._reads.count_received(size or 0)
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
