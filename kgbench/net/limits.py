# SPDX-License-Identifier: Apache-2.0
"""Limits of one response: bytes as sent, bytes after decompression, and seconds.

A server may send without end, a byte a minute, or a few kilobytes that unpack to gigabytes. Each
response has a :class:`Meter`; bytes are counted as they come, and decompressed in pieces of a
bounded size.

::

    Misbehaviour         never raised itself
    ├── TooMuch          more bytes than are read
    ├── TooSlow          more seconds than are waited
    ├── LedAway          a redirect to another server, or without end
    └── Unreadable       a content coding that was not asked for, or a body that is broken
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

PIECE: Final = 1 << 16
"""The most bytes that are decompressed at once."""

RATIO: Final = 500
"""How many times larger a body may become; gzip reaches 1,030, and large RDF less than 100."""

REPLY: Final = 1 << 26
"""The most bytes of a provider's reply, as sent and as decompressed."""

HEAD: Final = 1 << 17
"""The most bytes that come before the body of a response; h11 takes 100 KB of one head."""

REDIRECTS: Final = 5
"""The most redirects that are followed, where any are."""

LONGEST_WAIT: Final = 3600.0
"""The most seconds for which a server is left alone because it asks for that."""

_EXEMPT: Final = 1 << 26  # bytes up to which any ratio is allowed
_PORTS: Final = {"http": 80, "https": 443}


class Misbehaviour(Exception):
    """A server does not keep to what was agreed; never raised itself."""


class TooMuch(Misbehaviour):
    """A response is larger than what is read of one."""


class TooSlow(Misbehaviour):
    """A response takes longer than is waited for one."""


class LedAway(Misbehaviour):
    """A server redirects to another one, which is not asked, or in circles."""


class Unreadable(Misbehaviour):
    """A response has no end of headers, or a body that is broken, or coded as was not asked for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a response may cost.

    ``encoded`` and ``decoded`` are bytes before and after decompression. ``seconds`` is the time
    in all; each ``slowest`` bytes that arrive add a second to it (0: nothing adds to it).
    """

    encoded: int
    decoded: int
    seconds: float
    slowest: int = 0


class Meter:
    """Counts what one response costs; begins when it is made."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.encoded = 0
        self.decoded = 0
        self._began = time.monotonic()

    def left(self) -> float:
        """Seconds until the response has taken too long; not positive where it has.

        Raises nothing, so that whoever waits decides how.
        """
        earned = self.encoded / self.limits.slowest if self.limits.slowest else 0.0
        return self._began + self.limits.seconds + earned - time.monotonic()

    def received(self, size: int) -> None:
        """Count bytes from the network. Raises :class:`TooMuch` or :class:`TooSlow`."""
        self.encoded += size
        if self.encoded > self.limits.encoded:
            raise TooMuch(f"the response has more than {_size(self.limits.encoded)}")
        if self.left() <= 0:
            raise TooSlow(f"the response was not whole after {self.limits.seconds:g} s")

    def unpacked(self, size: int) -> None:
        """Count bytes after decompression. Raises :class:`TooMuch`."""
        self.decoded += size
        if self.decoded > self.limits.decoded:
            raise TooMuch(f"the response unpacks to more than {_size(self.limits.decoded)}")
        if self.decoded > max(_EXEMPT, RATIO * self.encoded):
            raise TooMuch(f"the response unpacks to more than {RATIO} times its size")


class Reads:
    """The reads of one response from its connection: how long each waits, how long the head is.

    No read waits longer than ``idle`` seconds, or than ``meter`` leaves. The timeout of a socket
    alone is that of one read: a server that sends a byte now and then would be read for ever, also
    in the headers. What comes before the body is limited by itself, because HTTP libraries pass
    over any number of "100 Continue", however large a body may be.
    """

    def __init__(self, meter: Meter, idle: float) -> None:
        self.meter = meter
        self._idle = idle
        self._head: int | None = 0  # bytes before the body, None in it

    def wait(self) -> float:
        """Seconds that the next read may wait. Raises :class:`TooSlow` where none are left."""
        left = self.meter.left()
        if left <= 0:
            raise TooSlow(f"the response was not whole after {self.meter.limits.seconds:g} s")
        return min(left, self._idle)

    def came(self, size: int) -> None:
        """Take note of bytes from the connection. Raises :class:`Unreadable` in a long head."""
        if self._head is not None:
            self._head += size
            if self._head > HEAD:
                raise Unreadable(f"the response begins with more than {HEAD >> 10} KB of headers")

    def begin_body(self) -> None:
        """The headers are complete."""
        self._head = None


class Body:
    """Undoes the content coding of a response that comes in pieces.

    ``coding`` is the header ``Content-Encoding``. Raises :class:`Unreadable` for any but gzip,
    which is all that requests ask for.
    """

    def __init__(self, coding: str | None, meter: Meter) -> None:
        name = (coding or "identity").strip().lower()
        if name not in ("identity", "", "gzip", "x-gzip"):
            raise Unreadable(f"the response has a content coding that was not asked for: {name}")
        self._meter = meter
        self._member = _member() if name.endswith("gzip") else None
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` from the network holds, in pieces of at most :data:`PIECE` bytes."""
        if self._member is None:
            self._meter.unpacked(len(data))
            yield data
            return
        self._begun = self._begun or bool(data)
        while data:
            if self._member.eof:  # one compressed text behind the other is one text
                self._member = _member()
            try:
                piece = self._member.decompress(data, PIECE)
            except zlib.error as error:
                raise Unreadable(f"the compressed response is damaged: {error}") from None
            self._meter.unpacked(len(piece))
            if piece:
                yield piece
            data = self._member.unconsumed_tail or self._member.unused_data
        while len(piece := self._rest()) > 0:
            yield piece

    def end(self) -> None:
        """Raise :class:`Unreadable` where the compressed text has not come to its end."""
        if self._member is not None and self._begun and not self._member.eof:
            raise Unreadable("the compressed response ends early")

    def _rest(self) -> bytes:
        """What the decompressor holds back although it has all its input."""
        if self._member is None or self._member.eof:
            return b""
        piece = self._member.decompress(b"", PIECE)
        self._meter.unpacked(len(piece))
        return piece


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address: what a credential is meant for."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def redirected(url: str, location: str) -> str:
    """The address that a response from ``url`` redirects to.

    Raises :class:`LedAway` where it is of another origin: it would be sent the request with its
    credentials.
    """
    try:
        target = urljoin(url, location)
        if origin(target) == origin(url):
            return target
        to = bare(target)
    except ValueError:
        to = "an address that cannot be read"
    raise LedAway(
        f"the server redirects to {to}, which is not followed: if it is right, name that address "
        f"instead"
    )


def bare(url: str) -> str:
    """An address as messages show it: scheme, host and path, of a bounded length."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    shown = f"{parts.scheme}://{host}{parts.path}" if host else "an address without a host"
    return shown if len(shown) <= 200 else shown[:199] + "…"  # noqa: PLR2004


def _member() -> zlib._Decompress:
    return zlib.decompressobj(16 + zlib.MAX_WBITS)


def _size(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count} bytes"
