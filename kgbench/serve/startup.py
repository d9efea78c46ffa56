# SPDX-License-Identifier: Apache-2.0
"""A server: listening, limits of its connections, and a clean end on SIGTERM and Ctrl-C.

uvicorn has no limits of its own on the head of a request and on slow readers with its fast parser:
clients that send nothing would occupy all connections, and endless heads would exhaust the memory
(``tests/serve/test_hostile.py``).
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kgbench.errors import StoreError
from kgbench.net.limits import is_loopback
from kgbench.serve.admission import ABORT
from kgbench.serve.app import application
from kgbench.serve.settings import Settings

HEAD_SECONDS = 5.0
MOST = 480  # connections; beyond that, the oldest idle one is closed
READ_SECONDS = 20.0  # time for a client to read the send buffer, about 64 KiB
LONGEST_HEAD = 128 << 10  # bytes of request line and headers, beyond the first chunk
LONGEST_URL = 65_000  # bytes; httptools parses at most 65,535
END_SECONDS = 15.0  # from the first signal to the end of the server
_ENOUGH = 3  # signals
_NO_SPACE = (b"HTTP/1.1 431 Request Header Fields Too Large\r\n", b"the request's head is too long")
_NO_URL = (b"HTTP/1.1 414 URI Too Long\r\n", b"the URL is too long: send the query by POST")
_BACKLOG = 512
_MOST_CONNECTIONS = 500  # with requests in progress; further requests get 503
_PATIENCE = 2  # seconds for answers in progress when the server shuts down


class Connection(HttpToolsProtocol):
    """A client connection, with :data:`HEAD_SECONDS` for the head of each request.

    Beyond :data:`MOST` connections the oldest idle one is closed, so that clients with a request
    find room beside any number of idle ones. A client that does not read its response is
    disconnected after :data:`READ_SECONDS`.
    """

    _read_timer: asyncio.TimerHandle | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _in_head = False
    _in_body = False
    _ended = False  # whether the last chunk completed a request
    made = 0.0  # time of the connection, by the clock of the event loop
    _size = 0  # bytes of an incomplete head, beyond the chunk in which it began

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first head."""
        super().connection_made(transport)
        self.made = self.loop.time()
        self._start_timer()
        if len(self.connections) > MOST:
            idle = [one for one in self.connections if isinstance(one, Connection) and one.is_idle]
            if idle:
                min(idle, key=lambda connection: connection.made).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and has no request in progress."""
        return not (self._in_body or self.transport.is_closing() or self._is_answering)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; check the size of the head and restart its timer if needed."""
        self._ended = False
        self._size += len(data)
        super().data_received(data)
        if self._in_body or self.transport.is_closing():
            return
        if self._in_head and self._size > LONGEST_HEAD:
            self._refuse(*_NO_SPACE)
        # Empty lines between requests also start the timer, so that they do not keep a connection.
        elif self._head_timer is None and (self._in_head or not self._ended):
            self._start_timer()

    def pause_writing(self) -> None:
        """Start the timer for a client that reads too slowly."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the client has read."""
        self._stop_read_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Record the start of a head, and let the application abort the connection."""
        self._size = 0
        self._in_head = True
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """Stop the timer; pass the request to the application unless its URL is too long."""
        self._in_head, self._in_body = False, True
        self._stop_timer()
        if len(self.url) > LONGEST_URL:
            self._refuse(*_NO_URL)
        if not self.transport.is_closing():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass a chunk of a body to the application."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Record the end of a request, and pass it to the application."""
        self._in_body = False
        self._ended = True
        if not self.transport.is_closing():
            super().on_message_complete()

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

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        # Empty lines or an incomplete head may follow a request that is still being answered.
        if not self._is_answering:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that exits at most :data:`END_SECONDS` after SIGTERM or SIGINT, or at the third one.

    A thread that runs an update in the engine cannot be stopped, and both the event loop and Python
    wait for it at their end. A forced exit runs no more Python code and has the exit status 1.
    Worker processes end with the server, and the store is cleaned up when it is opened next, as
    after any kill.
    """

    _signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown, or force it at the third signal."""
        self._signals += 1
        if self._signals == 1:
            # The watchdog is a C thread, which needs neither the event loop nor the GIL.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            faulthandler.dump_traceback_later(END_SECONDS, exit=True, file=nowhere)
        elif self._signals >= _ENOUGH:
            os._exit(1)
        super().handle_exit(sig, frame)

    def run(self, *arguments: object, **named: object) -> None:
        """Serve until a signal ends the server."""
        try:
            super().run(*arguments, **named)  # type: ignore[arg-type]
        finally:
            if self._signals:
                faulthandler.cancel_dump_traceback_later()


def host_names(host: str, public: str | None) -> frozenset[str]:
    """Return the names and addresses that clients may use for a server that listens at ``host``.

    >>> local = host_names("::1", None)
    >>> sorted(host_names("results.example", "https://example.org/bench/") - local)
    ['example.org', 'results.example']
    """
    own = socket.gethostname().lower()
    public_name = urlsplit(public).hostname if public else None
    names = {"localhost", "127.0.0.1", "::1", own, f"{own}.local", host.lower()}
    return frozenset(names | ({public_name} if public_name else set()))


def is_local(host: str, public: str | None) -> bool:
    """Return whether a server that listens at ``host`` is for clients on this machine only."""
    return public is None and is_loopback(host)


def start(
    settings: Settings, host: str, port: int, listening: Callable[[str], object] | None = None
) -> None:
    """Serve a store until SIGTERM or Ctrl-C; see :func:`run`."""
    banner = f"serving {settings.location}\n" + "pages  {url}\nSPARQL {url}sparql\n"
    run(server(settings), banner, host, port, listening)


def run(
    running: Server,
    banner: str,
    host: str,
    port: int,
    listening: Callable[[str], object] | None = None,
) -> None:
    """Print ``banner``, with ``{url}`` filled in, and serve until SIGTERM or Ctrl-C.

    ``listening`` is called with the address as soon as clients can connect.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets with the protocol IPPROTO_TCP; without it, small
    # answers are delayed by 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise StoreError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        listener.listen(_BACKLOG)
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listener.getsockname()[1]}/"
        sys.stdout.write(banner.replace("{url}", url))
        sys.stdout.flush()
        if listening is not None:
            listening(url)
        running.run(sockets=[listener])


def server(settings: Settings, app: ASGIApp | None = None) -> Server:
    """Return a server that is not started yet, for sockets that already listen.

    It serves the store of ``settings``, or the application ``app``.
    """
    return Server(
        uvicorn.Config(
            app or application(settings),
            http=Connection,  # bounds the size and time of a request's head
            loop="asyncio",  # uvloop made no difference that could be measured
            ws="none",
            log_level="error",  # hostile clients could fill the log with warnings
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )
