# SPDX-License-Identifier: Apache-2.0
"""Look-ups are answered without a worker; connections have limits."""

from __future__ import annotations

import contextlib
import http.client
import socket
from urllib.parse import quote, urlsplit

import pytest

from kgbench.serve import endpoint, startup
from tests.serve import stores
from tests.serve.listening import listening
from tests.serve.processes import PATIENCE, eventually

RUN = "<https://w3id.org/kgbench/ns#Run>"
LOOKUP = f"SELECT ?p ?o {{ GRAPH ?g {{ {RUN} ?p ?o }} }}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Yield host and port of a server."""
    folder = stores.make(tmp_path_factory.mktemp("lookups") / "results")
    with listening(folder, seconds=600, patience=60, workers=1) as url:  # for a busy machine
        yield urlsplit(url).netloc


def get(place, target, headers=()):
    """Return status, headers and body of a response."""
    connection = http.client.HTTPConnection(place, timeout=PATIENCE)
    try:
        connection.request("GET", target, headers=dict(headers))
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read()
    finally:
        connection.close()


def test_large_answer_comes_from_a_worker(place, monkeypatch):
    """An answer too large for a look-up comes whole from a worker."""
    target = f"/sparql?query={quote(LOOKUP)}"
    short = get(place, target, {"Accept": "text/csv"})
    monkeypatch.setattr(endpoint, "_LOOKUP_BYTES", len(short[2]) - 1)
    long = get(place, target, {"Accept": "text/csv"})
    assert long[0] == 200
    assert sorted(long[2].splitlines()) == sorted(short[2].splitlines())


@pytest.mark.parametrize("chunked", [False, True])
def test_body_of_a_post_is_read(place, chunked):
    """A query in a body, with or without declared length, is answered like one in the URL."""
    connection = http.client.HTTPConnection(place, timeout=PATIENCE)
    headers = {"Content-Type": "application/sparql-query", "Accept": "text/csv"}
    half = len(LOOKUP) // 2
    pieces = [LOOKUP[:half].encode(), LOOKUP[half:].encode()]
    try:
        sent = pieces if chunked else LOOKUP
        connection.request("POST", "/sparql", sent, headers, encode_chunked=chunked)
        response = connection.getresponse()
        found = response.status, response.read()
    finally:
        connection.close()
    short = get(place, f"/sparql?query={quote(LOOKUP)}", {"Accept": "text/csv"})
    assert found[0] == 200
    assert sorted(found[1].splitlines()) == sorted(short[2].splitlines())


def spoken(place, *pieces):
    """Return everything that the server sends until it closes the connection."""
    host, _, port = place.partition(":")
    received = b""
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE) as connection,
        contextlib.suppress(ConnectionResetError, BrokenPipeError),
    ):
        for piece in pieces:
            connection.sendall(piece)
        while piece := connection.recv(65_536):
            received += piece
    return received


def test_requests_sent_together_are_answered_in_order(place):
    """Pipelined look-ups and other requests are answered in order."""
    one = (
        f"GET /sparql?query={quote(LOOKUP)} HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv\r\n\r\n"
    )
    other = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = spoken(place, (one + other + one + one + other + one + last).encode())

    assert 7 == received.count(b"HTTP/1.1 200 OK")
    order = [b"snapshot" in part for part in received.split(b"HTTP/1.1 ")[1:]]
    assert [False, True, False, False, True, False, True] == order


def test_body_of_a_look_up_is_passed_over(place):
    """The body of a GET is skipped, and the next request is answered."""
    head = f"GET /sparql?query={quote(LOOKUP)} HTTP/1.1\r\n"
    head += "Host: localhost\r\nContent-Length: 20\r\n\r\n"
    after = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = spoken(place, head.encode(), b"GET /sparql HTTP/1.1", after)

    assert 2 == received.count(b"HTTP/1.1 200 OK")
    assert b'"snapshot"' in received


TWO_LENGTHS = b"Host: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([b"GET /sparql?query=" + b"A" * 66_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"], b"414"),
        ([b"GET /" + b"A" * 50_000] * 6, b"4"),
        ([b"GET / HTTP/1.1\r\n", *[b"X: " + b"a" * 30_000 + b"\r\n"] * 30], b"431"),
        ([b"GET / HTTP/1.1\r\nX: " + b"a" * 300_000, b"a" * 300_000], b"431"),
        ([b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"], b"4"),
        ([b"POST / HTTP/1.1\r\n" + TWO_LENGTHS], b"4"),
        ([b"GET / HTTP/1.1\r\nHost: localhost\r\nA\x00: b\r\n\r\n"], b"400"),
    ],
)
def test_heads_have_an_end(place, pieces, status):
    """A long or malformed head gets an error status, and the server still works."""
    received = spoken(place, *pieces)

    assert not received or received.startswith(b"HTTP/1.1 " + status)
    assert 200 == get(place, "/health")[0]


HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("first", [b"", HEALTH])
@pytest.mark.parametrize("start", [b"", b"\r\n\r\n", b"GET /health HTTP/1.1\r\nHost:"])
def test_who_sends_no_head_is_let_go(place, first, start, monkeypatch):
    """A connection without a request, or with an incomplete one, is closed after a timeout.

    So is one that has been answered a request before.
    """
    monkeypatch.setattr(startup, "HEAD_SECONDS", 0.2)
    assert spoken(place, first, start).count(b"snapshot") == bool(first)


def test_who_does_not_read_is_let_go(place, monkeypatch):
    """If the client does not read, the connection is closed and the worker is released."""
    monkeypatch.setattr(startup, "READ_SECONDS", 0.2)
    stalled = []
    pause = startup.Connection.pause_writing
    monkeypatch.setattr(
        startup.Connection, "pause_writing", lambda self: (stalled.append(self), pause(self))
    )
    long = quote("SELECT * { GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?a ?b ?c } }")
    host, _, port = place.partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(f"GET /sparql?query={long} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        eventually(lambda: stalled and stalled[0].transport.is_closing())

    assert 200 == get(place, f"/sparql?query={quote(LOOKUP)}")[0]


def test_who_reads_late_gets_the_whole_answer(place, monkeypatch):
    """A client that pauses gets the whole answer, even if it sends empty lines meanwhile."""
    monkeypatch.setattr(startup, "READ_SECONDS", PATIENCE)
    stalled, given_up = [], []
    kind = startup.Connection
    pause, give_up = kind.pause_writing, kind._give_up
    monkeypatch.setattr(kind, "pause_writing", lambda self: (stalled.append(self), pause(self)))
    monkeypatch.setattr(kind, "_give_up", lambda self: (give_up(self), given_up.append(self)))
    text = "a" * 9_000
    long = (
        f"SELECT ('{text}' AS ?x) {{ GRAPH ?g {{ ?s ?p ?o }} GRAPH ?h {{ ?a ?b ?c }} }} LIMIT 2500"
    )
    host, _, port = place.partition(":")
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.connect((host, int(port)))
        head = f"GET /sparql?query={quote(long)} HTTP/1.1\r\n"
        head += "Host: localhost\r\nAccept: text/csv\r\n\r\n"
        connection.sendall(head.encode())
        eventually(lambda: stalled)
        monkeypatch.setattr(startup, "HEAD_SECONDS", 0.01)
        connection.sendall(b"\r\n")
        eventually(lambda: given_up)
        response = http.client.HTTPResponse(connection)
        response.begin()
        found = response.read()

    assert response.status == 200
    assert found.split() == [b"x", *[text.encode()] * 2_500]
    eventually(lambda: stalled[0]._read_timer is None)
