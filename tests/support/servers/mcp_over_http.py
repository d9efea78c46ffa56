# SPDX-License-Identifier: Apache-2.0
"""An MCP server for tests that speaks streamable HTTP, with a configurable fault.

It does not use the SDK, because the SDK's server cannot send these faults.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.servers.handled import Handled, Quiet

JSON = "application/json"
EVENTS = "text/event-stream"
PIECE = b"x" * (1 << 20)
MOST = 512  # pieces, so that a test of a client without limits ends, too


class McpOverHttp(Handled):
    """A server in its own thread.

    ``manner`` is its reaction to calls of its tool (``at="use"``) or to the first request
    (``at="begin"``). ``requests`` are the methods and headers received, ``sent`` the bytes of
    flooding bodies; ``called`` is invoked when a call is noticed or held; ``other`` is the URL
    used in redirects and challenges.
    """

    def __init__(self, manner: str = "good", at: str = "use", other: str = "") -> None:
        self.manner, self.at, self.other = manner, at, other
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.sent = 0
        self.called: Callable[[], object] = lambda: None
        self.together = threading.Barrier(3)
        self.answered: list[str] = []
        self.turn = threading.Condition()
        super().__init__(_Handler)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"{super().url}/mcp"


class _Handler(Quiet, BaseHTTPRequestHandler):
    """Answers one request."""

    server: McpOverHttp

    def do_GET(self) -> None:
        """Refuse a stream of server-initiated messages."""
        self.server.requests.append(("GET", _lower(self.headers)))
        self._whole(405, b"")

    def do_DELETE(self) -> None:
        """End a session."""
        self.server.requests.append(("DELETE", _lower(self.headers)))
        self._whole(200, b"")

    def do_POST(self) -> None:
        """Answer a message, or apply the fault ``manner``."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((asked["method"], _lower(self.headers)))
        if asked["method"] == ("tools/call" if self.server.at == "use" else "initialize"):
            getattr(self, f"_{self.server.manner.replace('-', '_')}")(asked)
        else:
            self._good(asked)

    def _good(self, asked: dict[str, Any]) -> None:
        if "id" not in asked:
            self._whole(202, b"")
            return
        found = _result(asked, self.headers.get("Authorization", ""))
        body = {"jsonrpc": "2.0", "id": asked["id"], **found}
        self._whole(200, json.dumps(body).encode(), JSON)

    def _held(self, _: object) -> None:
        self.server.called()
        self.connection.recv(1)  # until the client closes the connection
        self.close_connection = True

    def _noticed(self, asked: dict[str, Any]) -> None:
        self.server.called()
        self._good(asked)

    def _reversed(self, asked: dict[str, Any]) -> None:
        """Answer three calls once all have arrived, in reverse order."""
        text = asked["params"]["arguments"]["text"]
        self.server.together.wait(60)
        with self.server.turn:
            self.server.turn.wait_for(lambda: len(self.server.answered) == 2 - int(text), 60)
            self._good(asked)
            self.server.answered.append(text)
            self.server.turn.notify_all()

    def _redirect(self, _: object) -> None:
        self._whole(307, b"", Location=self.server.other)

    def _login(self, _: object) -> None:
        challenge = f'Bearer resource_metadata="{self.server.other}"'
        said = json.dumps({"error": self.headers.get("Authorization")}).encode()
        self._whole(401, said, JSON, **{"WWW-Authenticate": challenge})

    def _endless(self, _: object) -> None:
        self._flood(JSON, b'{"jsonrpc": "2.0", "filler": "', PIECE)

    def _endless_event(self, _: object) -> None:
        self._flood(EVENTS, b"data: ", PIECE)

    def _endless_events(self, _: object) -> None:
        ping = b": ping\n\n" * (1 << 17)
        self._flood(EVENTS, b"", ping)

    def _bomb(self, _: object) -> None:
        body = gzip.compress(bytes(1 << 28), 9)
        self.server.sent += len(body)
        self._whole(200, body, JSON, **{"Content-Encoding": "gzip"})

    def _gigabyte(self, _: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", str(1 << 30))
        self.end_headers()
        self._pieces(PIECE)

    def _silent(self, _: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", EVENTS)
        self.end_headers()
        self.wfile.flush()
        self.connection.recv(1)  # until the client closes the connection
        self.close_connection = True

    def _flood(self, kind: str, begin: bytes, piece: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(begin)
        self._pieces(piece)

    def _pieces(self, piece: bytes) -> None:
        try:
            for _ in range(MOST):
                self.wfile.write(piece)
                self.server.sent += len(piece)
        except OSError:  # the client has closed the connection
            pass
        self.close_connection = True

    def _whole(self, status: int, body: bytes, kind: str = JSON, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _result(asked: dict[str, Any], token: str) -> dict[str, Any]:
    """Return the correct result of a request; the tool repeats the token of the request."""
    method, given = asked["method"], asked.get("params", {})
    if method == "initialize":
        return {
            "result": {
                "protocolVersion": given["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "aviary", "version": "1.2"},
            }
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tool = {"name": "search", "description": "Find.", "inputSchema": schema}
        return {"result": {"tools": [tool]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": f"you sent {token}"}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}
