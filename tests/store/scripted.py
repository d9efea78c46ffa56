# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that sends exactly the bytes that a test prescribes."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple

from kgbench.store.back_ends import BackEnd
from kgbench.store.client import Client
from tests.support.servers.handled import Handled, Quiet

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


class Scripted(Handled):
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

        class Answering(Quiet, BaseHTTPRequestHandler):
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

        super().__init__(Answering)
        if tls is not None:  # each connection performs its handshake in its own thread
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
            self.handle_error = lambda *_: None  # ignore rejected handshakes
        self._scheme = "http" if tls is None else "https"

    @property
    def url(self):
        """The address of the server, without a final slash."""
        return f"{self._scheme}://127.0.0.1:{self.server_port}"

    def _next(self, asked):
        with self._lock:
            number = len(self.seen)
            self.seen.append(asked)
        if self._answers is not None:
            return self._answers[min(number, len(self._answers) - 1)]
        return self._answer(asked)


@contextmanager
def client(answer, form="json", read=True, kind="sparql"):
    """Yield a client of a server with these responses, and the server."""
    with Scripted(answer, read=read) as server:
        url = server.url
        addresses = (f"{url}/query", f"{url}/update", f"{url}/store")
        made = Client(BackEnd(url, kind, *addresses, 1_000_000, form))
        try:
            yield made, server
        finally:
            made.close()
