# SPDX-License-Identifier: Apache-2.0
"""Graphs and things at their IRIs: the Graph Store HTTP Protocol, and Linked Data.

Graphs are read and, if permitted, written at ``/store?graph=IRI`` and ``/store?default``; those
below the base also at their own path (https://www.w3.org/TR/sparql11-http-rdf-update/). Every other
IRI below the base can be requested at its path, too, as HTML or RDF. The format follows the Accept
header or a suffix (``.html``, ``.ttl``, ``.jsonld``, ``.nt``, ...).
"""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.rdf import integer
from kgbench.serve import formats
from kgbench.serve.admission import Refused
from kgbench.serve.endpoint import stream_response
from kgbench.serve.formats import Format
from kgbench.serve.pages import Pages
from kgbench.serve.rendering import PageRenderer
from kgbench.serve.requests import GRAPHS, body
from kgbench.serve.service import (
    VARY,
    Service,
    Updates,
    graph_response,
    head_response,
    is_unchanged,
    negotiated,
    tagged,
)
from kgbench.serve.settings import READING, require_permission
from kgbench.store import new_id, registry
from kgbench.store.templates import fill
from kgbench.vocab import KGB, RDFS

_METHODS = "GET, HEAD, PUT, POST, DELETE, OPTIONS"
DEFAULT = ""  # the name of the default graph in this module
_OFFERED = (formats.HTML, *formats.GRAPHS)
_OFFERED_FOR_GRAPHS = (*formats.GRAPHS, formats.HTML)  # Accept: */* gets RDF for graphs
_SUFFIXES = {form.name: form for form in _OFFERED}
_LONGEST = 2_000  # characters of a path


class GraphStore:
    """Answers requests of the Graph Store Protocol."""

    def __init__(self, service: Service, updates: Updates | None) -> None:
        self._service = service
        self._updates = updates
        self.methods = READING if updates is None else _METHODS

    async def __call__(self, request: Request) -> Response:
        """Answer a request at ``/store``; the graph is named in the URL's query."""
        graph = self._graph(request)
        if request.method in ("GET", "HEAD"):
            if graph is None:
                raise Refused(400, "name a graph: ?default, or ?graph= with its IRI")
            return await self.read(request, graph)
        return await self.write(request, graph)

    def _graph(self, request: Request) -> str | None:
        try:
            fields = parse_qs(
                request.scope["query_string"].decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=100,
            )
        except ValueError:
            raise Refused(400, "the URL is not URL-encoded UTF-8, or has too many fields") from None
        named = fields.get("graph", [])
        if len(named) + ("default" in fields) > 1:
            raise Refused(400, "name one graph, by either ?default or ?graph=")
        if not named:
            return DEFAULT if "default" in fields else None
        _check(named[0])
        return self._own(request, str(named[0]))

    def _own(self, request: Request, graph: str) -> str:
        """Map a URL of this server to the graph below the base; return other IRIs unchanged."""
        root, base = self._service.root(request), self._service.settings.base
        if graph.startswith(root) and not self.exists(graph):
            return base + graph.removeprefix(root)
        return graph

    def exists(self, graph: str) -> bool:
        """Return whether a graph exists; the default graph always does."""
        return graph == DEFAULT or self._service.view.database.contains_named_graph(
            ox.NamedNode(graph)
        )

    async def read(self, request: Request, graph: str, chosen: Format | None = None) -> Response:
        """Stream all triples of a graph."""
        view = self._service.view
        if not self.exists(graph):
            raise Refused(404, f"there is no graph <{graph}> here")
        chosen = chosen or negotiated(request, GRAPHS, "a graph")
        headers = tagged(chosen, self._service.tag(view, graph, chosen.name))
        if is_unchanged(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if request.method == "HEAD":
            return head_response(headers)
        job = self._service.job(view, chosen.name, graph=graph)
        return await stream_response(request, self._service.pool.run(job, view), headers)

    async def write(self, request: Request, graph: str | None) -> Response:
        """Answer PUT, POST or DELETE; a POST without a graph creates a new one."""
        if request.method not in ("PUT", "POST", "DELETE"):
            raise Refused(405, f"{request.method} is not supported", {"Allow": self.methods})
        require_permission(self._service.settings, request)
        assert self._updates is not None
        new = graph is None
        if graph is None:
            if request.method != "POST":
                raise Refused(400, "name a graph: ?default, or ?graph= with its IRI")
            graph = f"{self._service.settings.base}graph/{new_id()}"
        if graph != DEFAULT:
            _check(graph)
        if request.method == "DELETE":
            if not self.exists(graph):
                raise Refused(404, f"there is no graph <{graph}> here")
            await self._updates.apply(self._removing(graph))
            return Response(status_code=200)
        existed = self.exists(graph) if graph != DEFAULT else self._has_default()
        adding = self._adding(graph, await self._triples(request, graph))
        steps = [adding] if request.method == "POST" else [self._removing(graph), adding]
        await self._updates.apply(" ;\n".join(steps))
        if new:
            local = graph.removeprefix(self._service.settings.base)
            return Response(
                status_code=201, headers={"Location": self._service.root(request) + local}
            )
        if not existed:
            return Response(status_code=201)
        return Response(status_code=200 if request.method == "POST" else 204)

    def _removing(self, graph: str) -> str:
        """Return the update that removes a graph and its entry in the store's registry."""
        if graph == DEFAULT:
            return "DROP DEFAULT"
        drop = f"DROP SILENT GRAPH <{graph}>"
        catalogue = self._service.view.iris.catalogue
        return fill("drop.ru", catalogue=catalogue, graphs=f"<{graph}>", drops=drop).rstrip()

    def _adding(self, graph: str, triples: str) -> str:
        """Return the update that adds triples to a graph, creates it if needed, and registers it.

        A graph without an entry in the registry would be removed after a crash as a leftover.
        """
        if graph == DEFAULT:
            return f"INSERT DATA {{ {triples} }}"
        target = f"GRAPH <{graph}>"
        before = registry.stamps(self._service.view).get(graph, 0)
        stamp = max(time.time_ns(), before + 1)  # stamps must grow even if the clock is set back
        text = fill(
            "write.ru",
            catalogue=self._service.view.iris.catalogue,
            old="",
            new=f"<{graph}> <{KGB.changeStamp}> {integer(stamp)} .",
            content=f"{target} {{\n{triples}\n}}",
        )
        return f"CREATE SILENT {target} ;\n{text.rstrip()}"

    def _has_default(self) -> bool:
        """Return whether the default graph has any triple."""
        database = self._service.view.database
        return any(True for _ in database.quads_for_pattern(None, None, None, ox.DefaultGraph()))

    async def _triples(self, request: Request, graph: str) -> str:
        """Read the graph in a request's body as N-Triples."""
        content_type = request.headers.get("content-type", "")
        content = await body(request, self._service.settings.limits)
        return await self._service.readers.triples(
            content_type, content, graph or self._service.settings.base
        )


def _check(graph: str) -> None:
    """Raise 400 if the name of a graph is not an IRI."""
    try:
        ox.NamedNode(graph)
    except ValueError as error:
        raise Refused(400, f"the graph is not an IRI: {error}") from None


class ResolvedPath(NamedTuple):
    """The IRI of a path, and the format of its suffix."""

    iri: str
    path: str
    chosen: formats.Format | None


class LinkedData:
    """Answers requests for IRIs below the base."""

    def __init__(
        self, service: Service, store: GraphStore, pages: Pages, rendering: PageRenderer
    ) -> None:
        self._service = service
        self._store = store
        self._pages = pages
        self._rendering = rendering

    async def __call__(self, request: Request) -> Response:
        """Answer a request for an IRI by its path."""
        view = self._service.view
        path = _path(request)
        if request.method not in ("GET", "HEAD"):
            if self._service.settings.token is None:
                raise Refused(405, "this resource is read-only", {"Allow": READING})
            return await self._store.write(request, view.iris.base + path)
        resolved = resolve(view, path)
        if resolved is None:
            raise Refused(404, f"no statements about <{view.iris.base}{unquote(path)}> exist")
        is_graph = self._store.exists(resolved.iri)
        offered = _OFFERED_FOR_GRAPHS if is_graph else _OFFERED
        chosen = resolved.chosen or negotiated(request, offered, "descriptions")
        url = f"{self._service.root(request)}{resolved.path}"
        if self._service.settings.redirect and resolved.chosen is None:
            return RedirectResponse(f"{url}.{chosen.name}", 303, VARY)
        headers = {
            **VARY,
            "ETag": self._service.tag(view, resolved.iri, chosen.name, request.url.query),
            "Cache-Control": "no-cache",
            "Content-Location": f"{url}.{chosen.name}",
            "Link": ", ".join(
                f'<{url}.{form.name}>; rel="alternate"; type="{form.media}"'
                for form in _OFFERED[:4]
            ),
        }
        if is_unchanged(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        if chosen is formats.HTML:
            return await self._pages.thing(request, view, resolved.iri, headers)
        if is_graph:
            return await self._store.read(request, resolved.iri, chosen)
        described = await asyncio.to_thread(things.describe, view, resolved.iri)
        notice = _notice(described, headers["Content-Location"], self._service.root(request))
        return graph_response([*described.quads, *notice], chosen, headers)


def resolve(view: View, path: str) -> ResolvedPath | None:
    """Look up the IRI of a percent-encoded path in the snapshot; ``None`` if there is none."""
    stem, _, suffix = path.rpartition(".")
    for name, chosen in ((path, None), (stem, _SUFFIXES.get(suffix))):
        if not name or (name == stem and chosen is None):
            continue
        for spelled in dict.fromkeys((name, unquote(name))):
            iri = view.iris.base + spelled
            for candidate in (iri, f"{iri}#"):
                if things.exists(view, candidate):
                    return ResolvedPath(candidate, name, chosen)
    return None


def _notice(described: things.Description, document: str, root: str) -> list[ox.Quad]:
    """Return statements that say what a document leaves out, and name the endpoint that has all."""
    if not described.limits:
        return []
    text = f"This document is not complete: it has {'; '.join(described.limits)}."
    node, comment, see = (ox.NamedNode(iri) for iri in (document, RDFS.comment, RDFS.seeAlso))
    return [
        ox.Quad(node, comment, ox.Literal(text, language="en")),
        ox.Quad(node, see, ox.NamedNode(f"{root}sparql")),
    ]


def _path(request: Request) -> str:
    raw = request.scope.get("raw_path") or quote(request.scope["path"]).encode("ascii")
    path = bytes(raw).partition(b"?")[0].decode("latin-1").lstrip("/")
    if len(path) > _LONGEST:
        raise Refused(414, f"the path is longer than {_LONGEST} characters")
    return path
