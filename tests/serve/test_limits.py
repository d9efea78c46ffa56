# SPDX-License-Identifier: Apache-2.0
"""No query stops another: time, rows, bytes, memory and slots are limited."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading

import pytest
from starlette.requests import Request

from kgbench.rdf import lexer
from kgbench.serve.admission import Refused
from kgbench.serve.requests import body
from kgbench.serve.settings import Limits
from tests.serve.conftest import asking
from tests.serve.processes import eventually

RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
SMALL = "SELECT ?p ?o { GRAPH ?g { <https://w3id.org/kgbench/run/1> ?p ?o } }"
JOIN = "SELECT ?l { GRAPH ?g { ?r a <https://w3id.org/kgbench/ns#Run> ; ?p ?l } }"


@pytest.fixture(scope="module")
def strict(result_store):
    """Yield a client of a server with low limits."""
    limits = Limits(
        seconds=1.5,
        patience=0.2,
        workers=1,
        rows=100,
        answer_bytes=60_000,
        memory_bytes=1 << 30,
    )
    with asking(result_store, limits) as found:
        yield found


def ask(client, query, **options):
    """Return the response to a query."""
    return client.get("/sparql", params={"query": query}, **options)


def asked(client, query, **options):
    """Return the response to a query, repeated if a busy machine makes it time out."""
    found = []

    def in_time():
        found.append(ask(client, query, **options))
        said = found[-1].text
        return found[-1].status_code != 503 or not ("busy" in said or "time limit" in said)

    eventually(in_time)
    return found[-1]


def test_runaway_query_is_ended(strict):
    """A runaway query gets 503 with Retry-After, and the next query is answered."""
    response = ask(strict, RUNAWAY)

    assert 503 == response.status_code
    assert "time limit" in response.text
    assert int(response.headers["retry-after"]) > 0
    assert 200 == ask(strict, SMALL).status_code
    joined = asked(strict, JOIN)
    assert 200 == joined.status_code, joined.text


def test_heavy_queries_stop_no_look_up(strict):
    """While queries take all workers, others are refused, but look-ups are answered."""
    assert 200 == asked(strict, JOIN).status_code
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(ask(strict, RUNAWAY).text))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    small = [ask(strict, SMALL).status_code for _ in range(20)]
    small += [strict.get("/run/1.ttl").status_code for _ in range(20)]
    for thread in threads:
        thread.join()

    assert [200] * 40 == small
    assert any("busy" in text for text in statuses)
    joined = asked(strict, JOIN)
    assert 200 == joined.status_code, joined.text


@pytest.mark.parametrize("media", ["application/json", "text/csv", "application/xml"])
def test_rows_have_a_limit(strict, media):
    """An answer with more rows than permitted is refused, never silently truncated."""
    query = "SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } FILTER(true) } LIMIT %d"
    refused = asked(strict, query % 400, headers={"Accept": media})

    assert 503 == refused.status_code
    assert "exceeds the size limit of this server" in refused.text
    assert 200 == asked(strict, query % 90, headers={"Accept": media}).status_code
    long = f'SELECT ?s ("{"a" * 2_000}" AS ?long) {{ GRAPH ?g {{ ?s ?p ?o }} }} LIMIT 99'
    assert "exceeds the size limit of this server" in asked(strict, long).text


def test_memory_has_a_limit(strict):
    """A query that exhausts memory ends only its worker."""
    doubling = "a" * 1_000
    query = f'SELECT (STRLEN(?x29) AS ?n) {{ BIND("{doubling}" AS ?x0) '
    query += " ".join(f"BIND(CONCAT(?x{n}, ?x{n}) AS ?x{n + 1})" for n in range(29)) + " }"
    response = ask(strict, query)

    assert 503 == response.status_code
    joined = asked(strict, JOIN)
    assert 200 == joined.status_code, joined.text


def test_deep_nesting_is_refused(strict):
    """Nested brackets that would overflow the engine's stack are refused before it."""
    response = asked(strict, "ASK { FILTER(" + "(" * 5_000 + "1" + ")" * 5_000 + ") }")
    assert 400 == response.status_code
    assert "nested" in response.text


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <%s> { ?s ?p ?o } }",
        "ASK { SERVICE SILENT <%s> { ?s ?p ?o } }",
        "CONSTRUCT WHERE { ?s ?p ?o } LOAD <%s>",
        "DESCRIBE ?s { ?s ?p ?o . { SELECT ?s { SERVICE <%s> { ?s ?p ?o } } } }",
    ],
)
@pytest.mark.parametrize("lexing", [True, False], ids=["lexer", "no lexer"])
def test_nothing_reaches_the_network(strict, query, lexing, monkeypatch):
    """SERVICE is refused; with the lexer off, a listener still receives no connection."""
    if not lexing:
        if sys.platform != "linux":
            pytest.skip("only Linux keeps the workers from the network")
        monkeypatch.setattr(lexer, "refusal", lambda *_: None)
    of = asked if lexing else ask
    with socket.create_server(("127.0.0.1", 0)) as listener:
        response = of(strict, query % f"http://127.0.0.1:{listener.getsockname()[1]}/sparql")
        listener.settimeout(0)  # an earlier connection would be in the queue
        with pytest.raises(BlockingIOError):
            listener.accept()

    if lexing:
        assert 400 == response.status_code
    assert response.status_code in (200, 400, 503)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux filters system calls")
def test_isolated_process_has_no_way_out():
    """An isolated process can open files, but no socket, socket pair or program.

    An existing lower memory limit is kept.
    """
    code = (
        "import os, resource, socket\n"
        "from kgbench.children.lockdown import lock_down\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))\n"
        "assert lock_down(1 << 33, opens_files=True)\n"
        "assert resource.getrlimit(resource.RLIMIT_AS) == (1 << 31, 1 << 31)\n"
        "assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)\n"
        "for what in (lambda: socket.socket(), lambda: socket.socketpair(),\n"
        "             lambda: os.execv('/bin/true', ['true'])):\n"
        "    try:\n        what()\n    except PermissionError:\n        continue\n"
        "    raise SystemExit('reached')\n"
        "open(os.devnull).close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize(
    ("pieces", "status", "words"),
    [
        ([b"a" * 60, b"b" * 60], 413, "larger than 100 bytes"),
        ([b"a" * 60, None], 400, "ended early"),
        ([b"a" * 60, b"b" * 40], None, ""),
        ([b"a" * 60, ...], 408, "too slowly"),
    ],
)
def test_body_of_unknown_length_has_a_limit(pieces, status, words):
    """A body without declared length is read up to the limits of size and time."""
    messages = [
        {"type": "http.disconnect"}
        if piece is None
        else piece
        if piece is ...
        else {"type": "http.request", "body": piece, "more_body": place + 1 < len(pieces)}
        for place, piece in enumerate(pieces)
    ]

    async def receive():
        if messages[0] is ...:
            await asyncio.Event().wait()
        return messages.pop(0)

    scope = {"type": "http", "method": "POST", "headers": [], "path": "/", "query_string": b""}
    seconds = 0.2 if ... in messages else 60
    work = body(Request(scope, receive), Limits(request_bytes=100, request_seconds=seconds))
    if status is None:
        assert asyncio.run(work) == b"".join(pieces)
        return
    with pytest.raises(Refused, match=words) as refused:
        asyncio.run(work)
    assert refused.value.status == status
