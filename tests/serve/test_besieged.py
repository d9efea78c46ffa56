# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` under attack: texts made to freeze it, floods, endless updates, and signals."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.rdf.test_lexer import FREEZING
from tests.serve import stores
from tests.serve.processes import PATIENCE, children, eventually, is_running, serving

pytestmark = pytest.mark.servers

MIB = 1 << 20
TOKEN = {"KGBENCH_SERVE_TOKEN": "open sesame"}
UPDATING = {
    "Content-Type": "application/sparql-update",
    "Authorization": f"Bearer {TOKEN['KGBENCH_SERVE_TOKEN']}",
}
LOOKUP = "SELECT ?p ?o { GRAPH ?g { <https://w3id.org/kgbench/ns#Run> ?p ?o } }"
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c%d . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
COUNTER = "urn:counter"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a server in its own process."""
    folder = stores.make(tmp_path_factory.mktemp("besieged") / "results")
    with serving(folder, "--timeout", "20") as found:
        yield found


def ask(url, path="sparql", *, data=None, headers=None):
    """Return status, text and entity tag of a response, whatever its status."""
    request = urllib.request.Request(f"{url}{path}", data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, response.read().decode(), response.headers["ETag"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), None


def query(url, text):
    """Return the response to a query."""
    return ask(url, f"sparql?{urllib.parse.urlencode({'query': text})}")


def held(pid):
    """Return the numbers of children, descriptors and threads of a process."""
    if sys.platform != "linux":
        return (0, 0, 0)
    place = Path(f"/proc/{pid}")
    return (len(children(pid)), *(len(list((place / part).iterdir())) for part in ("fd", "task")))


@contextlib.contextmanager
def beside(*works):
    """Repeat each function in its own thread until the context ends."""
    done = threading.Event()

    def again(work):
        while not done.is_set():
            with contextlib.suppress(OSError):
                work()

    threads = [threading.Thread(target=again, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def freezing():
    """Yield requests with freezing texts, each of 1 MiB or as long as a URL may be."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for piece in FREEZING.values():
        for start in ("", 'SELECT * { ?s ?p "', "ASK { SERVICE "):
            text = (start + piece * (MIB // len(piece.encode())))[: MIB - len(start) - 10]
            data = text.encode()[:MIB]
            yield "sparql", data, {"Content-Type": "application/sparql-query"}
        yield "sparql", f"query={text}".encode()[:MIB], form
        yield "sparql", data, {"Content-Type": f"a/b; {text[:60_000].encode().hex()}"}
        yield f"sparql?query={urllib.parse.quote(text[:9_000], safe='')[:64_000]}", None, {}
        yield f"editor?run=1&query={urllib.parse.quote(text[:9_000], safe='')[:60_000]}", None, {}


def test_no_text_freezes_the_server(server):
    """Each freezing text is answered or refused, and other requests are answered meanwhile."""
    found = []
    healthy = []
    with beside(lambda: healthy.append(ask(server.url, "health")[0])):
        for path, data, headers in freezing():
            before = len(healthy)
            status, said, _ = ask(server.url, path, data=data, headers=headers)
            if status not in (200, 400, 408, 413, 415, 503):
                found.append((status, said[:200], path[:60]))
            eventually(lambda before=before: len(healthy) > before)

    assert not found
    assert set(healthy) == {200}


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["texts", "query", "update"])
def test_signals_always_end_the_server(tmp_path, sent, kind):
    """A signal ends the server and its workers, even while they read texts or run something."""
    folder = stores.make(tmp_path / "results")
    pattern = ENDLESS.partition(")")[2].partition(")")[2] % 1
    data = {
        "texts": b'ASK { "' + b'\\"' * (MIB // 2 - 9),
        "query": (ENDLESS % 1).encode(),
        "update": f"INSERT {{ <urn:a> <urn:b> ?c1 }} WHERE {pattern}".encode(),
    }[kind]
    sending = UPDATING if kind == "update" else {"Content-Type": "application/sparql-query"}
    with serving(folder, "--update", env=TOKEN) as server:

        def send():
            with contextlib.suppress(OSError, ValueError):
                ask(server.url, data=data, headers=sending)

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)  # until a worker reads the request, or the engine runs it
        workers = children(server.pid)
        server.send_signal(sent)
        _, said = server.communicate(timeout=PATIENCE)
        for thread in threads:
            thread.join()

    assert "Traceback" not in said
    assert workers
    eventually(lambda: not any(map(is_running, workers)))


def test_look_ups_and_pages_pass_heavy_queries(server):
    """During endless queries of thirty clients, look-ups and pages are all answered.

    After the clients disconnect, none of their processes, descriptors or threads is left.
    """
    paths = ("", "leaderboard", "dialogues", "run/1", "run/1.ttl", "model/oracle")
    eventually(lambda: all(ask(server.url, path)[0] == 200 for path in paths))
    at_rest = held(server.pid)
    numbers = itertools.count()
    refused = []

    def besiege():
        status, said, _ = query(server.url, ENDLESS % next(numbers))
        if status != 503:
            refused.append((status, said))

    with beside(*[besiege] * 30):
        eventually(lambda: next(numbers) > 40)
        statuses = [query(server.url, LOOKUP)[0] for _ in range(20)]
        statuses += [ask(server.url, f"{path}?{n}")[0] for n in range(3) for path in paths]

    assert set(statuses) == {200}
    assert not refused
    eventually(
        lambda: all(now <= then + 3 for now, then in zip(held(server.pid), at_rest, strict=True))
    )


def test_cut_answer_leaves_no_traceback(tmp_path):
    """An answer that reaches the time limit is cut off, and nothing is logged."""
    folder = stores.make(tmp_path / "results")
    endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    with serving(folder, "--timeout", "1") as server:
        place = urllib.parse.urlsplit(server.url)
        head = f"GET /sparql?query={urllib.parse.quote(endless, safe='')} HTTP/1.1\r\n"
        with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
            connection.sendall(f"{head}Host: {place.netloc}\r\n\r\n".encode())
            received = connection.recv(1_000)
            tail = b""
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(1 << 20):
                    tail = (tail + piece)[-20:]
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=PATIENCE)

    assert received.startswith(b"HTTP/1.1 200")
    assert not tail.endswith(b"0\r\n\r\n")
    assert said == ""


def test_client_that_leaves_frees_its_place(tmp_path):
    """A heavy query ends when its client disconnects, long before its time limit."""
    folder = stores.make(tmp_path / "results")
    with serving(folder, "--timeout", "3600", "--workers", "1") as server:
        place = urllib.parse.urlsplit(server.url)
        path = f"/sparql?query={urllib.parse.quote(ENDLESS % 1, safe='')}"
        with socket.create_connection((place.hostname, place.port)) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            time.sleep(1)
            busy = query(server.url, "ASK {}")[0]
        eventually(lambda: query(server.url, "ASK {}")[0] == 200)

    assert busy == 503


def test_reads_after_updates_see_them(tmp_path):
    """Reads after an update see it, and no client ever sees an older state again.

    Equal entity tags mean equal answers. Old snapshots and temporary files are removed.
    """
    folder = stores.make(tmp_path / "results")
    count = f"SELECT ?n {{ GRAPH <{COUNTER}> {{ ?s <urn:n> ?n }} }}"
    acknowledged = [0]
    stale, tags = [], {}

    def read(seen):
        before = acknowledged[0]
        status, said, tag = query(server.url, count)
        rows = json.loads(said)["results"]["bindings"] if status == 200 else []
        if status == 200:
            number = max([int(row["n"]["value"]) for row in rows], default=0)
            if number < before or number < seen[0]:
                stale.append((number, before, seen[0]))
            if tags.setdefault(tag, number) != number:
                stale.append((tag, number))
            seen[0] = number

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with (
        serving(folder, "--update", env={**TOKEN, "TMPDIR": str(scratch)}) as server,
        beside(*[lambda seen=[0]: read(seen) for _ in range(3)]),
    ):
        for number in range(1, 60):
            step = (
                f"DROP SILENT GRAPH <{COUNTER}> ; "
                f"INSERT DATA {{ GRAPH <{COUNTER}> {{ <urn:c> <urn:n> {number} }} }}"
            )
            assert ask(server.url, data=step.encode(), headers=UPDATING)[0] == 204
            acknowledged[0] = number

    assert sum(path.is_dir() for path in (folder / "snapshots").iterdir()) < 6
    assert list(scratch.iterdir()) == []
    assert not stale
    assert len(tags) > 1


def test_half_open_connections_keep_nobody_out(server):
    """With hundreds of incomplete connections open, every request is answered."""
    place = urllib.parse.urlsplit(server.url)
    with contextlib.ExitStack() as opened:
        for number in range(700):
            half = opened.enter_context(
                socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
            )
            if number % 2:
                with contextlib.suppress(OSError):  # its place may already be taken
                    half.sendall(b"GET /health HTTP/1.1\r\nHost: local")
        statuses = [ask(server.url, "health")[0] for _ in range(30)]
        statuses += [query(server.url, LOOKUP)[0] for _ in range(30)]
        statuses += [query(server.url, "ASK {}")[0] for _ in range(5)]

    assert set(statuses) == {200}
