# SPDX-License-Identifier: Apache-2.0
"""An HTTP client for measurements, with many concurrent connections and little overhead.

Client and server share the machine's cores, so the client's processor time lowers the rate. The
client is one thread over non-blocking sockets, sends requests that were encoded before the clock
started, and parses responses only to find their ends.
"""

from __future__ import annotations

import itertools
import re
import selectors
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_PIECE = 1 << 18


class Rate(NamedTuple):
    """Requests per second, and times in milliseconds.

    Half of the requests were answered within ``p50``, 95 % and 99 % within ``p95`` and ``p99``, and
    all within ``longest``.
    """

    per_second: float
    p50: float
    p95: float
    p99: float
    longest: float

    @classmethod
    def of(cls, times: Iterable[float], whole: float) -> Rate:
        """Return the rate of requests that took these ``times`` in ``whole`` seconds."""
        ordered = [seconds * 1_000 for seconds in sorted(times)]
        p50, p95, p99 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.95, 0.99))
        return cls(len(ordered) / whole, p50, p95, p99, ordered[-1])


class Watched(NamedTuple):
    """A measurement over a given time: rate, refusals, and number of served snapshots."""

    rate: Rate
    refused: int
    snapshots: int


class Refused(Exception):
    """An unexpected response; the message has its status line and the start of its body."""


def requests(url: str, queries: Iterable[str]) -> list[bytes]:
    """Return the bytes of one GET request of the SPARQL protocol for each query."""
    paths = (f"?query={quote(text, safe='')}" for text in queries)
    return gets(url, paths, "application/sparql-results+json")


def gets(url: str, paths: Iterable[str], accept: str = "text/html") -> list[bytes]:
    """Return the bytes of one GET request for each path below ``url``."""
    address = urlsplit(url)
    tail = f" HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: {accept}\r\n\r\n"
    return [f"GET {address.path}{path}{tail}".encode() for path in paths]


def ask(url: str, encoded: Sequence[bytes], connections: int, *, timeout: float = 60.0) -> Rate:
    """Measure the rate of all requests over ``connections`` persistent connections.

    Raises :class:`Refused` if a status is not 200, :class:`TimeoutError` after ``timeout``
    seconds, :class:`ConnectionError` if the server closes a connection.
    """
    pending = iter(encoded)
    channels = [_Channel(_address(url), pending) for _ in range(connections)]
    total = _exchange(url, channels, timeout)
    return Rate.of((seconds for channel in channels for seconds in channel.times), total)


def watch(
    url: str, encoded: Sequence[bytes], connections: int, seconds: float, *, root: str | None = None
) -> Watched:
    """Repeat the requests for ``seconds``; raises like :func:`ask`.

    Responses with status 503 count as refusals, without their times, and end no connection. If
    ``root``, the URL of our server, is given, another connection requests the snapshot without
    pauses; it does not count in the rate.
    """
    end = time.perf_counter() + seconds
    pending = itertools.takewhile(lambda _: time.perf_counter() < end, itertools.cycle(encoded))
    channels = [_Channel(_address(url), pending, counts=True) for _ in range(connections)]
    monitors = []
    if root is not None:
        (health,) = gets(root, ["health"], "application/json")
        probes = itertools.takewhile(lambda _: time.perf_counter() < end, itertools.repeat(health))
        monitors = [_Channel(_address(url), probes, keeps=True)]
    total = _exchange(url, [*channels, *monitors], seconds + 60)
    if not any(channel.times for channel in channels):
        raise Refused("all requests were refused")
    rate = Rate.of((seconds for channel in channels for seconds in channel.times), total)
    refused = sum(channel.refused for channel in channels)
    return Watched(rate, refused, len({body for channel in monitors for body in channel.bodies}))


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


def _exchange(url: str, channels: Sequence[_Channel], timeout: float) -> float:
    """Send requests over all connections until none is left; return the seconds."""
    with selectors.DefaultSelector() as selector:
        try:
            for channel in channels:
                selector.register(channel.socket, selectors.EVENT_READ, channel)
            begin = time.perf_counter()
            active = sum(channel.send() for channel in channels)
            while active:
                ready = selector.select(max(begin + timeout - time.perf_counter(), 0))
                if not ready:
                    raise TimeoutError(f"{url} did not answer all requests in {timeout:g} seconds")
                active -= sum(key.data.receive() for key, _ in ready)
            return time.perf_counter() - begin
        finally:
            for channel in channels:
                channel.socket.close()


class _Channel:
    """A connection that sends the next request after each response."""

    def __init__(
        self,
        address: tuple[str, int],
        pending: Iterator[bytes],
        *,
        keeps: bool = False,
        counts: bool = False,
    ) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(0)
        self.times: list[float] = []
        self.bodies: list[bytes] = []  # of responses, if they are kept
        self.refused = 0  # with 503, if refusals are counted
        self._keeps, self._counts = keeps, counts
        self._pending = pending
        self._begin = 0.0
        self._start()

    def _start(self) -> None:
        self._received = b""
        self._end: int | None = None  # length of the response; None if not yet known
        self._chunked = False
        self._refused = False

    def send(self) -> bool:
        """Send the next request; return whether there was one."""
        request = next(self._pending, None)
        if request is None:
            return False
        self._begin = time.perf_counter()
        self.socket.sendall(request)  # smaller than any buffer of a socket
        return True

    def receive(self) -> bool:
        """Read available bytes and, after a complete response, send the next request.

        Return true if none was left.
        """
        piece = self.socket.recv(_PIECE)
        if not piece:
            raise ConnectionError("the server closed the connection during a response")
        self._received = self._received + piece if self._received else piece
        if not self._is_complete():
            return False
        if self._refused:
            self.refused += 1
        else:
            self.times.append(time.perf_counter() - self._begin)
        if self._keeps:
            self.bodies.append(self._received.partition(b"\r\n\r\n")[2])
        self._start()
        return not self.send()

    def _is_complete(self) -> bool:
        if self._end is None and not self._chunked:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return False
            if self._received.startswith(b"HTTP/1.1 503") and self._counts:
                self._refused = True
            elif not self._received.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
                first, _, rest = self._received.partition(b"\r\n")
                text = rest.partition(b"\r\n\r\n")[2].strip()[:200]
                raise Refused(b": ".join(filter(None, (first, text))).decode("latin-1"))
            length = _LENGTH.search(self._received, 0, head + 2)
            if length is not None:
                self._end = head + 4 + int(length[1])
            elif _CHUNKED.search(self._received, 0, head + 2):
                self._chunked = True
            else:
                raise Refused("a response without a length")
        # Only the last chunk ends like this: no text of a result contains line ends of HTTP.
        if self._chunked:
            return self._received.endswith(b"\r\n0\r\n\r\n")
        assert self._end is not None
        return len(self._received) >= self._end
