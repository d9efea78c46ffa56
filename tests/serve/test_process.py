# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` as a process: real clients, a running benchmark, hostile requests, shutdown."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from kgbench.store import open_reader
from kgbench.vocab import KGB
from tests.serve import stores
from tests.serve.hostile import talk
from tests.serve.processes import PATIENCE, eventually, memory, serving

pytestmark = pytest.mark.servers

COUNT = f"SELECT (COUNT(?d) AS ?n) {{ GRAPH ?g {{ ?d a <{KGB.Dialogue}> }} }}"
LOOKUP = "SELECT ?p ?o { GRAPH ?g { <https://w3id.org/kgbench/ns#Run> ?p ?o } }"
RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a server in its own process."""
    folder = stores.make(tmp_path_factory.mktemp("process") / "results")
    with serving(folder, "--timeout", "60", "--workers", "2") as found:
        yield found


def fetch(url, query, accept="text/csv"):
    """Return the response of an endpoint as text; HTTP errors are raised."""
    asked = f"{url}sparql?{urllib.parse.urlencode({'query': query})}"
    request = urllib.request.Request(asked, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return response.read().decode("utf-8")


def test_curl_gets_an_answer(server):
    """A query sent with curl is answered."""
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    done = subprocess.run(
        ["curl", "-sf", f"{server.url}sparql", "--data-urlencode", f"query={COUNT}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"results"' in done.stdout


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("form", ["json", "xml", "csv", "turtle"])
def test_sparqlwrapper_reads_answers(server, form):
    """SPARQLWrapper reads every format that it can request."""
    wrapper = pytest.importorskip("SPARQLWrapper")
    client = wrapper.SPARQLWrapper(f"{server.url}sparql")
    client.setMethod(wrapper.POST)
    if form == "turtle":
        client.setQuery("CONSTRUCT { ?s a ?o } { GRAPH ?g { ?s a ?o } } LIMIT 5")
        client.setReturnFormat(wrapper.TURTLE)
        assert b" a " in client.queryAndConvert()
        return
    client.setQuery(LOOKUP)
    client.setReturnFormat(form)
    assert client.queryAndConvert()


def test_rdflib_reads_answers(server):
    """A SPARQLStore of rdflib queries the endpoint as a graph."""
    from rdflib.plugins.stores.sparqlstore import SPARQLStore

    store = SPARQLStore(f"{server.url}sparql", returnFormat="json")
    rows = list(store.query(COUNT))
    assert 1 == len(rows)
    assert int(rows[0][0]) >= 1
    store.close()


class Clients:
    """Clients that repeat requests in their own threads until the context ends."""

    def __init__(self, url, small):
        self.failures = []
        self._url = url
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._look_up) for _ in range(small)]
        self._threads.append(threading.Thread(target=self._bother))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _look_up(self):
        while not self._done.is_set():
            try:
                fetch(self._url, LOOKUP)
            except OSError as error:
                self.failures.append(error)

    def _bother(self):
        """Send an endless query every second, which must be refused with 503."""
        while not self._done.wait(1):
            try:
                fetch(self._url, RUNAWAY)
            except OSError as error:
                if not (isinstance(error, urllib.error.HTTPError) and error.code == 503):
                    self.failures.append(error)


def test_serving_beside_a_running_benchmark(tmp_path):
    """While a benchmark writes, small queries never fail, and its results are served."""
    folder = tmp_path / "results"
    command = [sys.executable, "-m", "kgbench", "run", "--store", str(folder)]
    quick = [*command, "--iterations", "1", "--model", "baseline:silent"]
    subprocess.run(quick, check=True, capture_output=True)
    counts = []
    with serving(folder, "--timeout", "2", "--workers", "3") as server:

        def look():
            with contextlib.suppress(urllib.error.HTTPError):  # all slots may be taken
                counts.append(int(fetch(server.url, COUNT).split()[1]))
            return counts

        eventually(look)
        before = memory(server.pid)
        noisy = [*command, "--iterations", "10", "--model", "baseline:noisy?rate=0.3&seed=3"]
        run = subprocess.Popen(noisy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Clients(server.url, 50) as clients:
            while run.poll() is None:
                look()
                time.sleep(0.3)
        with open_reader(str(folder)) as store:
            written = int(next(iter(store.query(COUNT)))[0].value)
        eventually(lambda: look()[-1] == written)
        after = memory(server.pid)
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=PATIENCE)

    assert not clients.failures
    assert 0 == run.returncode
    assert counts[-1] > counts[0]
    assert counts == sorted(counts)
    assert after < before + 200_000
    assert "Traceback" not in said


HOSTILE_PIECES = (
    b"GET /sparql?query=%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /sparql?query=" + b"A" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: " + b"a/b;q=9," * 9_000 + b"\r\n\r\n",
    b"GET /\xff\xfe\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%00%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/..%2f..%2f..%2fpyproject.toml HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"HEAD /sparql?query=ASK%20%7B%7D&default-graph-uri=%20 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /editor?query=%7B%7B7*7%7D%7D&run=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /search?q=%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /compare?a=%ff&b=../../x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /leaderboard?suite=%27%22%3E HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /ns HTTP/1.1\r\nHost: \r\n\r\n",
    b"GET /editor?name=search-answers&text=%22%5C HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /editor?name=dialogue-turns&dialogue=nonsense HTTP/1.1\r\nHost: localhost\r\n\r\n",
)


def test_chosen_hostile_requests_do_no_harm(server):
    """Requests that target typical weaknesses cause no 500 and read no file."""
    answers = [talk(server.url, data) for data in HOSTILE_PIECES]

    assert not [a[:300] for a in answers if a is None or a.startswith(b"HTTP/1.1 500")]
    assert not [a for a in answers if b"root:" in a or b"[build-system]" in a]
    assert "n" in fetch(server.url, COUNT)
