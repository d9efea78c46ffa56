# SPDX-License-Identifier: Apache-2.0
"""A client that asks a server over many connections at once and costs little itself.

Client and server share the machine's cores, so what the client needs is missing from the rate. It
is one thread over non-blocking sockets, sends requests that were written before the clock starts,
and reads of each response what tells where it ends.
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
        """The rate of requests that took these ``times`` in ``whole`` seconds."""
        ordered = [seconds * 1_000 for seconds in sorted(times)]
        p50, p95, p99 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.95, 0.99))
        return cls(len(ordered) / whole, p50, p95, p99, ordered[-1])


class Watched(NamedTuple):
    """What came of asking for some time: the rate, refusals, and how many snapshots were served."""

    rate: Rate
    refused: int
    snapshots: int


class Refused(Exception):
    """A response that is no answer; the message has its first line and what it says."""


def requests(url: str, queries: Iterable[str]) -> list[bytes]:
    """The bytes of one GET request of the SPARQL protocol for each query."""
    paths = (f"?query={quote(text, safe='')}" for text in queries)
    return gets(url, paths, "application/sparql-results+json")


def gets(url: str, paths: Iterable[str], accept: str = "text/html") -> list[bytes]:
    """The bytes of one GET request for each path below ``url``."""
    place = urlsplit(url)
    tail = f" HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: {accept}\r\n\r\n"
    return [f"GET {place.path}{path}{tail}".encode() for path in paths]


def ask(url: str, asked: Sequence[bytes], connections: int, *, patience: float = 60.0) -> Rate:
    """The rate at which all requests are answered over so many connections that stay open.

    Raises :class:`Refused` where a status is not 200, :class:`TimeoutError` after ``patience``
    seconds, :class:`ConnectionError` where the server hangs up.
    """
    waiting = iter(asked)
    talks = [_Talk(_address(url), waiting) for _ in range(connections)]
    whole = _talk(url, talks, patience)
    return Rate.of((seconds for talk in talks for seconds in talk.times), whole)


def watch(
    url: str, asked: Sequence[bytes], connections: int, seconds: float, *, root: str | None = None
) -> Watched:
    """What comes of asking over and over for so many ``seconds``; raises as :func:`ask` does.

    Who is refused with 503 asks on; refusals are counted, and their times are not.
    Where the ``root`` of our server is given, one more connection asks for the snapshot without a
    pause; it is not counted in the rate.
    """
    end = time.perf_counter() + seconds
    waiting = itertools.takewhile(lambda _: time.perf_counter() < end, itertools.cycle(asked))
    talks = [_Talk(_address(url), waiting, counts=True) for _ in range(connections)]
    watching = []
    if root is not None:
        (health,) = gets(root, ["health"], "application/json")
        looking = itertools.takewhile(lambda _: time.perf_counter() < end, itertools.repeat(health))
        watching = [_Talk(_address(url), looking, keeps=True)]
    whole = _talk(url, [*talks, *watching], seconds + 60)
    if not any(talk.times for talk in talks):
        raise Refused("all requests were refused")
    rate = Rate.of((seconds for talk in talks for seconds in talk.times), whole)
    refused = sum(talk.refused for talk in talks)
    return Watched(rate, refused, len({body for talk in watching for body in talk.bodies}))


def _address(url: str) -> tuple[str, int]:
    place = urlsplit(url)
    return place.hostname or "127.0.0.1", place.port or 80


def _talk(url: str, talks: Sequence[_Talk], patience: float) -> float:
    """Ask over all connections until nothing is left to ask; the seconds that it took."""
    with selectors.DefaultSelector() as selector:
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
            return time.perf_counter() - begin
        finally:
            for talk in talks:
                talk.socket.close()


class _Talk:
    """One connection: a request, its response, the next request."""

    def __init__(
        self,
        address: tuple[str, int],
        waiting: Iterator[bytes],
        *,
        keeps: bool = False,
        counts: bool = False,
    ) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(0)
        self.times: list[float] = []
        self.bodies: list[bytes] = []  # of responses, where they are kept
        self.refused = 0  # with 503, where that is counted
        self._keeps, self._counts = keeps, counts
        self._waiting = waiting
        self._begin = 0.0
        self._start()

    def _start(self) -> None:
        self._received = b""
        self._end: int | None = None  # where the response ends; None while that is not known
        self._chunked = False
        self._refused = False

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
        if self._refused:
            self.refused += 1
        else:
            self.times.append(time.perf_counter() - self._begin)
        if self._keeps:
            self.bodies.append(self._received.partition(b"\r\n\r\n")[2])
        self._start()
        return not self.ask()

    def _is_whole(self) -> bool:
        if self._end is None and not self._chunked:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return False
            if self._received.startswith(b"HTTP/1.1 503") and self._counts:
                self._refused = True
            elif not self._received.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
                first, _, rest = self._received.partition(b"\r\n")
                said = rest.partition(b"\r\n\r\n")[2].strip()[:200]
                raise Refused(b": ".join(filter(None, (first, said))).decode("latin-1"))
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
