# SPDX-License-Identifier: Apache-2.0
"""Times of light requests to our server while many clients send heavy queries without pauses.

This process requests look-ups, pages, small aggregates and ``/health`` at a fixed rate; another
process sends heavy queries of fourteen kinds, each with distinct constants. Aggregates may have to
wait for a process, and then be refused. All traffic is on loopback, for
:data:`SECONDS` per siege. After a refusal a heavy client waits for 100 ms, far less than the server
asks for.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from bench import questions
from bench.harness import Result
from bench.questions import AGGREGATES, look_up
from bench.serving import ours, serving

SECONDS = float(os.environ.get("KGBENCH_SIEGE_SECONDS", "20"))
SIZES = (0, 50, 200)
#: Pieces of texts that a lexer with quadratic patterns would practically never finish.
FREEZING = ("a.", '\\"', "1.a.", "<a", "_:a..", "?", "\\u0041.", "service ", "([{")
_MIB = 1 << 20
ITERATIONS = 40
_AFTER_REFUSAL = 0.1  # seconds
_TIMEOUT = 60.0
_ALL = "GRAPH ?g { ?s ?p ?o }"
_OTHER = "GRAPH ?h { ?a ?b ?c }"
#: Heavy queries; ``%d`` makes each distinct.
HEAVY = (
    f"SELECT (COUNT(*) AS ?n) {{ {_ALL} {_OTHER} FILTER(?o != %d) }}",
    f"SELECT (COUNT(DISTINCT ?c) AS ?n) {{ {_ALL} {_OTHER} FILTER(?c != %d) }}",
    f"SELECT ?s {{ {_ALL} {_OTHER} FILTER(STR(?o) = STR(?b) && ?c != %d) }} ORDER BY ?a",
    f"SELECT * {{ {_ALL} {_OTHER} FILTER(?c != %d) }} LIMIT 900000",
    f"SELECT (MAX(?c) AS ?m) {{ {_ALL} OPTIONAL {{ {_OTHER} FILTER(?c > ?o && ?c != %d) }} }}",
    f"SELECT (COUNT(*) AS ?n) {{ {_ALL} FILTER EXISTS {{ {_OTHER} FILTER(?c > %d && ?b = ?o) }} }}",
    f"SELECT (COUNT(*) AS ?n) {{ {_ALL} MINUS {{ {_OTHER} FILTER(?c != %d) }} {_OTHER} }}",
    "SELECT (COUNT(*) AS ?n) { ?s (<urn:x>|!<urn:y%d>)* ?o }",
    "SELECT (COUNT(*) AS ?n) { ?s (!<urn:z%d>/!<urn:y>)+ ?o . ?o !<urn:x> ?q }",
    f"SELECT (GROUP_CONCAT(?c; separator='%d') AS ?n) {{ {_ALL} {_OTHER} }} GROUP BY ?s",
    f"SELECT (COUNT(*) AS ?n) {{ {_ALL} {_OTHER} FILTER regex(CONCAT(STR(?o), STR(?c)), '%d$') }}",
    f"CONSTRUCT {{ ?s ?b ?o, %d }} WHERE {{ {_ALL} {_OTHER} }}",
    f"ASK {{ {_ALL} {_OTHER} GRAPH ?i {{ ?d ?e ?f }} FILTER(?f = %d && ?o = ?c) }}",
    f"SELECT ?s (SUM(STRLEN(STR(?o)) + %d) AS ?n) {{ {_ALL} {_OTHER} }} GROUP BY ?s",
)
_KGB = "https://w3id.org/kgbench/ns#"


class Kind(NamedTuple):
    """A kind of light request: paths, clients, seconds between requests, goals by siege."""

    name: str
    paths: tuple[str, ...]
    clients: int
    pause: float
    goals: dict[int, str]


def run() -> list[Result]:
    """Return times and refusals of light requests: without a siege, under two, with long texts."""
    from kgbench.pages.things import open_newest
    from kgbench.vocab import BASE

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "results"
        results(store, ITERATIONS)
        view = open_newest(store / "snapshots", BASE)
        pages = tuple(f"/{path}" for paths in questions.pages(view).values() for path in paths)
        measured: list[Result] = []
        for many in SIZES:
            with serving(ours(store)) as url:
                measured += _siege(url, many, pages)
        with serving(ours(store)) as url:
            times, healthy = asyncio.run(freeze(url))
    goal, note = "under 1,000 ms", f"of {len(times)}"
    return [
        *measured,
        Result("freezing texts of 1 MiB, longest", max(times) * 1e3, "ms", "", goal, note),
        Result("health beside freezing texts, longest", max(healthy) * 1e3, "ms"),
    ]


def results(store: Path, iterations: int) -> None:
    """Create a store with so many iterations of the quick start."""
    command = [sys.executable, "-m", "kgbench", "run", "--store", str(store)]
    command += ["--iterations", str(iterations)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command


def _siege(url: str, many: int, pages: tuple[str, ...]) -> list[Result]:
    light = asyncio.run(_kinds(url, pages))
    process = None
    if many:
        process = multiprocessing.get_context("spawn").Process(
            target=_besiege, args=(url, many, SECONDS + 5), daemon=True
        )
        process.start()
    try:
        time.sleep(5)  # until all heavy clients have sent a query
        measured = asyncio.run(_measure(url, light))
    finally:
        if process is not None:
            process.terminate()
            process.join()
    results = []
    for kind, (times, statuses) in zip(light, measured, strict=True):
        what = f"{kind.name} beside {many} heavy queries"
        refused = sum(statuses.values()) - statuses["200"]
        note = f"median {statistics.median(times) * 1e3:.0f} ms of {len(times)}; {refused} refused"
        p95 = sorted(times)[int(len(times) * 0.95)] * 1e3
        results.append(Result(f"{what}, p95", p95, "ms", "", kind.goals.get(many, ""), note))
        results.append(Result(f"{what}, longest", max(times) * 1e3, "ms"))
    return results


async def freeze(url: str) -> tuple[list[float], list[float]]:
    """Return seconds of freezing texts, and of concurrent requests of ``/health``."""
    times: list[float] = []
    healthy: list[float] = []

    async def texts() -> None:
        for piece in FREEZING:
            text = ('ASK { "' + piece * _MIB)[: _MIB - 1]
            begin = time.monotonic()
            status = await _get(url, "/sparql", text.encode("ascii"))
            if not status.isdigit():
                raise ConnectionError(f"{url}sparql has status {status} for {piece!r} repeated")
            times.append(time.monotonic() - begin)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(texts())
        while not reading.done():
            begin = time.monotonic()
            await _get(url, "/health")
            healthy.append(time.monotonic() - begin)
            await asyncio.sleep(0.02)
    return times, healthy


async def _kinds(url: str, pages: tuple[str, ...]) -> list[Kind]:
    """Return the kinds of light requests, after one request to each path."""
    things = [f"{_KGB}{name}" for name in ("Run", "Dialogue", "Evaluation", "Model", "Task")]
    lookups = tuple(f"/sparql?query={quote(look_up(thing), safe='')}" for thing in things)
    aggregates = tuple(f"/sparql?query={quote(text, safe='')}" for text in AGGREGATES)
    kinds = [
        Kind("look-ups", lookups, 4, 0.02, {50: "under 1 s", 200: "under 1 s"}),
        Kind("pages", pages, 2, 0.1, {50: "under 1 s", 200: "under 1 s"}),
        Kind("small aggregates", aggregates, 2, 0.2, {}),
        Kind("health", ("/health",), 1, 0.05, {50: "under 1 s", 200: "under 1 s"}),
    ]
    for kind in kinds:
        for path in kind.paths:
            status = await _get(url, path)
            if status != "200":
                raise ConnectionError(f"{url}{path} has status {status}")
    return kinds


async def _measure(url: str, kinds: list[Kind]) -> list[tuple[list[float], Counter[str]]]:
    """Return times (seconds) and statuses of each kind."""
    end = time.monotonic() + SECONDS

    async def client(kind: Kind, times: list[float], statuses: Counter[str]) -> None:
        for path in itertools.cycle(kind.paths):
            begin = time.monotonic()
            if begin > end:
                return
            statuses[await _get(url, path)] += 1
            times.append(time.monotonic() - begin)
            await asyncio.sleep(kind.pause)

    measured: list[tuple[list[float], Counter[str]]] = [([], Counter()) for _ in kinds]
    async with asyncio.TaskGroup() as group:
        for kind, (times, statuses) in zip(kinds, measured, strict=True):
            for _ in range(kind.clients):
                group.create_task(client(kind, times, statuses))
    return measured


def _besiege(url: str, many: int, seconds: float) -> None:
    """Keep ``many`` clients busy with heavy queries for so many seconds."""

    async def client(queries: Iterator[str], end: float) -> None:
        for query in queries:
            left = end - time.monotonic()
            if left <= 0:
                return
            path = f"/sparql?query={quote(query, safe='')}"
            try:
                status = await asyncio.wait_for(_get(url, path), left)
            except TimeoutError:
                return
            if status != "200":
                await asyncio.sleep(_AFTER_REFUSAL)

    async def clients() -> None:
        end = time.monotonic() + seconds
        queries = (kind % number for number, kind in enumerate(itertools.cycle(HEAVY)))
        await asyncio.gather(*(client(queries, end) for _ in range(many)))

    asyncio.run(clients())


async def _get(url: str, path: str, body: bytes | None = None) -> str:
    """Return the status of the response over a new connection, or the name of the error.

    A ``body`` is sent by POST, as a query.
    """
    address = urlsplit(url)
    try:
        async with asyncio.timeout(_TIMEOUT):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            try:
                head = f"{path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n"
                if body is None:
                    writer.write(f"GET {head}\r\n".encode("ascii"))
                else:
                    head += f"Content-Length: {len(body)}\r\n"
                    head += "Content-Type: application/sparql-query\r\n\r\n"
                    writer.write(f"POST {head}".encode("ascii") + body)
                line = await reader.readline()
                while await reader.read(1 << 18):
                    pass
            finally:
                writer.close()
    except (OSError, asyncio.IncompleteReadError) as error:
        return type(error).__name__
    return line.split()[1].decode("ascii") if line.count(b" ") > 1 else "nothing"
