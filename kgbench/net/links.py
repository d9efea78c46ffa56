# SPDX-License-Identifier: Apache-2.0
"""Connections between a run and its providers, on the side of the receiver process.

The run sends frames over a socket: a kind, the length of the content, and the content. Bytes from
the server are passed to the run unchanged. The answers to :data:`CONNECT` and :data:`START_TLS` are
lines, which are empty or contain an error message.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
from collections.abc import Coroutine
from functools import cache
from typing import Any, Final, Protocol

from kgbench.net.response_log import UNSEALED, ResponseLog, Seal, encryptor

CONNECT: Final = 1
"""Connect to the host and port in the content (JSON)."""
START_TLS: Final = 2
"""Start TLS with the server name in the content (JSON)."""
BEGIN: Final = 3
"""A request follows; the content is a :data:`HEAD`, then a description of the request (JSON)."""
DATA: Final = 4
"""Bytes for the server."""
CLOSE: Final = 5
"""Close the connection."""
FRAME: Final = struct.Struct("!BI")
HEAD: Final = struct.Struct("!Q32s")
"""The number of an exchange, and the key that encrypts its response in the log.

Number 0 means no logging; a key of zeros means no encryption.
"""
_LARGEST: Final = 1 << 26  # bytes of the largest response that is logged, as limits.REPLY
_AHEAD: Final = 1 << 23  # bytes of a response that are buffered until the run reads them
_GRACE: Final = 2.0  # seconds in which the control socket shows whether the run was killed


class Links(Protocol):
    """The part of the receiver that a link uses; ``orphaned`` says that the run is gone."""

    arrivals: ResponseLog
    orphaned: bool

    def forget(self, link: Link) -> None:
        """Remove a closed link."""
        ...

    def hand_on_later(self, link: Link) -> None:
        """Schedule passing on a link's data until all sockets that are readable now are read."""
        ...


class Link(asyncio.Protocol):
    """The run's side of a connection: receives frames, sends bytes of the server."""

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
        self._arrived: list[bytes] = []  # data from the server that the run does not have yet
        self._ended = False  # whether the run's side is closed

    @property
    def awaits(self) -> bool:
        """Whether a response that is to be logged may still arrive."""
        return self._number != 0 and self._server is not None

    # --- from the run -------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Store the transport of the run's socket."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_AHEAD)

    def data_received(self, data: bytes) -> None:
        """Process data from the run."""
        self._buffer += data
        self._process_frames()

    def eof_received(self) -> bool:
        """Note that the run sends no more; a response under way continues."""
        self._handle_lost_run()
        return True

    def connection_lost(self, _: Exception | None) -> None:
        """Note that the run reads no more."""
        self._handle_lost_run()

    def pause_writing(self) -> None:
        """Stop reading from the server while the run does not keep up."""
        if self._server is not None:
            self._server.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading from the server."""
        if self._server is not None:
            self._server.resume_reading()

    def _process_frames(self) -> None:
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
                self._work = asyncio.ensure_future(self._execute(connecting(**json.loads(content))))

    def _begin(self, content: bytes) -> None:
        self._number, key = HEAD.unpack_from(content)
        self._receiver.arrivals.done(self._number)  # an earlier response: of a proxy, or a redirect
        self._about, self._size = content[HEAD.size :], 0
        self._seal = encryptor(key) if key != UNSEALED else None

    def _handle_lost_run(self) -> None:
        """Handle a link that ended without :data:`CLOSE`, perhaps because the run was killed."""
        if self._ended:
            return
        self._ended = True
        self.resume_writing()  # so that the response is received completely
        if self.awaits:
            asyncio.get_running_loop().call_later(_GRACE, self._close_unless_orphaned)
        else:
            self.close()

    def _close_unless_orphaned(self) -> None:
        if not self._receiver.orphaned:
            self.close()

    def done(self, number: int) -> None:
        """Stop logging the response of an exchange."""
        if number == self._number:
            self._number = 0

    # --- connecting -----------------------------------------------------------------------------

    async def _execute(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
            message = ""
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            message = " ".join(str(error).split()) or type(error).__name__
        self._work = None
        if not self._ended:
            self._transport.write(message.encode() + b"\n")
            if message:
                self.close()
        self._process_frames()

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

    def receive(self, data: bytes) -> None:
        """Log ``data`` from the server, then pass it on to the run."""
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
        """Send the data that has arrived to the run.

        This comes last because it wakes the run, and the scheduler may then preempt this process.
        """
        if not self._ended and self._arrived:
            self._transport.write(b"".join(self._arrived))
        self._arrived.clear()

    def server_closed(self) -> None:
        """Handle the end of the server's connection."""
        self._server = None
        if self._work is not None:
            return  # the pending command reports the failure
        self.hand_on()
        if self._ended:
            self.close()
        elif self._transport is not None:
            self._transport.close()  # asyncio sends its buffer first

    def hold(self, *, paused: bool) -> None:
        """Pause or resume reading from the run."""
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
    """The server's side of a connection."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def data_received(self, data: bytes) -> None:
        """Pass on data from the server."""
        self._link.receive(data)

    def connection_lost(self, _: Exception | None) -> None:
        """Note that the server has closed the connection."""
        self._link.server_closed()

    def pause_writing(self) -> None:
        """Stop reading from the run while the server does not keep up."""
        self._link.hold(paused=True)

    def resume_writing(self) -> None:
        """Resume reading from the run."""
        self._link.hold(paused=False)


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context that httpcore2 uses without a receiver."""
    from httpcore2 import default_ssl_context

    context = default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
