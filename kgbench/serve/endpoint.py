# SPDX-License-Identifier: Apache-2.0
"""The SPARQL 1.1 Protocol endpoint for queries and, if permitted, updates, and its description."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from itertools import islice
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from kgbench.pages.things import View
from kgbench.rdf import queries, query_examples
from kgbench.rdf.quads import node, statements_about, text, type_statements
from kgbench.serve import formats
from kgbench.serve.admission import LOOKUP_ROWS, Admitted, Refused, ResponseAborted
from kgbench.serve.formats import Format
from kgbench.serve.pool import Answer, RemainingChunks
from kgbench.serve.requests import Operation, RawRequest, body, wait_while_connected
from kgbench.serve.service import (
    VARY,
    Service,
    Updates,
    graph_response,
    head_response,
    header,
    is_unchanged,
    negotiated,
    tagged,
)
from kgbench.serve.settings import has_token, require_permission
from kgbench.serve.worker import Counter, Output, write_rows
from kgbench.vocab import DCAT, DCTERMS, FOAF, FORMATS, RDFS, SD, VOID

METHODS = "GET, HEAD, POST, OPTIONS"
_LOOKUP_BYTES = 1 << 18  # of the answer to a look-up
_MOST_GRAPHS = 1_000  # that are described
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPH_FORMATS = ("Turtle", "N-Triples", "JSON-LD", "RDF_XML", "N-Quads", "TriG")
_QUICK = 0.3  # seconds after which a request ends if its client disconnects


class Endpoint:
    """Answers requests of the SPARQL 1.1 Protocol."""

    def __init__(self, service: Service, updates: Updates | None) -> None:
        self._service = service
        self._updates = updates

    async def __call__(self, request: Request) -> Response:
        """Answer one request; raises :class:`~kgbench.serve.admission.Refused`."""
        if request.method not in ("GET", "HEAD", "POST"):
            raise Refused(405, f"{request.method} is not supported", {"Allow": METHODS})
        content = b""
        if request.method == "POST":
            content = await body(request, self._service.settings.limits)
        settings = self._service.settings
        prepared = await self._service.readers.operation(
            RawRequest(
                request.method,
                request.scope["query_string"],
                request.headers.get("content-type"),
                content,
                self._updates is not None and has_token(settings, request),
            ),
            settings.base,
        )
        if prepared is None:
            return await self._describe(request)
        if prepared.admitted is None:
            require_permission(settings, request)
            assert self._updates is not None
            await self._updates.apply(prepared.operation.text)
            return Response(status_code=204)
        return await self._query(request, prepared.operation, prepared.admitted)

    async def _describe(self, request: Request) -> Response:
        """Answer a request without a query: with the service description, or the editor."""
        chosen = formats.negotiate(header(request, "accept"), (*formats.GRAPHS, formats.HTML))
        if chosen is formats.HTML:
            return RedirectResponse(self._service.root(request) + "editor", 303, VARY)
        if chosen is None:
            raise Refused(400, "the request has no query, and accepts no format of descriptions")
        quads = service_description(self._service, self._service.root(request))
        return graph_response(quads, chosen, {**VARY, "Cache-Control": "no-cache"})

    async def _query(self, request: Request, operation: Operation, admitted: Admitted) -> Response:
        offered = formats.SOLUTIONS if admitted.form in ("SELECT", "ASK") else formats.GRAPHS
        chosen = negotiated(request, offered, "the answer", operation.wanted)
        view = self._service.view
        headers = tagged(chosen, self._service.tag(view, operation, chosen.name))
        if not admitted.steady:
            del headers["ETag"]
        elif is_unchanged(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        work = self.answer(view, operation, admitted, chosen)
        if request.method == "HEAD":
            answer = await work
            if answer.rest is not None:
                answer.rest.close()
                return head_response(headers)
            headers["Content-Length"] = str(len(answer.head))
            return Response(headers=headers)
        return await stream_response(request, work, headers)

    async def answer(
        self, view: View, operation: Operation, admitted: Admitted, chosen: Format
    ) -> Answer:
        """Answer an admitted query from the index or in a worker."""
        # With a dataset in the request, look-ups are not bounded: index steps may yield no row.
        if admitted.lookup is not None and operation.default_graphs is None:
            data = self._look_up(view, admitted.lookup, chosen)
            if data is not None:
                return Answer(data)
        job = self._service.job(
            view,
            chosen.name,
            query=operation.text,
            default=operation.default_graphs,
            named=operation.named_graphs,
        )
        return await self._service.pool.run(job, view)

    def _look_up(self, view: View, lookup: str, chosen: Format) -> bytes | None:
        """Return the answer to a look-up; ``None`` if it is too large or does not parse.

        It costs one index step per row, and its rows and bytes are bounded, so that it needs no
        worker.
        """
        settings = self._service.settings
        pieces: list[bytes] = []
        output = Output(pieces.append, Counter(chosen.name), LOOKUP_ROWS, _LOOKUP_BYTES)
        try:
            result = view.database.query(
                lookup, base_iri=settings.base, use_default_graph_as_union=settings.union
            )
            write_rows(result, chosen.name, output)
        except (Refused, SyntaxError, ValueError, RuntimeError, OSError):
            return None
        return b"".join(pieces)


async def stream_response(
    request: Request, work: Coroutine[Any, Any, Answer], headers: Mapping[str, str]
) -> Response:
    """Return the response with the answer of ``work``, which ends if the client disconnects."""
    task = asyncio.create_task(work)
    await asyncio.wait({task}, timeout=_QUICK)
    if not task.done():
        await wait_while_connected(request, task)
    try:
        answer = task.result()
    finally:
        del task  # its error would refer to itself, and so keep the snapshot
    if answer.rest is None:
        return Response(answer.head, headers=headers)
    return StreamingResponse(_chunks(answer.head, answer.rest), headers=headers)


async def _chunks(head: bytes, rest: RemainingChunks) -> AsyncIterator[bytes]:
    try:
        yield head
        async for piece in rest:
            yield piece
    except Refused as refused:
        raise ResponseAborted(refused.message) from None
    finally:
        rest.close()


def service_description(service: Service, root: str) -> list[ox.Quad]:
    """Describe the endpoint as ``sd:Service`` and ``dcat:DataService``, with its graphs."""
    endpoint, dataset = node(root + "sparql"), node(root + ".well-known/void#dataset")
    default = root + "sparql#default-graph"
    settings = service.settings
    quads = [
        *type_statements(endpoint, SD.Service, DCAT.DataService),
        *statements_about(
            endpoint,
            (DCTERMS["title"], text("SPARQL endpoint of a kgbench store")),
            (DCAT.endpointURL, endpoint),
            (SD.endpoint, endpoint),
            (SD.supportedLanguage, SD.SPARQL11Query),
            (SD.supportedLanguage, None if settings.token is None else SD.SPARQL11Update),
            (SD.feature, SD.UnionDefaultGraph if settings.union else None),
            (SD.defaultDataset, dataset),
            (DCAT.servesDataset, dataset),
            (RDFS.seeAlso, root + query_examples.SITE_PATH),
            *((SD.resultFormat, FORMATS[name]) for name in (*_RESULTS, *_GRAPH_FORMATS)),
        ),
        *type_statements(dataset, SD.Dataset),
        *statements_about(dataset, (SD.defaultGraph, default)),
        *type_statements(node(default), SD.Graph),
    ]
    for graph in islice(service.view.database.named_graphs(), _MOST_GRAPHS):
        named = ox.BlankNode()
        quads += statements_about(dataset, (SD.namedGraph, named))
        quads += [
            *type_statements(named, SD.NamedGraph),
            *statements_about(named, (SD.name, graph)),
        ]
    return quads


class Statistics:
    """The statistics of the store in VoID, computed on demand once per snapshot and address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = asyncio.Lock()
        self._counted: tuple[str, str] | None = None
        self._quads: list[ox.Quad] = []

    async def void(self, view: View, root: str) -> list[ox.Quad]:
        """Describe the store as ``void:Dataset`` with class and property partitions."""
        async with self._lock:
            if self._counted != (view.name, root):
                self._quads = await self._describe(view, root)
                self._counted = (view.name, root)
            return self._quads

    async def _describe(self, view: View, root: str) -> list[ox.Quad]:
        service, document = self._service, root + ".well-known/void"
        dataset = node(document + "#dataset")
        declared = queries.load("publish/statistics")
        query = queries.bind(declared, document=document, dataset=dataset)
        answer = await service.pool.run(service.job(view, "nt", query=query), view)
        about = statements_about(
            dataset,
            (DCTERMS["title"], text("Results recorded by kgbench")),
            (FOAF.homepage, root),
            (VOID.sparqlEndpoint, root + "sparql"),
            (VOID.uriSpace, text(service.settings.base)),
        )
        return [
            *type_statements(dataset, DCAT.Dataset),
            *about,
            *ox.parse(await answer.whole(), ox.RdfFormat.N_TRIPLES),
        ]
