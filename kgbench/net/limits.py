# SPDX-License-Identifier: Apache-2.0
"""Limits of a response: bytes as sent, bytes after decompression, and seconds.

A server may send an endless response, a byte per minute, or a few kilobytes that decompress to
gigabytes. Each response has a :class:`Meter`; bytes are counted as they arrive and decompressed in
pieces of bounded size.

:class:`Misbehaviour` is the superclass of all errors of this module.
"""

from __future__ import annotations

import email.utils
import ipaddress
import math
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import urljoin, urlsplit

from kgbench.errors import ImportRefused

PIECE: Final = 1 << 16
"""Maximal bytes that are decompressed at once."""

RATIO: Final = 500
"""Maximal ratio of decompression; gzip can reach 1,030, large RDF files stay below 100."""

REPLY: Final = 1 << 26
"""Maximal bytes of a provider's reply, as sent and after decompression."""

HEAD: Final = 1 << 17
"""Maximal bytes before the body of a response; h11 accepts 100 KB per header section."""

REDIRECTS: Final = 5
"""Maximal number of redirects that are followed."""

LONGEST_WAIT: Final = 3600.0
"""Maximal seconds to wait when a server asks for it (Retry-After)."""

T = TypeVar("T")

_EXEMPT: Final = 1 << 26  # bytes up to which any ratio is allowed
_NOT_IN_HOSTS: Final = re.compile(r"[\x00-\x7f](?<![A-Za-z0-9._~:%-])")  # names and addresses
_PORTS: Final = {"http": 80, "https": 443}


class Misbehaviour(Exception):
    """A server violates a limit or the protocol; never raised itself."""


class ResponseTooLarge(Misbehaviour):
    """A response exceeds a limit of bytes."""


class ResponseTooSlow(Misbehaviour):
    """A response exceeds its time limit."""


class RedirectRefused(Misbehaviour):
    """A server redirects to another server, which is not contacted, or too often."""


class InvalidResponse(Misbehaviour):
    """A response has endless headers, an invalid body, or an unrequested content coding."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a response.

    ``encoded`` and ``decoded`` are bytes before and after decompression. ``seconds`` is the total
    time; every ``slowest`` bytes that arrive add a second to it (0 adds nothing).
    """

    encoded: int
    decoded: int
    seconds: float
    slowest: int = 0


class Meter:
    """Counts the bytes and seconds of one response, from the creation of the meter.

    The head has a limit of its own, because HTTP libraries skip any number of "100 Continue"
    responses.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.encoded = 0
        self.decoded = 0
        self._head = 0
        self._began = time.monotonic()

    def remaining(self) -> float:
        """Return the seconds until the time limit; raises :class:`ResponseTooSlow` after it."""
        earned = self.encoded / self.limits.slowest if self.limits.slowest else 0.0
        left = self._began + self.limits.seconds + earned - time.monotonic()
        if left <= 0:
            raise ResponseTooSlow(f"the response was not whole after {self.limits.seconds:g} s")
        return left

    def begin_head(self) -> None:
        """Begin a response: to the first request, after a redirect, or after a challenge."""
        self._head = 0

    def count_head(self, size: int) -> None:
        """Count bytes before the body; raises :class:`InvalidResponse` if there are too many."""
        self._head += size
        if self._head > HEAD:
            raise InvalidResponse(f"the response begins with more than {HEAD >> 10} KB of headers")

    def count_received(self, size: int) -> None:
        """Count bytes of a body; raises :class:`ResponseTooLarge` or :class:`ResponseTooSlow`."""
        self.encoded += size
        if self.encoded > self.limits.encoded:
            raise ResponseTooLarge(f"the response has more than {_size(self.limits.encoded)}")
        self.remaining()

    def count_decoded(self, size: int) -> None:
        """Count bytes after decompression. Raises :class:`ResponseTooLarge`."""
        self.decoded += size
        if self.decoded > self.limits.decoded:
            raise ResponseTooLarge(
                f"the response unpacks to more than {_size(self.limits.decoded)}"
            )
        if self.decoded > max(_EXEMPT, RATIO * self.encoded):
            raise ResponseTooLarge(f"the response unpacks to more than {RATIO} times its size")


@dataclass
class Budget:
    """The remaining bytes and seconds for reading what others made, from its creation on.

    Downloaded bytes count, and unpacked ones again. Methods raise
    :class:`~kgbench.errors.ImportRefused` when the budget is spent.
    """

    bytes: int
    seconds: float
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.seconds

    def remaining(self) -> float:
        """Return the remaining seconds, more than 0."""
        seconds_left = self._ends - time.monotonic()
        if seconds_left <= 0:
            raise ImportRefused(f"it takes longer than {self.seconds:g} s: raise --seconds")
        return seconds_left

    def spend(self, size: int) -> None:
        """Subtract ``size`` bytes, and check the time."""
        self.bytes -= size
        if self.bytes < 0:
            raise ImportRefused("it has more bytes, packed and unpacked, than --most allows")
        self.remaining()

    def within(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items``, and check the time before each."""
        for item in items:
            self.remaining()
            yield item


class BodyDecoder:
    """A decoder of the content coding of a response that arrives in pieces, measured by a meter.

    ``coding`` is the header ``Content-Encoding``. Raises :class:`InvalidResponse` for any coding
    but gzip, the only one in the ``Accept-Encoding`` of requests.
    """

    def __init__(self, coding: str | None, meter: Meter) -> None:
        name = (coding or "identity").strip().lower()
        if name not in ("identity", "", "gzip", "x-gzip"):
            raise InvalidResponse(
                f"the response has a content coding that was not asked for: {name}"
            )
        self._meter = meter
        self._member = _member() if name.endswith("gzip") else None
        self._begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decode ``data`` from the network, in pieces of at most :data:`PIECE` bytes."""
        self._meter.count_received(len(data))
        if self._member is None:
            self._meter.count_decoded(len(data))
            yield data
            return
        self._begun = self._begun or bool(data)
        while True:
            if data and self._member.eof:  # data may have several members (RFC 1952, section 2.2)
                self._member = _member()
            try:
                piece = self._member.decompress(data, PIECE)
            except zlib.error as error:
                raise InvalidResponse(f"the compressed response is damaged: {error}") from None
            self._meter.count_decoded(len(piece))
            if piece:
                yield piece
            data = self._member.unconsumed_tail or self._member.unused_data
            if not (data or (piece and not self._member.eof)):  # a decompressor may hold some back
                return

    def end(self) -> None:
        """Raise :class:`InvalidResponse` if the compressed data is incomplete."""
        if self._member is not None and self._begun and not self._member.eof:
            raise InvalidResponse("the compressed response ends early")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from ``retry-after-ms`` or ``Retry-After`` (RFC 9110, 10.2.3).

    ``Retry-After`` has seconds or an HTTP date, which counts from the ``Date`` of the response: the
    server's clock may differ from ours. The result is never negative, and ``None`` without a
    usable header. Names in ``headers`` are in lower case, or without case.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    until = seconds_of(headers.get("retry-after", ""))
    if until is None:
        return None
    now = seconds_of(headers.get("date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def seconds_of(date: str) -> float | None:
    """Return an HTTP date in seconds since 1970, or ``None`` if ``date`` is none."""
    moment = email.utils.parsedate_tz(date)
    try:
        return None if moment is None else float(email.utils.mktime_tz(moment))
    except (OverflowError, ValueError):
        return None


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address, the scope of a credential (RFC 6454).

    Raises :class:`ValueError` for an address that cannot be read.
    """
    parts = urlsplit(url)
    return parts.scheme, ascii_host(parts.hostname or ""), parts.port or _PORTS.get(parts.scheme, 0)


def ascii_host(host: str) -> str:
    """Return the ASCII form of a host name (RFC 5891), which requests are sent to.

    Raises :class:`ValueError` if it has none, or characters that no host name has.
    """
    if unusable := _NOT_IN_HOSTS.search(host):
        raise ValueError(f"no host name has the character {unusable[0]!r}")
    if host.isascii():
        return host
    import httpx2

    try:
        return httpx2.URL(f"http://{host}").raw_host.decode("ascii")
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or IP address.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "my-host")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_near(host: str) -> bool:
    """Return whether a host is this machine or in a private network, by its name or IP address.

    >>> [is_near(host) for host in ("localhost", "10.0.0.2", "gpu-host", "8.8.8.8", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host.lower() == "localhost" or bool(host and "." not in host)


def redirect_target(url: str, location: str) -> str:
    """Return the address that a response from ``url`` redirects to.

    Raises :class:`RedirectRefused` if it has another origin, which would get the request with its
    credentials.
    """
    try:
        target = urljoin(url, location)
        if origin(target) == origin(url):
            return target
        to = bare(target)
    except ValueError:
        to = "an address that cannot be read"
    raise RedirectRefused(
        f"the server redirects to {to}, which is not followed: if it is right, name that address "
        f"instead"
    )


def bare(url: str) -> str:
    """Return an address for messages: scheme, host and path, of a bounded length."""
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
