# SPDX-License-Identifier: Apache-2.0
"""Connections that break, close, wait or cannot be made, and servers that ask for a delay."""

from __future__ import annotations

import gzip
import logging
import select
import socket
import ssl
import threading
import time
from email.utils import formatdate

import pytest

from kgbench.errors import StoreError, StoreUnreachable
from kgbench.store import connections
from kgbench.store.connections import Connections, Credentials
from tests.store.scripted import Scripted, said
from tests.support.servers import certificates

TEXT = b"<urn:a> <urn:b> <urn:c> .\n" * 50
PACKED = gzip.compress(TEXT)


class Waits(threading.Event):
    """An event that returns at once from ``wait`` and records the requested seconds."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def wait(self, timeout=None):
        """Record the wait."""
        self.seconds.append(timeout)
        return self.is_set()


@pytest.fixture
def made(monkeypatch):
    """Yield connections without credentials, whose waits are recorded and skipped."""
    found = Connections(Credentials(None, None, None, None), agent="tests")
    monkeypatch.setattr(found, "_closed", Waits())
    yield found
    found.close()


def ask(made, server):
    """Return the body of a response."""
    return made.send("GET", f"{server.url}/x", None, {}).body.read()


def idle(made):
    """Return the number of idle connections."""
    pools = made._http.transport._pools.values()
    return sum(connection.is_idle() for pool in pools for connection in pool.connections)


# --- truncated responses --------------------------------------------------------------------


@pytest.mark.parametrize(
    "packed",
    [PACKED, gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), b""],
    ids=["one", "two", "nothing"],
)
def test_compressed_answers(made, packed):
    """A gzip response is decompressed, also if it has several members."""
    with Scripted([said(200, packed, Content_Encoding="GZIP")]) as server:
        assert ask(made, server) == (TEXT if packed else b"")
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "broken",
    [
        said(200, PACKED[:-9], Content_Encoding="gzip"),
        said(200, PACKED[:30] + b"\0\0\0\0" + PACKED[34:], Content_Encoding="gzip"),
        said(200, PACKED + PACKED[:20], Content_Encoding="gzip"),
        said(200, TEXT, Content_Length=len(TEXT) + 1, Connection="close"),
        said(200, b"fff\r\nno more", Content_Length=None, Transfer_Encoding="chunked")
        + b"\r\nConnection: close",
        b"Connection: close\r\n\r\n",
    ],
    ids=["compressed", "damaged", "second", "length", "chunked", "no-http"],
)
def test_a_broken_answer_is_asked_for_again(made, broken):
    """A broken response of any kind is requested again, on a new connection."""
    with Scripted([said(200, b"met"), broken, said(200, TEXT)]) as server:
        assert ask(made, server) == b"met"
        assert ask(made, server) == TEXT
        assert len(server.seen) == 3


def test_an_answer_that_stops_is_not_waited_for(monkeypatch):
    """A response that exceeds its timeout raises an error that names the setting."""
    monkeypatch.setenv("KGBENCH_STORE_TIMEOUT", "0.2")
    over = threading.Event()

    def answer(_):
        over.wait(60)
        return said(204)

    made = Connections(Credentials(None, None, None, None), agent="tests")
    with Scripted(answer) as server:
        with pytest.raises(StoreError, match=r"within 0\.2 seconds \(KGBENCH_STORE_TIMEOUT\)"):
            ask(made, server)
        over.set()
    assert idle(made) == 0


def test_a_large_answer_that_asks_for_credentials_is_not_read():
    """A large response with a challenge is refused, because such a response is read whole."""
    asking = said(401, b"x" * (3 << 20), WWW_Authenticate='Basic realm="r"')
    made = Connections(Credentials("ada", "s3cret", None, None), agent="tests")
    with Scripted([asking, said(200)]) as server:
        with pytest.raises(StoreError, match="more than 1 MB"):
            ask(made, server)
        assert len(server.seen) == 1


# --- connections ----------------------------------------------------------------------------


def test_a_connection_that_the_server_closes_is_not_kept(made):
    """A connection that the server closes is not reused."""
    with Scripted([said(200, b"one", Connection="close"), said(200, b"two")]) as server:
        assert ask(made, server) == b"one"
        assert idle(made) == 0
        assert ask(made, server) == b"two"
        assert idle(made) == 1


def test_a_closed_store_sends_nothing(made):
    """A request after closing is refused, and no connection is kept."""
    with Scripted([said(200, b"one")]) as server:
        assert ask(made, server) == b"one"
        made.close()
        assert idle(made) == 0
        with pytest.raises(StoreError, match="is closed"):
            ask(made, server)


def test_a_server_that_takes_no_connection(monkeypatch):
    """A connection that is not accepted in time counts as an unreachable server."""
    monkeypatch.setattr(connections, "_CONNECTING", 0.2)
    made = Connections(Credentials(None, None, None, None), agent="tests")
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.settimeout(60)
        first.connect(full.getsockname())
        assert select.select([full], [], [], 60)[0]  # it is in the backlog, which is full now
        second.settimeout(0)
        second.connect_ex(full.getsockname())
        with pytest.raises(StoreUnreachable, match=r"no connection within 0\.2 seconds"):
            made.send("GET", f"http://127.0.0.1:{full.getsockname()[1]}/", None, {})


def test_plain_http_is_no_https(made):
    """No request is sent to a server without TLS at an https address."""
    with (
        Scripted([said(200)]) as server,
        pytest.raises(StoreUnreachable, match="SSL"),
    ):
        made.send("GET", server.url.replace("http:", "https:"), None, {})

    assert server.seen == []


def test_certificates_are_checked(made, tmp_path, monkeypatch):
    """A server with an untrusted certificate gets no request, and is not retried."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = certificates.made(tmp_path)
    tls.load_cert_chain(*certificate)
    with Scripted([said(200, TEXT)], tls=tls) as server:
        with pytest.raises(StoreError, match=r"is not trusted: .*certificate") as error:
            ask(made, server)
        assert not isinstance(error.value, StoreUnreachable)
        assert server.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        made = Connections(Credentials(None, None, None, None), agent="tests")
        assert ask(made, server) == TEXT
        made.close()


# --- servers that ask for a delay -----------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", ["Retry_After", "retry_after"])
def test_who_asks_for_time_gets_it(made, status, name):
    """A server that says when to retry is retried, also if it has never answered before."""
    busy = [said(status, **{name: "7"}), said(status, **{name: "3600"}), said(200, b"done")]
    with Scripted(busy) as server:
        assert ask(made, server) == b"done"

    assert made._closed.seconds == [7.0, 30.0]


def test_a_moment_to_come_again(made):
    """The delay may be given as a date, by the clock of the server."""
    soon = formatdate(time.time() + 3_600, usegmt=True)
    past = formatdate(time.time() - 3_600, usegmt=True)
    busy = [said(503, Retry_After=soon), said(503, Retry_After=past), said(200, b"done")]
    with Scripted(busy) as server:
        assert ask(made, server) == b"done"

    assert made._closed.seconds[0] == 30.0
    assert made._closed.seconds[1] <= 0.2


@pytest.mark.parametrize("said_so", [None, "soon", "Mon, 99 Foo"])
def test_a_busy_server_that_was_never_met_is_given_up(made, said_so):
    """503 without a delay is not retried before the first answer: the address may be wrong."""
    with Scripted([said(503, Retry_After=said_so)]) as server:
        with pytest.raises(StoreUnreachable, match="HTTP status 503"):
            ask(made, server)

        assert len(server.seen) == 1


def test_a_long_wait_is_told_and_its_end(made, caplog):
    """A long wait is logged once at its begin and at its end; a short one is not logged."""
    caplog.set_level(logging.WARNING, "kgbench.store")
    busy = said(503, Retry_After="5")
    with Scripted([busy, busy, said(200)]) as server:
        ask(made, server)
    told = [record.getMessage().partition(": ")[0] for record in caplog.records]
    caplog.clear()
    with Scripted([said(200), said(503), said(200)]) as server:
        ask(made, server)
        ask(made, server)

    assert [text.partition("0.1:")[2].partition(" ")[2] for text in told] == [
        "does not answer (HTTP status 503)",
        "answers again",
    ]
    assert caplog.records == []


def test_who_was_waited_for_in_vain_is_not_waited_for_again(made, monkeypatch):
    """After the patience has expired, requests fail at once, until the server answers again."""
    monkeypatch.setattr(made, "_patience", 0.0)
    with Scripted([said(503, Retry_After="9")] * 2 + [said(200, b"back")]) as server:
        with pytest.raises(StoreUnreachable):
            ask(made, server)
        monkeypatch.setattr(made, "_patience", 300.0)
        with pytest.raises(StoreUnreachable):
            ask(made, server)
        assert made._closed.seconds == []
        assert ask(made, server) == b"back"


@pytest.mark.parametrize("name", ["PATIENCE", "TIMEOUT"])
@pytest.mark.parametrize("text", ["long", "-1", "nan", "inf"])
def test_settings_that_are_no_seconds(monkeypatch, name, text):
    """A timeout that is not a number of seconds is refused with the name of the setting."""
    monkeypatch.setenv(f"KGBENCH_STORE_{name}", text)
    with pytest.raises(StoreError, match=f"KGBENCH_STORE_{name} is a number of seconds"):
        Connections(Credentials(None, None, None, None), agent="tests")
