# SPDX-License-Identifier: Apache-2.0
"""A SPARQL 1.1 server in this process: pyoxigraph behind HTTP on loopback, as Oxigraph answers.

It accepts the paths, methods and media types that the back end uses, and responds like Oxigraph.
Tests of the remote back end therefore need no other program; with the marker ``servers`` the same
tests use Oxigraph itself.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

from tests.support.servers.handled import Handled, Quiet

RESULTS = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "text/tab-separated-values": ox.QueryResultsFormat.TSV,
}
N_TRIPLES = "application/n-triples"


class InProcess(Handled):
    """The server, running within a ``with`` block, at ``url``."""

    def __init__(self):
        super().__init__(_Handler)
        self.store = ox.Store()


class _Handler(Quiet, BaseHTTPRequestHandler):
    def do_GET(self):
        place = urlsplit(self.path)
        asked = parse_qs(place.query)
        if place.path == "/store":
            self._graph(asked["graph"][0])
        else:
            self._query(asked["query"][0])

    def do_POST(self):
        place = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if place.path == "/query":
            self._query(parse_qs(body.decode())["query"][0])
        elif place.path == "/update":
            self._do(self.server.store.update, body.decode())
        elif place.path == "/store":
            graph = ox.NamedNode(parse_qs(place.query)["graph"][0])
            self._do(self.server.store.load, body, ox.RdfFormat.N_TRIPLES, to_graph=graph)
        else:
            self._say(404, b"there is nothing here")

    def _query(self, query):
        try:
            found = self.server.store.query(query)
            if isinstance(found, ox.QueryTriples):
                self._say(200, found.serialize(format=ox.RdfFormat.N_TRIPLES), N_TRIPLES)
                return
            first = self.headers.get("Accept", "").partition(",")[0].partition(";")[0].strip()
            kind = first if first in RESULTS else "application/sparql-results+json"
            if isinstance(found, ox.QueryBoolean) and kind.startswith("text/"):
                kind = "application/sparql-results+json"
            self._say(200, found.serialize(format=RESULTS[kind]), kind)
        except (SyntaxError, ValueError, RuntimeError) as error:
            self._say(400, str(error).encode())

    def _graph(self, name):
        graph = ox.NamedNode(name)
        if not self.server.store.contains_named_graph(graph):
            self._say(404, f"The graph {graph} does not exists".encode())
            return
        quads = self.server.store.quads_for_pattern(None, None, None, graph)
        triples = ox.serialize((quad.triple for quad in quads), format=ox.RdfFormat.N_TRIPLES)
        self._say(200, triples, N_TRIPLES)

    def _do(self, change, *arguments, **options):
        try:
            change(*arguments, **options)
        except (SyntaxError, ValueError, RuntimeError) as error:
            self._say(400, str(error).encode())
            return
        self._say(204)

    def _say(self, status, body=b"", media="text/plain; charset=utf-8"):
        self.send_response_only(status)
        if status != 204:
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
