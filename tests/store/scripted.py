# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that sends exactly the bytes that a test prescribes."""

from __future__ import annotations

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

JSON = "application/sparql-results+json"


class Asked(NamedTuple):
    """One received request."""

    method: str
    path: str
    headers: dict
    body: bytes


def said(status, body=b"", kind=None, **headers):
    """Return a response in bytes; ``headers`` with ``_`` for ``-``, ``None`` omits a header."""
    content = body.encode() if isinstance(body, str) else body
    given = {"Content-Type": kind, "Content-Length": len(content)}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status} x", *lines, "", ""]).encode("latin-1") + content


class Scripted:
    """Runs within a ``with`` block; ``answer`` maps each :class:`Asked` to the bytes to send.

    Instead of a function ``answer`` may be a list: its responses in turn, the last one repeated.
    If a response says ``Connection: close``, or is shorter than it declares, the connection is
    closed after it. With ``read=False`` it is sent before the body of the request is read.
    ``tls`` is the context of an https server.
    """

    def __init__(self, answer, *, read=True, tls=None):
        self.seen = []
        self._answers = list(answer) if isinstance(answer, list) else None
        self._answer = answer
        self._lock = threading.Lock()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                """Log nothing."""

            def do_GET(self):
                body = b""
                if read:
                    body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(self.command, self.path, dict(self.headers.items()), body)
                content = scripted._next(asked)
                self.close_connection = not read or b"Connection: close" in content
                with suppress(OSError):
                    self.wfile.write(content)

            do_POST = do_GET  # noqa: N815 - the name that http.server expects

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:  # each connection performs its handshake in its own thread
            accepting = self._server.socket
            self._server.socket = tls.wrap_socket(
                accepting, server_side=True, do_handshake_on_connect=False
            )
            self._server.handle_error = lambda *_: None  # ignore rejected handshakes
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def _next(self, asked):
        with self._lock:
            number = len(self.seen)
            self.seen.append(asked)
        if self._answers is not None:
            return self._answers[min(number, len(self._answers) - 1)]
        return self._answer(asked)

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
