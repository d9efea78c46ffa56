# SPDX-License-Identifier: Apache-2.0
"""Connections between a run and its providers, as their receiver holds them.

On the run's side a connection is a socket, over which come frames: a kind, the length of the
content, and the content. What a server sends goes back as it is. The answers to :data:`CONNECT`
and :data:`START_TLS` are lines, empty or with the reason why that failed.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
from collections.abc import Coroutine
from functools import cache
from typing import Any, Final, Protocol

from kgbench.net.arrivals import UNSEALED, Arrivals, Seal, sealing

CONNECT: Final = 1
"""Connect to the host and port that the content names (JSON)."""
START_TLS: Final = 2
"""Go on encrypted, with a server of the name that the content names (JSON)."""
BEGIN: Final = 3
"""A request follows; the content is a :data:`HEAD`, then what its response belongs to (JSON)."""
DATA: Final = 4
"""Bytes for the server."""
CLOSE: Final = 5
"""The run needs the connection no more."""
FRAME: Final = struct.Struct("!BI")
HEAD: Final = struct.Struct("!Q32s")
"""The number of an exchange, and the key that its response is encrypted with in the log.

Number 0: nothing is logged. The key is zeros: the response is not encrypted.
"""
_LARGEST: Final = 1 << 26  # bytes of a response that are logged, as many as are read of a reply
_AHEAD: Final = 1 << 23  # bytes of a response that are received before the run takes them
_GRACE: Final = 2.0  # seconds until a link that ended without a word is taken for closed


class Links(Protocol):
    """What a link needs of its receiver; ``orphaned``: the run is gone."""

    arrivals: Arrivals
    orphaned: bool

    def forget(self, link: Link) -> None:
        """A link is closed."""
        ...

    def hand_on_later(self, link: Link) -> None:
        """Have a link hand on what has arrived, after all that can be read now has been."""
        ...


class Link(asyncio.Protocol):
    """A connection as the run sees it: frames come, bytes of the server go."""

    def __init__(self, receiver: Links) -> None:
        self._receiver = receiver
        self._buffer = bytearray()
        self._transport: Any = None
        self._server: Any = None
        self._upstream: Upstream | None = None
        self._work: asyncio.Task[None] | None = None
        self._number = 0
        self._about = b"null"
        self._seal: Seal | None = None
        self._size = 0
        self._arrived: list[bytes] = []  # and not handed on
        self._ended = False  # the run's side

    @property
    def awaits(self) -> bool:
        """Whether the response to some exchange is to be logged."""
        return self._number != 0 and self._server is not None

    # --- from the run -------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Take the socket of the run."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_AHEAD)

    def data_received(self, data: bytes) -> None:
        """Take what the run sends."""
        self._buffer += data
        self._take()

    def eof_received(self) -> bool:
        """The run sends no more; what is under way goes on."""
        self._run_is_gone()
        return True

    def connection_lost(self, _: Exception | None) -> None:
        """The run takes no more."""
        self._run_is_gone()

    def pause_writing(self) -> None:
        """The run does not keep up."""
        if self._server is not None:
            self._server.pause_reading()

    def resume_writing(self) -> None:
        """The run has kept up again."""
        if self._server is not None:
            self._server.resume_reading()

    def _take(self) -> None:
        buffer = self._buffer
        while self._work is None and len(buffer) >= FRAME.size:
            kind, size = FRAME.unpack_from(buffer)
            end = FRAME.size + size
            if len(buffer) < end:
                return
            content = bytes(buffer[FRAME.size : end])
            del buffer[:end]
            if kind == DATA:
                if self._server is not None:
                    self._server.write(content)
            elif kind == BEGIN:
                self._begin(content)
            elif kind == CLOSE:
                self.close()
            else:
                connecting = self._connect if kind == CONNECT else self._start_tls
                self._work = asyncio.ensure_future(self._do(connecting(**json.loads(content))))

    def _begin(self, content: bytes) -> None:
        self._number, key = HEAD.unpack_from(content)
        self._receiver.arrivals.done(self._number)  # what a proxy said, or where it redirects to
        self._about, self._size = content[HEAD.size :], 0
        self._seal = sealing(key) if key != UNSEALED else None

    def _run_is_gone(self) -> None:
        """The run closed the link without a word: it was killed, or is in a hurry."""
        if self._ended:
            return
        self._ended = True
        self.resume_writing()  # to the end, without the run
        if self.awaits:
            asyncio.get_running_loop().call_later(_GRACE, self._closed_unless_orphaned)
        else:
            self.close()

    def _closed_unless_orphaned(self) -> None:
        if not self._receiver.orphaned:
            self.close()

    def done(self, number: int) -> None:
        """The response to this exchange is needed no more."""
        if number == self._number:
            self._number = 0

    # --- connecting -----------------------------------------------------------------------------

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
            said = ""
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            said = " ".join(str(error).split()) or type(error).__name__
        self._work = None
        if not self._ended:
            self._transport.write(said.encode() + b"\n")
            if said:
                self.close()
        self._take()

    async def _connect(self, host: str, port: int, local: str | None) -> None:
        self._upstream = Upstream(self)
        self._server, _ = await asyncio.get_running_loop().create_connection(
            lambda: self._upstream,
            host,
            port,
            local_addr=(local, 0) if local else None,
            happy_eyeballs_delay=0.25,
        )

    async def _start_tls(self, hostname: str) -> None:
        assert self._upstream is not None
        self._server = await asyncio.get_running_loop().start_tls(
            self._server, self._upstream, _tls(), server_hostname=hostname
        )

    # --- from the server ------------------------------------------------------------------------

    def arrived(self, data: bytes) -> None:
        """Log ``data``, then hand it on."""
        if self._number:
            self._size += len(data)
            if self._size <= _LARGEST:
                self._receiver.arrivals.append(self._number, self._about, data, self._seal)
            else:
                self._receiver.arrivals.done(self._number)
        if not self._arrived:
            self._receiver.hand_on_later(self)
        self._arrived.append(data)

    def hand_on(self) -> None:
        """Give the run what has arrived.

        It wakes the run, for which the system may have this process wait.
        """
        if not self._ended and self._arrived:
            self._transport.write(b"".join(self._arrived))
        self._arrived.clear()

    def server_closed(self) -> None:
        """No more comes from the server."""
        self._server = None
        if self._work is not None:
            return  # which says so
        self.hand_on()
        if self._ended:
            self.close()
        elif self._transport is not None:
            self._transport.close()  # when all has been sent

    def hold(self, *, paused: bool) -> None:
        """Take no more from the run for now, or take it again."""
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        """Close both sides."""
        self._ended = True
        if self._work is not None:
            self._work.cancel()
        if self._server is not None:
            self._server.abort()
            self._server = None
        if self._transport is not None:
            self._transport.close()
        self._receiver.forget(self)


class Upstream(asyncio.Protocol):
    """A connection as the server sees it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def data_received(self, data: bytes) -> None:
        """Hand on what comes."""
        self._link.arrived(data)

    def connection_lost(self, _: Exception | None) -> None:
        """The server has closed the connection."""
        self._link.server_closed()

    def pause_writing(self) -> None:
        """The server does not keep up."""
        self._link.hold(paused=True)

    def resume_writing(self) -> None:
        """The server has kept up again."""
        self._link.hold(paused=False)


@cache
def _tls() -> ssl.SSLContext:
    """The same trust as where there is no receiver."""
    from httpcore2 import default_ssl_context

    context = default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
