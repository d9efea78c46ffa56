# SPDX-License-Identifier: Apache-2.0
"""A client that asks a server over many connections at once and costs little itself.

Client and server share the machine's cores, so what the client needs is missing from the rate. It
is one thread over non-blocking sockets, sends requests that were written before the clock starts,
and reads of each response what tells where it ends.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_PIECE = 1 << 18


class Rate(NamedTuple):
    """Requests per second, and the time in milliseconds within which 95 % were answered."""

    per_second: float
    p95: float


class Refused(Exception):
    """A response that is no answer; the message is its first line."""


def requests(url: str, queries: Sequence[str]) -> list[bytes]:
    """The bytes of one GET request of the SPARQL protocol for each query."""
    place = urlsplit(url)
    tail = f" HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: application/sparql-results+json\r\n\r\n"
    return [f"GET {place.path}?query={quote(text, safe='')}{tail}".encode() for text in queries]


def ask(url: str, asked: Sequence[bytes], connections: int, *, patience: float = 60.0) -> Rate:
    """The rate at which all requests are answered over so many connections that stay open.

    Raises :class:`Refused` where a status is not 200, :class:`TimeoutError` after ``patience``
    seconds, :class:`ConnectionError` where the server hangs up.
    """
    place = urlsplit(url)
    address = (place.hostname or "127.0.0.1", place.port or 80)
    waiting = iter(asked)
    with selectors.DefaultSelector() as selector:
        talks = [_Talk(address, waiting) for _ in range(connections)]
        try:
            for talk in talks:
                selector.register(talk.socket, selectors.EVENT_READ, talk)
            begin = time.perf_counter()
            open_talks = sum(talk.ask() for talk in talks)
            while open_talks:
                ready = selector.select(max(begin + patience - time.perf_counter(), 0))
                if not ready:
                    raise TimeoutError(f"{url} did not answer all in {patience:g} seconds")
                open_talks -= sum(key.data.hear() for key, _ in ready)
            whole = time.perf_counter() - begin
        finally:
            for talk in talks:
                talk.socket.close()
    times = sorted(seconds for talk in talks for seconds in talk.times)
    return Rate(len(times) / whole, times[int(len(times) * 0.95)] * 1_000)


class _Talk:
    """One connection: a request, its response, the next request."""

    def __init__(self, address: tuple[str, int], waiting: Iterator[bytes]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(0)
        self.times: list[float] = []
        self._waiting = waiting
        self._begin = 0.0
        self._start()

    def _start(self) -> None:
        self._received = b""
        self._end: int | None = None  # where the response ends; None while that is not known
        self._chunked = False

    def ask(self) -> bool:
        """Send the next request; whether there was one."""
        request = next(self._waiting, None)
        if request is None:
            return False
        self._begin = time.perf_counter()
        self.socket.sendall(request)  # smaller than any buffer of a socket
        return True

    def hear(self) -> bool:
        """Take what has come, ask again where it is whole; whether nothing is left to ask."""
        piece = self.socket.recv(_PIECE)
        if not piece:
            raise ConnectionError("the server hung up in the middle of a response")
        self._received = self._received + piece if self._received else piece
        if not self._is_whole():
            return False
        self.times.append(time.perf_counter() - self._begin)
        self._start()
        return not self.ask()

    def _is_whole(self) -> bool:
        if self._end is None and not self._chunked:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return False
            if not self._received.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
                raise Refused(self._received.partition(b"\r\n")[0].decode("latin-1"))
            length = _LENGTH.search(self._received, 0, head + 2)
            if length is not None:
                self._end = head + 4 + int(length[1])
            elif _CHUNKED.search(self._received, 0, head + 2):
                self._chunked = True
            else:
                raise Refused("a response without a length")
        # The last chunk cannot be mistaken: no text of an answer holds bare line ends of HTTP.
        if self._chunked:
            return self._received.endswith(b"\r\n0\r\n\r\n")
        assert self._end is not None
        return len(self._received) >= self._end
