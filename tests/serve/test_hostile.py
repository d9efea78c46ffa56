# SPDX-License-Identifier: Apache-2.0
"""Thousands of hostile requests and slow senders: no failure, no hang, no growth.

``KGBENCH_HOSTILE_REQUESTS`` sets the number of requests (default: 3,000).
"""

from __future__ import annotations

import os
import random
import socket
import threading
import urllib.parse
import urllib.request

import pytest

from tests.serve import stores
from tests.serve.hostile import requests, talk
from tests.serve.processes import PATIENCE, memory, serving

pytestmark = pytest.mark.servers

MANY = int(os.environ.get("KGBENCH_HOSTILE_REQUESTS", "3000"))
SENDERS = 6
GROWTH = 60_000  # KiB of tolerance for caches and allocators


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a server in its own process."""
    folder = stores.make(tmp_path_factory.mktemp("hostile") / "results")
    options = ("--timeout", "3", "--workers", "3")
    with serving(folder, *options, env={"KGBENCH_SERVE_TOKEN": ""}) as found:
        yield found


def send(url, seed, many, found):
    """Send many requests, and add unacceptable responses to ``found``."""
    for data, whole in requests(random.Random(seed), many):
        answer = talk(url, data, whole=whole)
        if answer is None:
            found.append(("hangs", data[:300]))
        elif answer.startswith((b"HTTP/1.1 500", b"HTTP/1.1 502")):
            found.append((answer[:400], data[:300]))
        elif b"root:" in answer or b"[build-system]" in answer or b"<script>alert" in answer:
            found.append(("leaks", data[:300]))


def in_parallel(url, seed, many):
    """Return the unacceptable responses to requests from several parallel senders."""
    found = []
    threads = [
        threading.Thread(target=send, args=(url, seed + number, many // SENDERS, found))
        for number in range(SENDERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_hostile_requests_do_no_harm(server):
    """No response is unacceptable, and memory stays stable after the first hundreds of requests."""
    found = in_parallel(server.url, 1, min(MANY, 1_200))
    before = memory(server.pid)
    found += in_parallel(server.url, 100, MANY)

    assert not found
    assert memory(server.pid) < before + GROWTH
    with urllib.request.urlopen(f"{server.url}health", timeout=PATIENCE) as response:
        assert 200 == response.status


def test_slow_senders_are_ended(server):
    """Endless heads, bodies and reads are closed and block no other request."""
    place = urllib.parse.urlsplit(server.url)
    long = urllib.parse.quote("SELECT * { GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?a ?b ?c } }")
    post = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    post += b"Content-Type: application/"
    starts = (
        b"",
        b"\r\n\r\n",
        post[:-5],
        post + b"sparql-query\r\n\r\nSELECT",
        f"GET /sparql?query={long} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    )
    slow = []
    try:
        for start in starts * 12:
            connection = socket.create_connection((place.hostname, place.port))
            connection.sendall(start)
            slow.append(connection)
        with urllib.request.urlopen(f"{server.url}health", timeout=PATIENCE) as response:
            assert 200 == response.status
        for connection in slow:
            connection.settimeout(PATIENCE)
            while connection.recv(65_536):
                pass
    finally:
        for connection in slow:
            connection.close()
