# SPDX-License-Identifier: Apache-2.0
"""A loopback server that answers every request with one kind of misbehaviour."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, repeat
from typing import Self

DRIP = 0.05  # seconds between two bytes
LONGEST = 60.0  # seconds after which an endless response ends, unless the client ends it
_JSON = "Content-Type: application/json"
_GZIP = "Content-Encoding: gzip"


@dataclass(slots=True)
class Attack:
    """One request and its response: ``size`` of a large response, ``elsewhere`` another URL."""

    size: int
    elsewhere: str
    request: bytes = b""
    own: str = ""

    @property
    def secrets(self) -> str:
        """Return the values of the request headers in which clients send keys."""
        lines = self.request.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
        named = ("authorization", "x-api-key", "x-goog-api-key")
        sent = [line.rstrip() for line in lines if line.lower().startswith(named)]
        return " ".join(line.rpartition(" ")[2] for line in sent)


Pieces = Iterator[bytes]
Sent = Callable[[Attack], Pieces]


def _head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode()


def _whole(body: bytes, *lines: str, status: str = "200 OK") -> Pieces:
    yield _head(status, f"Content-Length: {len(body)}", *(lines or (_JSON,))) + body


def _sends(*pieces: bytes) -> Sent:
    return lambda _: iter(pieces)


def _answers(body: str | bytes, *lines: str, status: str = "200 OK") -> Sent:
    sent = body if isinstance(body, bytes) else body.encode()
    return lambda _: _whole(sent, *lines, status=status)


def _redirect(status: int, to: str | None = None) -> Sent:
    def answer(attack: Attack) -> Pieces:
        place = attack.elsewhere if to is None else to or attack.own
        yield _head(f"{status} Away", f"Location: {place}", "Content-Length: 0")

    return answer


@cache
def _bomb(size: int, rounds: int = 1) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    zeros = b"0" * (1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()
    return packed * rounds


def _gzip_bomb(attack: Attack) -> Pieces:
    yield from _whole(_bomb(attack.size), _JSON, _GZIP)


def _bomb_of_members(attack: Attack) -> Pieces:
    body = _bomb(1 << 20, max(1, attack.size >> 20))
    yield from _whole(body, _JSON, _GZIP)


def _double_bomb(attack: Attack) -> Pieces:
    body = zlib.compress(_bomb(attack.size), wbits=16 + zlib.MAX_WBITS)
    yield from _whole(body, _JSON, "Content-Encoding: gzip, gzip")


def _endless(head: bytes, piece: bytes, times: float) -> Sent:
    """Send a piece as often as gives the size, times a factor."""
    return lambda attack: chain([head], repeat(piece, int(attack.size * times / len(piece))))


def _endless_headers(attack: Attack) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(attack.size >> 5):
        yield f"X-Header-{number}: {number:032d}\r\n".encode()


def _drips(*pieces: bytes) -> Sent:
    """Send the pieces, and the last one again and again."""

    def answer(_: Attack) -> Pieces:
        yield from pieces[:-1]
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            yield pieces[-1]
            time.sleep(DRIP)

    return answer


def _results(document: str) -> Sent:
    return _answers(document, "Content-Type: application/sparql-results+json")


def _entities(document: str, name: str, content_type: str) -> Sent:
    """Send XML whose entities are each ten times the one before."""
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    head = f'<!DOCTYPE {name} [<!ENTITY e0 "lol">{entities}]>'
    return _answers(head + document, f"Content-Type: application/{content_type}")


def _echo(attack: Attack) -> Pieces:
    key = attack.secrets
    forms = [key, "".join(f"%{ord(c):02X}" for c in key)]
    body = json.dumps({"error": {"message": " ".join(forms), "code": key}}).encode()
    escaped = body.replace(b"+", b"\\u002B")
    yield from _whole(escaped, _JSON, f"x-request-id: {key}", status="400 No")


def _echo_answer(attack: Attack) -> Pieces:
    text = attack.secrets
    reply = {
        "id": text,
        "model": text,
        "system_fingerprint": text,
        "choices": [{"finish_reason": text, "message": {"content": text, "reasoning": text}}],
        "output": [{"type": "message", "content": [{"text": text[:9]}, {"text": text[9:]}]}],
        "status": text,
        "content": [{"type": "text", "text": part} for part in (text[:9], text[9:])],
        "stop_reason": text,
        "candidates": [{"content": {"parts": [{"text": text[:9]}, {"text": text[9:]}]}}],
        "modelVersion": text,
        "responseId": text,
    }
    body = json.dumps(reply).replace("+", "\\u002B").encode()
    yield from _whole(body, _JSON, f"x-request-id: {text}", f"request-id: {text}")


def _deep(attack: Attack) -> Pieces:
    yield from _whole(b"[" * min(attack.size >> 3, 1 << 22))  # small enough to be parsed


def _results_elsewhere(attack: Attack) -> Pieces:
    batch = {"id": "b", "processing_status": "ended", "results_url": attack.elsewhere}
    yield from _whole(json.dumps(batch).encode())


_JSON_HEAD = _head("200 OK", _JSON)
_CHUNKED = _head("200 OK", _JSON, "Transfer-Encoding: chunked")
_BLANKS = b" " * (1 << 16)
_LINE = b"HTTP/1.1 200 OK\r\nX-Header: "
_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
_NODE = '<rdf:Description rdf:about="urn:a"><rdf:value>&e11;</rdf:value></rdf:Description>'
_DELAY = {"error": {"code": 503, "details": [{"retryDelay": f"{'9' * 400}s"}]}}
_DIGEST = 'Digest realm="a, nonce=, =, qop="auth-int,,", algorithm=MD6, ' + "a=" * 9_999

#: Attacks by family; each is a function that yields the bytes to send.
FAMILIES: dict[str, dict[str, Sent]] = {
    "redirects": {
        **{f"redirect {status}": _redirect(status) for status in (301, 302, 303, 307, 308)},
        "redirect to a file": _redirect(307, "file:///etc/hostname"),
        "redirect to nonsense": _redirect(307, "http://[::1"),
        "redirect in a circle": _redirect(307, ""),
        "results elsewhere": _results_elsewhere,
    },
    "bombs and broken codings": {
        "gzip bomb": _gzip_bomb,
        "gzip bomb of many members": _bomb_of_members,
        "gzip bomb in gzip": _double_bomb,
        "coding not asked for": _answers(zlib.compress(b"{}"), _JSON, "Content-Encoding: deflate"),
        "gzip cut off": _answers(
            zlib.compress(b"{}" * 999, wbits=16 + zlib.MAX_WBITS)[:-9], _JSON, _GZIP
        ),
    },
    "what has no end": {
        "endless body": _endless(_JSON_HEAD, _BLANKS, 8),
        "endless chunks": _endless(_CHUNKED, b"10000\r\n" + _BLANKS + b"\r\n", 8),
        "endless error": _endless(_head("500 No", _JSON), b"x" * (1 << 16), 8),
        "endless headers": _endless_headers,
        "endless header line": _endless(_LINE, b"x" * (1 << 16), 1),
        "endless 100 Continue": _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 1),
    },
    "drips and silence": {
        "drip of a header": _drips(_LINE, b"x"),
        "drip of a body": _drips(_JSON_HEAD, b" "),
        "silence": _drips(b""),
        "Retry-After of 3,000 years": _answers(
            "{}", _JSON, "Retry-After: 99999999999", status="429 Later"
        ),
        "retryDelay without end": _answers(json.dumps(_DELAY), status="503 Later"),
    },
    "lies about lengths, and no HTTP": {
        "length too long": _sends(_head("200 OK", _JSON, "Content-Length: 1000000") + b"{}"),
        "length too short": _sends(
            _head("200 OK", _JSON, "Content-Length: 1") + b'{"error": "this is longer"}'
        ),
        "length negative": _sends(_head("200 OK", _JSON, "Content-Length: -1") + b"{}"),
        "two lengths": _sends(
            _head("200 OK", _JSON, "Content-Length: 2", "Content-Length: 9") + b"{}"
        ),
        "chunk of an exabyte": _sends(_CHUNKED + b"f" * 15 + b"\r\n{}"),
        "no HTTP": _sends(b"\x16\x03\x01 this is no HTTP\r\n\r\n"),
        "status 99999": _sends(_head("99999 What", "Content-Length: 0")),
    },
    "answers of another shape": {
        "XML with DTD": _entities("<sparql>&e11;</sparql>", "sparql", "sparql-results+xml"),
        "RDF/XML with entities": _entities(f"<rdf:RDF {_RDF}>{_NODE}</rdf:RDF>", "r", "rdf+xml"),
        "truth value": _results('{"head": {}, "boolean": true}'),
        "rows": _results('{"head": {"vars": ["x"]}, "results": {"bindings": [{}]}}'),
        "rows of other columns": _results(
            '{"head": {"vars": ["x"]}, "results": {"bindings": [{"y": {"type": "uri"}}]}}'
        ),
        "rows cut off": _results(
            '{"head": {"vars": ["x"]}, "results": {"bindings": '
            '[{"x": {"type": "literal", "value": "a"}}, {"x": {"type"'
        ),
        "nonsense digest": _answers("{}", _JSON, f"WWW-Authenticate: {_DIGEST}", status="401 No"),
        "JSON of brackets": _deep,
        "HTML": _answers("<html>down for maintenance</html>", "Content-Type: text/html"),
    },
    "keys that come back": {
        "key in an error": _echo,
        "key in an answer": _echo_answer,
    },
}
ATTACKS = {name: sent for family in FAMILIES.values() for name, sent in family.items()}


@dataclass
class Server:
    """A threaded server on its own port; ``requests`` are the raw requests received.

    ``size`` is the size of large responses, ``elsewhere`` the target of redirects.
    """

    attack: str | None
    size: int = 1 << 24
    elsewhere: str = "http://127.0.0.1:9/"
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return the server's URL."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            socket.create_connection(self._socket.getsockname(), timeout=5).close()
        self._thread.join(60)
        self._socket.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            connection, _ = self._socket.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(LONGEST)
            request = _read(connection)
            if not request:
                return
            self.requests.append(request)
            attack = Attack(self.size, self.elsewhere, request, self.url)
            pieces = _whole(b"{}") if self.attack is None else ATTACKS[self.attack](attack)
            for piece in pieces:
                if self._over.is_set():
                    return
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):  # unread input would reset the connection
                pass


def _read(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(1 << 16)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lines[0].partition(b":")[2]) - len(body) if lines else 0
    while left > 0 and (piece := connection.recv(1 << 16)):
        data += piece
        left -= len(piece)
    return data
