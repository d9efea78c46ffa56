# SPDX-License-Identifier: Apache-2.0
"""Connections: they end when the head of a request does not come, and answer look-ups at once."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kgbench.serve.lookups import LOOKUPS
from kgbench.serve.refusals import ABORT

HEAD_SECONDS = 5.0
MOST = 480  # connections, beyond which the oldest without a request under way is ended
READ_SECONDS = 20.0  # for the client to take what waits for it, about 64 KiB
LONGEST_HEAD = 128 << 10  # bytes of request line and headers, beyond the first piece that came
LONGEST_URL = 65_000  # bytes; the parser reads no more than 65,535
_NO_SPACE = (b"HTTP/1.1 431 Request Header Fields Too Large\r\n", b"the request's head is too long")
_NO_URL = (b"HTTP/1.1 414 URI Too Long\r\n", b"the URL is too long: send the query by POST")


class Stage(Enum):
    """Where in a client's bytes a connection is."""

    BETWEEN = "between requests"
    HEAD = "in a head"
    BODY = "in a body"


class Connection(HttpToolsProtocol):
    """One connection of a client, which has :data:`HEAD_SECONDS` to send each request's head.

    Without this, clients that send nothing would keep their connections, and so keep others out;
    and clients that send heads without end would take all memory. Beyond :data:`MOST` connections
    the oldest one ends on which no request is under way, so that clients that come with a request
    find room beside any number of others that come without one. A client that does not take its
    answer loses the connection after :data:`READ_SECONDS`. Plain look-ups, and ``/health``, are
    answered as soon as their head is there, which takes a third of the time that the way through
    tasks, middleware and routes takes; one per piece that comes, so that nobody holds up others.
    """

    url = b""
    _stalled: asyncio.TimerHandle | None = None
    _deadline: asyncio.TimerHandle | None = None
    _stage = Stage.BETWEEN
    _ended = False  # whether the piece that just came ended a request
    _answered = False  # whether the request under way has its answer already
    _may_answer = True
    made = 0.0  # when the connection was made, by the clock of the loop
    _size = 0  # bytes of a head that is not complete, beyond the piece in which it began

    def connection_made(self, transport: Any) -> None:
        """A client has come; its time begins."""
        super().connection_made(transport)
        self.made = self.loop.time()
        self._begin()
        if len(self.connections) > MOST:
            self._make_room()

    def _make_room(self) -> None:
        """End the oldest connection on which no request is under way."""
        idle = [one for one in self.connections if isinstance(one, Connection) and one.is_idle]
        if idle:
            min(idle, key=lambda one: one.made).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and no request is under way on it."""
        if self._stage is Stage.BODY or self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Bytes came; where they complete a head, the clock stops."""
        self._ended = False
        self._may_answer = True
        self._size += len(data)
        super().data_received(data)
        if self._stage is Stage.BODY or self.transport.is_closing():
            return
        if self._stage is Stage.HEAD and self._size > LONGEST_HEAD:
            self._refuse(*_NO_SPACE)
        # Empty lines between requests are bytes, too, with which nobody keeps a connection.
        elif self._deadline is None and not (self._stage is Stage.BETWEEN and self._ended):
            self._begin()

    def pause_writing(self) -> None:
        """The client reads too slowly; its time begins."""
        super().pause_writing()
        self._stalled = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        self._stop_waiting()
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop()
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._size = 0
        self._stage = Stage.HEAD
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """A head is complete; a body may follow."""
        self._stage = Stage.BODY
        self._stop()
        if len(self.url) > LONGEST_URL:
            self._refuse(*_NO_URL)
        self._answered = self._answer()
        if not self._answered and not self.transport.is_closing():
            self._unset_keepalive_if_required()  # a look-up in the same piece has set it
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body came."""
        if not self._answered and not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._stage = Stage.BETWEEN
        self._ended = True
        if not self._answered and not self.transport.is_closing():
            super().on_message_complete()

    def _answer(self) -> bool:
        """Answer the request here, if it is one for look-ups and nothing else is under way."""
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

    def _refuse(self, status: bytes, said: bytes) -> None:
        length = b"content-length: %d\r\n" % len(said)
        kind = b"content-type: text/plain; charset=utf-8\r\n"
        self.transport.write(status + kind + length + b"connection: close\r\n\r\n" + said)
        self.transport.close()

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        # Empty lines or a half head may follow a request whose answer is under way.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
