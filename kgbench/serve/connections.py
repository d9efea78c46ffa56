# SPDX-License-Identifier: Apache-2.0
"""HTTP connections with time limits for request heads and a fast path for look-ups."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kgbench.serve.lookups import LOOKUPS
from kgbench.serve.refusals import ABORT

HEAD_SECONDS = 5.0
MOST = 480  # connections; beyond that, the oldest idle one is closed
READ_SECONDS = 20.0  # time for a client to read the send buffer, about 64 KiB
LONGEST_HEAD = 128 << 10  # bytes of request line and headers, beyond the first chunk
LONGEST_URL = 65_000  # bytes; httptools parses at most 65,535
_NO_SPACE = (b"HTTP/1.1 431 Request Header Fields Too Large\r\n", b"the request's head is too long")
_NO_URL = (b"HTTP/1.1 414 URI Too Long\r\n", b"the URL is too long: send the query by POST")


class Stage(Enum):
    """The parsing state of a connection."""

    BETWEEN = "between requests"
    HEAD = "in a head"
    BODY = "in a body"


class Connection(HttpToolsProtocol):
    """A client connection, with :data:`HEAD_SECONDS` for the head of each request.

    Without a time limit, clients that send nothing would occupy all connections; without a size
    limit, endless heads would exhaust the memory. Beyond :data:`MOST` connections the oldest idle
    one is closed, so that clients with a request find room beside any number of idle ones. A client
    that does not read its response is disconnected after :data:`READ_SECONDS`.

    Plain look-ups and ``/health`` are answered as soon as the head is complete, which takes a third
    of the time of tasks, middleware and routing. Only one per received chunk is answered this way,
    so that a pipelining client cannot block others.
    """

    url = b""
    _read_timer: asyncio.TimerHandle | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _stage = Stage.BETWEEN
    _ended = False  # whether the last chunk completed a request
    _answered = False  # whether the current request was answered by the fast path
    _may_answer = True
    made = 0.0  # time of the connection, by the clock of the event loop
    _size = 0  # bytes of an incomplete head, beyond the chunk in which it began

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first head."""
        super().connection_made(transport)
        self.made = self.loop.time()
        self._start_timer()
        if len(self.connections) > MOST:
            self._make_room()

    def _make_room(self) -> None:
        """Close the oldest idle connection."""
        idle = [
            connection
            for connection in self.connections
            if isinstance(connection, Connection) and connection.is_idle
        ]
        if idle:
            min(idle, key=lambda connection: connection.made).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and has no request in progress."""
        if self._stage is Stage.BODY or self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; check the size of the head and restart its timer if needed."""
        self._ended = False
        self._may_answer = True
        self._size += len(data)
        super().data_received(data)
        if self._stage is Stage.BODY or self.transport.is_closing():
            return
        if self._stage is Stage.HEAD and self._size > LONGEST_HEAD:
            self._refuse(*_NO_SPACE)
        # Empty lines between requests also start the timer, so that they do not keep a connection.
        elif self._head_timer is None and not (self._stage is Stage.BETWEEN and self._ended):
            self._start_timer()

    def pause_writing(self) -> None:
        """Start the timer for a client that reads too slowly."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the client has read."""
        self._stop_read_timer()
        super().resume_writing()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Record the start of a head, and let the application abort the connection."""
        self._size = 0
        self._stage = Stage.HEAD
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """Stop the timer; answer the request by the fast path, or pass it to the application."""
        self._stage = Stage.BODY
        self._stop_timer()
        if len(self.url) > LONGEST_URL:
            self._refuse(*_NO_URL)
        self._answered = self._answer()
        if not self._answered and not self.transport.is_closing():
            self._unset_keepalive_if_required()  # set by a look-up in the same chunk
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass a chunk of a body to the application, unless the request is answered."""
        if not self._answered and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Record the end of a request, and pass it to the application unless it is answered."""
        self._stage = Stage.BETWEEN
        self._ended = True
        if not self._answered and not self.transport.is_closing():
            super().on_message_complete()

    def _answer(self) -> bool:
        """Answer a look-up by the fast path, if no other request is in progress."""
        if (
            not self._may_answer
            or self.parser.get_method() != b"GET"
            or self.parser.get_http_version() != "1.1"
            or self.parser.should_upgrade()
            or (self.cycle is not None and not self.cycle.response_complete)
            or self.flow.write_paused
            or self.transport.is_closing()
        ):
            return False
        pieces = self.app_state[LOOKUPS].respond(self.url, self.headers)
        if pieces is None:
            return False
        self._may_answer = False
        keeps = self.parser.should_keep_alive()
        if not keeps:
            pieces.insert(1, b"connection: close\r\n")
        for name, value in self.server_state.default_headers:
            pieces.insert(1, b"%b: %b\r\n" % (name, value))
        self.transport.write(b"".join(pieces))
        self.server_state.total_requests += 1
        if not keeps:
            self.transport.close()
            return True
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        return True

    def _refuse(self, status: bytes, message: bytes) -> None:
        length = b"content-length: %d\r\n" % len(message)
        kind = b"content-type: text/plain; charset=utf-8\r\n"
        self.transport.write(status + kind + length + b"connection: close\r\n\r\n" + message)
        self.transport.close()

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        # Empty lines or an incomplete head may follow a request that is still being answered.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
