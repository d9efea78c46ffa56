# SPDX-License-Identifier: Apache-2.0
"""A proxy on loopback before a SPARQL server, with scripted faults or a demand for credentials."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.support.servers.handled import Handled, Quiet

OK, BEFORE, AFTER, HALF, BUSY, LATE = "ok", "before", "after", "half", "busy", "late"
KINDS = (BEFORE, AFTER, HALF, BUSY, LATE)


class Seen(NamedTuple):
    """One received request, with its treatment (``done``)."""

    method: str
    path: str
    headers: dict
    body: bytes
    done: str


class Proxy(Handled):
    """Forwards requests to ``upstream``; ``script`` maps the number of a request to its treatment.

    ``before``: the connection is cut, the request lost. ``after``: the request is executed, and the
    connection cut instead of a response. ``half``: cut in the middle of the response. ``busy``:
    503. ``late``: cut, and executed only after two more requests. ``guard`` may answer instead:
    it gets a request's method, target and headers, and returns a status with headers (and a body),
    or ``None``.
    ``change`` may alter the headers of a response.
    """

    def __init__(self, upstream, script=lambda _: OK, guard=None, change=None):
        self.seen = []
        self._upstream = urlsplit(upstream)
        self._script = script
        self._guard = guard
        self._change = change or (lambda headers: headers)
        self._late = []
        self._lock = threading.Lock()
        proxy = self

        class Passing(Quiet, BaseHTTPRequestHandler):
            def do_GET(self):
                proxy.handle(self)

            do_POST = do_GET  # noqa: N815 - the name that http.server expects

        super().__init__(Passing)

    def handle(self, request):
        """Treat one request as the script says."""
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        headers = dict(request.headers.items())
        with self._lock:
            refusal = self._guard and self._guard(request.command, request.path, headers)
            kind = OK if refusal else self._script(len(self.seen))
            asked = (request.command, request.path, headers, body)
            self.seen.append(Seen(*asked, "refused" if refusal else kind))
            due, self._late = self._due(), [one for one in self._late if one[0] > 0]
        for one in due:
            self._pass(*one)
        if refusal:
            status, said, *content = refusal
            self._answer(request, status, said, b"".join(content))
        elif kind == BUSY:
            self._answer(request, 503, {"Retry-After": "0"}, b"come back")
        elif kind == BEFORE:
            self._cut(request)
        elif kind == LATE:
            with self._lock:
                self._late.append([2, asked])
            self._cut(request)
        else:
            status, said, content = self._pass(*asked)
            if kind == AFTER:
                self._cut(request)
            else:
                self._answer(request, status, self._change(said), content, half=kind == HALF)

    def _due(self):
        for one in self._late:
            one[0] -= 1
        return [one[1] for one in self._late if one[0] <= 0]

    def _pass(self, method, path, headers, body):
        place = self._upstream
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        try:
            kept = ("content-type", "accept", "authorization")
            sent = {name: value for name, value in headers.items() if name.lower() in kept}
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            content = answer.read()
            said = {"Content-Type": answer.headers.get("Content-Type") or "text/plain"}
            return answer.status, said, content
        finally:
            connection.close()

    @staticmethod
    def _answer(request, status, headers, content, half=False):
        request.send_response_only(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if status != 204:
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if half:
            request.wfile.write(content[: len(content) // 2])
            Proxy._cut(request)
        elif status != 204:
            request.wfile.write(content)

    @staticmethod
    def _cut(request):
        request.close_connection = True
        with suppress(OSError):
            request.wfile.flush()
            request.connection.shutdown(socket.SHUT_RDWR)
