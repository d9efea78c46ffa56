# SPDX-License-Identifier: Apache-2.0
"""Linked Data: every IRI below the base can be requested at its path, as HTML or RDF.

The format follows the Accept header or a suffix (``.html``, ``.ttl``, ``.jsonld``, ``.nt``, ...).
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import quote, unquote

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.serve import formats
from kgbench.serve.authorisation import READING
from kgbench.serve.graph_store import GraphStore
from kgbench.serve.pages import Pages
from kgbench.serve.refusals import Refused
from kgbench.serve.rendering import PageRenderer
from kgbench.serve.service import VARY, Service, graph_response, is_unchanged, negotiated
from kgbench.vocab import RDFS

_OFFERED = (formats.HTML, *formats.GRAPHS)
_OFFERED_FOR_GRAPHS = (*formats.GRAPHS, formats.HTML)  # Accept: */* gets RDF for graphs
_SUFFIXES = {form.name: form for form in _OFFERED}
_LONGEST = 2_000  # characters of a path


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
