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
from typing import Self

DRIP = 0.05  # seconds between two bytes
LONGEST = 60.0  # seconds after which an endless response ends, unless the client ends it
_JSON = "Content-Type: application/json"


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


def _head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode()


def _whole(body: bytes, *lines: str, status: str = "200 OK") -> Pieces:
    yield _head(status, f"Content-Length: {len(body)}", *(lines or (_JSON,))) + body


def _redirect(status: int, to: str = "") -> Callable[[Attack], Pieces]:
    def answer(attack: Attack) -> Pieces:
        yield _head(f"{status} Away", f"Location: {to or attack.elsewhere}", "Content-Length: 0")

    return answer


def _loop(attack: Attack) -> Pieces:
    yield _head("307 Again", f"Location: {attack.own}", "Content-Length: 0")


@cache
def _bomb(size: int, rounds: int = 1) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    zeros = b"0" * (1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(size >> 20)) + packer.flush()
    return packed * rounds


def _gzip_bomb(attack: Attack) -> Pieces:
    yield from _whole(_bomb(attack.size), _JSON, "Content-Encoding: gzip")


def _bomb_of_members(attack: Attack) -> Pieces:
    body = _bomb(1 << 20, max(1, attack.size >> 20))
    yield from _whole(body, _JSON, "Content-Encoding: gzip")


def _double_bomb(attack: Attack) -> Pieces:
    body = zlib.compress(_bomb(attack.size), wbits=16 + zlib.MAX_WBITS)
    yield from _whole(body, _JSON, "Content-Encoding: gzip, gzip")


def _unasked_coding(_: Attack) -> Pieces:
    yield from _whole(zlib.compress(b"{}"), _JSON, "Content-Encoding: deflate")


def _cut_gzip(_: Attack) -> Pieces:
    body = zlib.compress(b"{}" * 999, wbits=16 + zlib.MAX_WBITS)[:-9]
    yield from _whole(body, _JSON, "Content-Encoding: gzip")


def _endless_body(attack: Attack) -> Pieces:
    yield _head("200 OK", _JSON)
    piece = b" " * (1 << 16)
    for _ in range(8 * attack.size >> 16):
        yield piece


def _endless_chunks(attack: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Transfer-Encoding: chunked")
    piece = b"10000\r\n" + b" " * (1 << 16) + b"\r\n"
    for _ in range(8 * attack.size >> 16):
        yield piece


def _endless_error(attack: Attack) -> Pieces:
    yield _head("500 No", _JSON)
    piece = b"x" * (1 << 16)
    for _ in range(8 * attack.size >> 16):
        yield piece


def _endless_headers(attack: Attack) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(attack.size >> 5):
        yield f"X-Header-{number}: {number:032d}\r\n".encode()


def _endless_line(attack: Attack) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nX-Header: "
    for _ in range(attack.size >> 16):
        yield b"x" * (1 << 16)


def _endless_continue(attack: Attack) -> Pieces:
    for _ in range(attack.size >> 5):
        yield b"HTTP/1.1 100 Continue\r\n\r\n"


def _drip(data: bytes) -> Pieces:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        yield data
        time.sleep(DRIP)


def _drip_headers(_: Attack) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nX-Header: "
    yield from _drip(b"x")


def _drip_body(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON)
    yield from _drip(b" ")


def _silence(_: Attack) -> Pieces:
    yield b""
    yield from _drip(b"")


def _too_long(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Content-Length: 1000000") + b"{}"


def _too_short(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Content-Length: 1") + b'{"error": "this is longer"}'


def _no_length(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Content-Length: -1") + b"{}"


def _two_lengths(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Content-Length: 2", "Content-Length: 9") + b"{}"


def _huge_chunk(_: Attack) -> Pieces:
    yield _head("200 OK", _JSON, "Transfer-Encoding: chunked") + b"f" * 15 + b"\r\n{}"


def _no_http(_: Attack) -> Pieces:
    yield b"\x16\x03\x01 this is no HTTP\r\n\r\n"


def _odd_status(_: Attack) -> Pieces:
    yield _head("99999 What", "Content-Length: 0")


def _dtd(_: Attack) -> Pieces:
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    body = f'<!DOCTYPE sparql [<!ENTITY e0 "lol">{entities}]><sparql>&e11;</sparql>'
    yield from _whole(body.encode(), "Content-Type: application/sparql-results+xml")


def _entities(_: Attack) -> Pieces:
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    node = '<rdf:Description rdf:about="urn:a"><rdf:value>&e11;</rdf:value></rdf:Description>'
    body = f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]><rdf:RDF {rdf}>{node}</rdf:RDF>'
    yield from _whole(body.encode(), "Content-Type: application/rdf+xml")


def _results(document: str) -> Callable[[Attack], Pieces]:
    def answer(_: Attack) -> Pieces:
        yield from _whole(document.encode(), "Content-Type: application/sparql-results+json")

    return answer


def _nonsense_digest(_: Attack) -> Pieces:
    challenge = 'Digest realm="a, nonce=, =, qop="auth-int,,", algorithm=MD6, ' + "a=" * 9_999
    yield from _whole(b"{}", _JSON, f"WWW-Authenticate: {challenge}", status="401 No")


def _retry_never(_: Attack) -> Pieces:
    yield from _whole(b"{}", _JSON, "Retry-After: 99999999999", status="429 Later")


def _retry_delay(_: Attack) -> Pieces:
    body = {"error": {"code": 503, "details": [{"retryDelay": f"{'9' * 400}s"}]}}
    yield from _whole(json.dumps(body).encode(), _JSON, status="503 Later")


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


def _html(_: Attack) -> Pieces:
    yield from _whole(b"<html>down for maintenance</html>", "Content-Type: text/html")


#: Attacks by family; each is a function that yields the bytes to send.
FAMILIES: dict[str, dict[str, Callable[[Attack], Pieces]]] = {
    "redirects": {
        **{f"redirect {status}": _redirect(status) for status in (301, 302, 303, 307, 308)},
        "redirect to a file": _redirect(307, "file:///etc/hostname"),
        "redirect to nonsense": _redirect(307, "http://[::1"),
        "redirect in a circle": _loop,
        "results elsewhere": _results_elsewhere,
    },
    "bombs and broken codings": {
        "gzip bomb": _gzip_bomb,
        "gzip bomb of many members": _bomb_of_members,
        "gzip bomb in gzip": _double_bomb,
        "coding not asked for": _unasked_coding,
        "gzip cut off": _cut_gzip,
    },
    "what has no end": {
        "endless body": _endless_body,
        "endless chunks": _endless_chunks,
        "endless error": _endless_error,
        "endless headers": _endless_headers,
        "endless header line": _endless_line,
        "endless 100 Continue": _endless_continue,
    },
    "drips and silence": {
        "drip of a header": _drip_headers,
        "drip of a body": _drip_body,
        "silence": _silence,
        "Retry-After of 3,000 years": _retry_never,
        "retryDelay without end": _retry_delay,
    },
    "lies about lengths, and no HTTP": {
        "length too long": _too_long,
        "length too short": _too_short,
        "length negative": _no_length,
        "two lengths": _two_lengths,
        "chunk of an exabyte": _huge_chunk,
        "no HTTP": _no_http,
        "status 99999": _odd_status,
    },
    "answers of another shape": {
        "XML with DTD": _dtd,
        "RDF/XML with entities": _entities,
        "truth value": _results('{"head": {}, "boolean": true}'),
        "rows": _results('{"head": {"vars": ["x"]}, "results": {"bindings": [{}]}}'),
        "rows of other columns": _results(
            '{"head": {"vars": ["x"]}, "results": {"bindings": [{"y": {"type": "uri"}}]}}'
        ),
        "rows cut off": _results(
            '{"head": {"vars": ["x"]}, "results": {"bindings": '
            '[{"x": {"type": "literal", "value": "a"}}, {"x": {"type"'
        ),
        "nonsense digest": _nonsense_digest,
        "JSON of brackets": _deep,
        "HTML": _html,
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
