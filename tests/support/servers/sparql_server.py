# SPDX-License-Identifier: Apache-2.0
"""A SPARQL endpoint on the loopback interface over a few triples, with scripted failures."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

import pyoxigraph as ox

from tests.support.servers.handled import Handled, Quiet


class SparqlServer(Handled):
    """Answers queries from ``store``; each request takes the next of ``failures`` first.

    A failure is a status with headers, ``drop``, ``stall``, ``half`` (an error whose body stops),
    ``drip`` (a response in small pieces that never ends), or the bytes of another response;
    ``asked`` keeps the queries.
    """

    def __init__(self, turtle: str) -> None:
        super().__init__(_Handler)
        self.store = ox.Store()
        self.store.load(turtle.encode(), ox.RdfFormat.TURTLE)
        self.failures: list[tuple[int, dict[str, str]] | str | bytes] = []
        self.asked: list[str] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        return f"{super().url}/sparql"

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        super().__exit__(*exception)


class _Handler(Quiet, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # each failure ends the connection
    server: SparqlServer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        query = form["query"][0]
        self.server.asked.append(query)
        failure = self.server.failures.pop(0) if self.server.failures else None
        if failure == "drop":
            self.close_connection = True
        elif failure == "stall":
            self.server.released.wait(30)
        elif failure == "half":
            self._send(503, b"I am", {"Content-Length": "1000"})
            self.server.released.wait(30)
        elif failure == "drip":
            self._send(200, b"", {"Content-Length": "1000000"})
            with contextlib.suppress(OSError):
                while not self.server.released.wait(0.02):
                    self.wfile.write(b" ")
        elif isinstance(failure, bytes):
            self._send(200, failure)
        elif isinstance(failure, tuple):
            self._send(failure[0], b"as told", failure[1])
        else:
            self._answer(query)

    def _answer(self, query: str) -> None:
        try:
            found = self.server.store.query(query)
        except SyntaxError as error:
            self._send(400, str(error).encode())
            return
        body = found.serialize(format=ox.QueryResultsFormat.JSON)
        self._send(200, body)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
