# SPDX-License-Identifier: Apache-2.0
"""A server's day compressed into seconds: mixed concurrent requests, and the resources they leave.

Twelve clients send random look-ups, aggregates, pages, resources and whole graphs; heavy queries,
abandoned queries, incomplete requests and refused texts; and updates. Each connection is closed
after its request. Afterwards the server must hold the same resources as before: workers,
descriptors, threads, snapshots, temporary files.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from tests.serve import stores
from tests.serve.processes import children, memory, serving

CLIENTS = 12
TOKEN = "open sesame of the day"
GRAPH = "urn:of-the-day"
_PATIENCE = 60.0
_SETTLED = 120.0
_ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c%d . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
_KGB = "https://w3id.org/kgbench/ns#"
_LIGHT = (
    f"SELECT ?p ?o {{ GRAPH ?g {{ <{_KGB}Run> ?p ?o }} }}",
    "SELECT ?c (COUNT(*) AS ?n) { GRAPH ?g { ?s a ?c } } GROUP BY ?c",
    "ASK {}",
    "CONSTRUCT WHERE { ?s ?p ?o } LIMIT 50",
)
_PATHS = (
    *("", "leaderboard", "compare", "search?q=a", "editor", "health", "static/style.css"),
    *(".well-known/void", "run/none", "store?default", f"store?graph={quote(GRAPH)}"),
)
_REFUSED = (
    "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * {",
    "LOAD <http://127.0.0.1:9/>",
    "a." * 30_000,
    "ASK { " + "{" * 5_000,
)


class Held(NamedTuple):
    """The resources of a server: processes, descriptors, threads, snapshots, temporary files.

    Of the store's files only the removed ones count: the number of open files depends on the
    engine.
    """

    workers: int
    descriptors: int
    removed: int
    threads: int
    snapshots: int
    temporary: int


class Day(NamedTuple):
    """A day: the statuses of all requests, the resources before and after, and the log."""

    statuses: Counter[str]
    before: Held
    after: Held
    seconds: float
    megabytes: int
    said: str

    @property
    def leaked(self) -> dict[str, int]:
        """Return the resources that grew, by name; three more threads are allowed."""
        spare = Held(0, 0, 0, 3, 0, 0)
        more = {
            name: getattr(self.after, name) - getattr(self.before, name) for name in Held._fields
        }
        return {name: n for name, n in more.items() if n > getattr(spare, name)}


def spend(folder: Path, requests: int, seed: int = 0) -> Day:
    """Serve a store in ``folder`` and send this number of requests."""
    store = stores.make(folder / "results")
    scratch = folder / "scratch"
    scratch.mkdir()
    env = {"KGBENCH_SERVE_TOKEN": TOKEN, "TMPDIR": str(scratch)}
    statuses: Counter[str] = Counter()
    with serving(store, "--update", "--timeout", "2", env=env) as server:

        def held() -> Held:
            return _held(server.pid, store, scratch)

        _send(server.url, 40 * CLIENTS, seed - 1, Counter())  # warms everything up
        before = _at_rest(server.url, held)
        began = time.monotonic()
        _send(server.url, requests, seed, statuses)
        seconds = time.monotonic() - began
        after = _at_rest(server.url, held, before)
        megabytes = memory(server.pid) >> 10
        server.terminate()
        _, said = server.communicate(timeout=_SETTLED)
    return Day(statuses, before, after, seconds, megabytes, said)


def _held(pid: int, store: Path, scratch: Path) -> Held:
    links = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(one.readlink()))
    ours = [link for link in links if link.startswith(str(store))]
    return Held(
        len(children(pid)),
        len(links) - len(ours),
        sum(link.endswith(" (deleted)") for link in ours),
        len(list(Path(f"/proc/{pid}/task").iterdir())),
        sum(path.is_dir() for path in (store / "snapshots").iterdir()),
        sum(1 for _ in scratch.rglob("*")),
    )


def _at_rest(url: str, held: Callable[[], Held], before: Held | None = None) -> Held:
    """Return the resources once they no longer change, or no longer exceed ``before``."""
    end, last, same = time.monotonic() + _SETTLED, held(), 0
    while time.monotonic() < end:
        time.sleep(0.5)
        with suppress(OSError):
            _ask(url, "GET", "static/style.css")  # ends threads that have waited for long
            # A snapshot that was read when it became old is removed with the next one.
            step = f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <urn:s> <urn:n> {time.time_ns()} }} }}"
            _owner(url, "POST", "sparql", step, "application/sparql-update")
        now = held()
        same = same + 1 if now == last else 0
        last = now
        if before is None and same >= 10:
            break
        if before is not None and all(a <= b for a, b in zip(now, before, strict=True)):
            break  # what leaked would never be given back
    return last


def _send(url: str, requests: int, seed: int, statuses: Counter[str]) -> None:
    """Send requests from all clients at once."""
    lock = threading.Lock()

    def client(number: int) -> None:
        chance = random.Random(f"{seed}/{number}")
        for turn in range(requests // CLIENTS):
            kind, status = _one(url, chance, number * requests + turn)
            with lock:
                statuses[f"{kind} {status}"] += 1

    threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _one(url: str, chance: random.Random, number: int) -> tuple[str, str]:
    """Send one request of any kind; return its kind and its status."""
    weights = {
        "light": 30,
        "page": 20,
        "refused": 10,
        "update": 8,
        "graph": 4,
        "wrong": 4,
        "heavy": 1,
        "cancelled": 3,
        "half": 6,
        "unread": 1,
    }
    (kind,) = chance.choices(list(weights), list(weights.values()))
    try:
        return kind, str(_KINDS[kind](url, chance, number))
    except OSError as error:
        return kind, type(error).__name__


def _light(url: str, chance: random.Random, _: int) -> str:
    accept = chance.choice(("text/csv", "application/sparql-results+json", "text/turtle", "*/*"))
    return _query(url, chance.choice(_LIGHT), Accept=accept)


def _heavy(url: str, _: random.Random, number: int) -> str:
    return _query(url, _ENDLESS % number)


def _page(url: str, chance: random.Random, _: int) -> str:
    accept = chance.choice(("text/html", "text/turtle", "application/ld+json", "nonsense"))
    return _ask(url, "GET", chance.choice(_PATHS), Accept=accept)


def _refuse(url: str, chance: random.Random, _: int) -> str:
    text = chance.choice(_REFUSED)
    headers = {"Content-Type": chance.choice(("application/sparql-query", "text/plain"))}
    return _ask(url, "POST", "sparql", text.encode(), **headers)


def _wrong(url: str, chance: random.Random, _: int) -> str:
    if chance.random() < 0.3:
        return _ask(url, "GET", "", Host="attacker.example")
    token = {"Authorization": "Bearer wrong", "Content-Type": "application/sparql-update"}
    method = chance.choice(("POST", "DELETE", "PATCH", "BREW"))
    return _ask(url, method, "sparql", b"CLEAR ALL", **token)


def _update(url: str, chance: random.Random, number: int) -> str:
    step = chance.choice(
        (
            f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <urn:s> <urn:n> {number} }} }}",
            f"DROP SILENT GRAPH <{GRAPH}>",
            "INSERT DATA { nonsense",
        )
    )
    return _owner(url, "POST", "sparql", step, "application/sparql-update")


def _graph(url: str, chance: random.Random, number: int) -> str:
    method = chance.choice(("PUT", "POST", "DELETE"))
    content = chance.choice((f"<urn:s> <urn:p> {number} .", "<urn:s> <broken"))
    return _owner(url, method, f"store?graph={quote(GRAPH)}", content, "text/turtle")


def _owner(url: str, method: str, path: str, content: str, kind: str) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    return _ask(url, method, path, content.encode(), **headers)


def _leave(url: str, chance: random.Random, number: int) -> str:
    """Send a heavy query and disconnect."""
    with _connected(url) as connection:
        text = quote(_ENDLESS % number, safe="")
        connection.sendall(_head(url, "GET", f"sparql?query={text}"))
        time.sleep(chance.uniform(0, 0.2))
    return "left"


def _half(url: str, chance: random.Random, _: int) -> str:
    """Send a part of a request and disconnect."""
    whole = _head(url, "POST", "sparql", {"Content-Length": "99"}) + b"ASK"
    with _connected(url) as connection:
        connection.sendall(whole[: chance.randrange(len(whole))])
        time.sleep(chance.uniform(0, 0.05))
    return "left"


def _unread(url: str, _: random.Random, __: int) -> str:
    """Request a large answer and read only its beginning."""
    with _connected(url) as connection:
        text = quote("SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 200000", safe="")
        connection.sendall(_head(url, "GET", f"sparql?query={text}"))
        return _status(connection.recv(1 << 10))


_KINDS: dict[str, Callable[[str, random.Random, int], str]] = {
    "light": _light,
    "page": _page,
    "refused": _refuse,
    "update": _update,
    "graph": _graph,
    "wrong": _wrong,
    "heavy": _heavy,
    "cancelled": _leave,
    "half": _half,
    "unread": _unread,
}


def _query(url: str, text: str, **headers: str) -> str:
    return _ask(url, "GET", f"sparql?query={quote(text, safe='')}", **headers)


def _ask(url: str, method: str, path: str, body: bytes | None = None, **headers: Any) -> str:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given["Connection"] = "close"
    if body is not None:
        given["Content-Length"] = str(len(body))
    with _connected(url) as connection:
        connection.sendall(_head(url, method, path, given) + (body or b""))
        first = connection.recv(1 << 16)
        while connection.recv(1 << 18):
            pass
    return _status(first)


def _status(answer: bytes) -> str:
    words = answer.split(b" ", 2)
    return words[1].decode("ascii") if len(words) > 1 else "nothing"


def _head(url: str, method: str, path: str, headers: dict[str, str] | None = None) -> bytes:
    given = {"Host": urlsplit(url).netloc, **(headers or {})}
    lines = [f"{method} /{path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _connected(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=_PATIENCE)
