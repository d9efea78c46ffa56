# SPDX-License-Identifier: Apache-2.0
"""Requests per second of the server, compared with peers over the same data in the same run.

Peers: a bare Starlette handler on the same snapshot, rdflib-endpoint and the Oxigraph server, the
last two in separate environments (see :mod:`bench.peers`). All get the same requests from the same
client, whose own time per request is reported, because it shares the cores with the server. Queries
are distinct and no response is cached. Small numbers of connections are followed by 64 and 256
connections (:mod:`bench.crowds`), a concurrent run that writes (:mod:`bench.beside_a_run`), and
pages (:mod:`bench.page_times`).
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox

from bench import beside_a_run, crowds, page_times, peers, questions
from bench.clients import Refused, ask, requests
from bench.harness import Result

OURS, BARE, OXIGRAPH = "kgbench serve", "bare Starlette", "Oxigraph server"
CROWDED = (OURS, BARE, OXIGRAPH)  # servers also measured with many connections
CONNECTIONS = (1, 8, 32)
REPETITIONS = 3  # after a warm-up with different queries
LOOKUPS = 1_500  # per repetition
LEADERBOARDS = 2  # per connection and repetition
SLOWEST = 20.0  # maximal seconds of a repetition; slower servers are skipped
GOAL = "at least 0.3 times bare Starlette"
_BARE = """
import sys, uvicorn, pyoxigraph as ox
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
store = ox.Store.read_only(sys.argv[1])
async def answer(request):
    found = store.query(request.query_params["query"])
    return Response(found.serialize(format=ox.QueryResultsFormat.JSON))
app = Starlette(routes=[Route("/sparql", answer)])
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
_RDFLIB = """
import sys, uvicorn
from rdflib import Dataset
from rdflib_endpoint import SparqlEndpoint
data = Dataset()
data.parse(sys.argv[1], format="nquads")
app = SparqlEndpoint(graph=data, path="/sparql")
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def run() -> list[Result]:
    """Return rates and times of every server, and ratios of ours to those of the others."""
    from kgbench.pages.things import open_newest
    from kgbench.vocab import BASE

    with tempfile.TemporaryDirectory() as folder:
        store, other = Path(folder) / "results", Path(folder) / "other"
        _fill(store)
        shutil.copytree(store, other)
        snapshot = max((store / "snapshots").glob("[0-9]*[0-9]"))
        dump = Path(folder) / "data.nq"
        view = open_newest(snapshot.parent, BASE)
        view.database.dump(str(dump), ox.RdfFormat.N_QUADS)
        lookups, pages = questions.look_ups(view), questions.pages(view)
        measured: list[Result] = []
        for name, command, path in _servers(store, snapshot, dump, Path(folder)):
            with serving(command) as url:
                measured += _measure(name, url + path, lookups, questions.leaderboard(view))
                if name not in CROWDED:
                    continue
                measured += crowds.measure(name, url + path, lookups)
                with beside_a_run.running(other):
                    measured += beside_a_run.measure(name, url + path, lookups, "a run elsewhere")
        # Last, because it changes the store.
        with serving(ours(store)) as url:
            measured += page_times.measure(OURS, url, pages)
            with beside_a_run.running(store):
                beside = "a run in its store"
                measured += beside_a_run.measure(OURS, url + "sparql", lookups, beside, url)
                measured += beside_a_run.measure_pages(OURS, url, pages, beside)
        return measured + crowds.ratios(measured, OURS)


def _fill(store: Path) -> None:
    command = [sys.executable, "-m", "kgbench", "run", "--store", str(store), "--iterations", "8"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed command


def _servers(
    store: Path, snapshot: Path, dump: Path, folder: Path
) -> Iterator[tuple[str, list[str], str]]:
    """Name, command (``PORT`` stands for the port) and path of each server."""
    bare = [sys.executable, "-c", _BARE, str(snapshot), "PORT"]
    yield BARE, bare, "sparql"
    yield OURS, ours(store), "sparql"
    rdflib = peers.binaries("rdflib-endpoint") / "python"
    yield "rdflib-endpoint", [str(rdflib), "-c", _RDFLIB, str(dump), "PORT"], "sparql"
    oxigraph = str(peers.binaries("oxigraph") / "oxigraph")
    data = str(folder / "oxigraph")
    loading = [oxigraph, "load", "--location", data, "--file", str(dump)]
    subprocess.run(loading, check=True, capture_output=True)  # noqa: S603 - fixed command
    serving = [oxigraph, "serve-read-only", "--location", data, "--bind", "127.0.0.1:PORT"]
    yield OXIGRAPH, serving, "query"


def ours(store: Path) -> list[str]:
    """Return the command of our own server over a store."""
    return [sys.executable, "-m", "kgbench", "serve", "--store", str(store), "--port", "PORT"]


@contextlib.contextmanager
def serving(command: Sequence[str]) -> Iterator[str]:
    """Run a server; yields its root URL. Raises :class:`TimeoutError` if it does not start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = [word.replace("PORT", str(port)) for word in command]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # a server may not react during a query
            process.kill()
            process.wait()


def _wait(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise TimeoutError("a server did not start within a minute")


def _measure(name: str, url: str, lookups: list[str], leaderboard: str) -> list[Result]:
    measured: list[Result] = []
    parts = [lookups[n * LOOKUPS : (n + 1) * LOOKUPS] for n in range(REPETITIONS + 1)]
    for connections in CONNECTIONS:
        measured += _rates(f"{name}, look-ups, {connections} connections", url, parts, connections)
    for connections in CONNECTIONS:
        many = LEADERBOARDS * connections
        parts = [
            [f"{leaderboard}\n# {connections} {repetition} {n}" for n in range(many)]
            for repetition in range(REPETITIONS + 1)
        ]
        what = f"{name}, leaderboard, {connections} connections"
        results = _rates(what, url, parts, connections)
        measured += results
        if len(results) == 1:  # too slow; more connections would not be faster
            break
    return measured


def _rates(what: str, url: str, parts: list[list[str]], connections: int) -> list[Result]:
    """Median rate and p95, or one result with the error."""
    begin = time.process_time()
    try:
        rates = [ask(url, requests(url, part), connections, timeout=SLOWEST) for part in parts]
    except (TimeoutError, Refused, ConnectionError) as error:
        return [Result(what, 0.0, "answers in time", note=str(error) or type(error).__name__)]
    own = (time.process_time() - begin) / sum(map(len, parts)) * 1e6
    note = f"median of {len(rates) - 1}; the client takes {own:.0f} us per request"
    goal = GOAL if what.startswith(f"{OURS}, look-ups, 8 ") else ""
    return [
        Result(what, statistics.median(r.per_second for r in rates[1:]), "/s", "", goal, note),
        Result(f"{what}, p95", statistics.median(r.p95 for r in rates[1:]), "ms"),
    ]
