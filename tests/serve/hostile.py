# SPDX-License-Identifier: Apache-2.0
"""Hostile requests: malformed, huge, in every encoding, to every path."""

from __future__ import annotations

import socket
import urllib.parse

PATHS = (
    *(b"/sparql", b"/store", b"/", b"/leaderboard", b"/compare", b"/search", b"/editor", b"/ns"),
    *(b"/run/1", b"/model/oracle.ttl", b"/graph/run/1", b"/.well-known/void", b"/static/style.css"),
    *(b"/search?q=%00%ff", b"/compare?a=%ff&b=../../x", b"/leaderboard?suite=%27%22%3E"),
    *(b"/editor?query=%7B%7B7*7%7D%7D&run=1", b"/editor?name=dialogue-turns&dialogue=nonsense"),
    *(b"/static/..%2f..%2fapp.py", b"/%00%2e%2e/%2e%2e/etc/passwd", b"//", b"/run/1.exe"),
    *(b"/\xff\xfe", b"/" + b"a/" * 3_000, b"/sparql/", b"*", b"http://[::1", b"/?\xf0\x9f"),
)
METHODS = (
    *(b"GET", b"GET", b"GET", b"POST", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"),
    b"X" * 99,
)
VERSIONS = (*[b"1.1"] * 12, b"1.0", b"9")
HOSTS = (*[b"localhost"] * 9, b"127.0.0.1", b"", b'"><script>', b"\xff:9")
REPEATED = (b"A", b"%", b"\xf0", b"{", b"<http://a/", b"' ")
QUERIES = (
    b"SELECT ?p ?o { GRAPH ?g { <https://w3id.org/kgbench/ns#Run> ?p ?o } }",
    b"SELECT (COUNT(?d) AS ?n) { GRAPH ?g { ?d a <https://w3id.org/kgbench/ns#Dialogue> } }",
    b"ASK { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    b"SELECT * { ?s <http://p>+ ?o FILTER regex(?o, '(a+)+$') } LIMIT 3",
    b"CONSTRUCT WHERE { ?s ?p ?o } LIMIT 2",
    b"INSERT DATA { <a> <b> <c> }",
    b"ASK { FILTER(" + b"(" * 400 + b"1" + b")" * 400 + b") }",
)
FIELDS = (
    *(b"query", b"query", b"query", b"update", b"default-graph-uri", b"named-graph-uri", b"graph"),
    *(b"default", b"format", b"a", b"b", b"q", b"suite", b"name", b"dialogue", b"reveal", b"run"),
)
HEADERS = (
    *(b"Accept", b"Accept", b"Content-Type", b"If-None-Match", b"Authorization", b"Expect"),
    *(b"Accept-Encoding", b"Content-Encoding", b"Range", b"Origin", b"Upgrade", b"Connection"),
    *(b"X-Forwarded-Proto", b"X-Forwarded-For", b"Cookie", b"Content-Length", b"Transfer-Encoding"),
)
FRAMING = {b"Content-Length", b"Transfer-Encoding", b"Expect", b"Upgrade"}
VALUES = (
    *(b"text/csv;q=2", b"*/*;q=0", b"text/turtle", b"a/b;" * 900, b"application/sparql-query"),
    *(b"application/x-www-form-urlencoded; charset=utf-16", b'multipart/form-data; boundary="x'),
    *(b"multipart/form-data; boundary=x", b"100-continue", b"h2c", b"close", b"bytes=5-1", b"gzip"),
    *(b"-1", b"999999999999999999999", b"0x10", b"chunked", b"identity, chunked", b"\x00\x01"),
    *(b"http, https\x7f", b'W/"a", *', b"Bearer \xff", b"\xe2\x80\xae", b"websocket", b""),
)


def requests(chance, many):
    """Yield this number of requests: bytes, and whether the request is complete."""
    for _ in range(many):
        yield _request(chance)


def _request(chance):
    path = chance.choice(PATHS if chance.random() < 0.7 else PATHS[:7])
    if chance.random() < 0.8:
        fields = [_field(chance) for _ in range(chance.choice((1, 1, 1, 2, 5)))]
        path += (b"&" if b"?" in path else b"?") + b"&".join(fields)
    method = chance.choice(METHODS)
    body = b""
    head = [method + b" " + path + b" HTTP/" + chance.choice(VERSIONS)]
    head.append(b"Host: " + chance.choice(HOSTS))
    if method in (b"POST", b"PUT"):
        body = chance.choice((_text(chance), b"&".join(_field(chance) for _ in range(2))))
        head.append(b"Content-Length: %d" % len(body))
    more = chance.choice((0, 0, 0, 1, 1, 2, 40))
    names = [chance.choice(HEADERS) for _ in range(more)]
    head += [name + b": " + chance.choice(VALUES) for name in names]
    data = b"\r\n".join([*head, b"Connection: close"]) + b"\r\n\r\n" + body
    if chance.random() < 0.15:
        return _damaged(chance, data), False
    return data, FRAMING.isdisjoint(names)


def _field(chance):
    text = _text(chance)
    quoted = urllib.parse.quote_from_bytes(text).encode() if chance.random() < 0.95 else text
    return chance.choice(FIELDS) + b"=" + quoted.replace(b" ", b"+")


def _text(chance):
    which = chance.random()
    if which < 0.6:
        text = chance.choice(QUERIES)
        return _damaged(chance, text) if chance.random() < 0.5 else text
    if which < 0.9:
        return chance.randbytes(chance.choice((0, 1, 30, 300)))
    return chance.choice(REPEATED) * chance.choice((10, 9_000))


def _damaged(chance, data):
    """Return ``data`` with some bytes changed, or truncated."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randint(0, len(changed))] if chance.random() < 0.2 else changed)


def talk(url, data, *, whole=False, patience=120):
    """Return the response to raw bytes, at most 200,000 bytes of it; ``None`` if the server hangs.

    After a request that may not be ``whole``, the sender shuts down its side, which the server may
    take as the end of the connection.
    """
    place = urllib.parse.urlsplit(url)
    received = b""
    try:
        with socket.create_connection((place.hostname, place.port), timeout=patience) as connection:
            connection.sendall(data)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            while len(received) < 200_000 and (piece := connection.recv(65_536)):
                received += piece
    except TimeoutError:
        return None
    except OSError:  # the server may close the connection
        pass
    return received
