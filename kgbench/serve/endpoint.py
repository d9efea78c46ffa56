# SPDX-License-Identifier: Apache-2.0
"""The SPARQL 1.1 Protocol endpoint: one path for queries, and updates where they are permitted."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from kgbench.serve import formats, protocol
from kgbench.serve.admission import Admitted, admit
from kgbench.serve.bodies import body
from kgbench.serve.following import View
from kgbench.serve.formats import Format
from kgbench.serve.lookups import Lookups
from kgbench.serve.pool import Answer
from kgbench.serve.refusals import Refused
from kgbench.serve.service import Service, bare, etag, unchanged
from kgbench.serve.updates import Updates
from kgbench.serve.writing import permit

METHODS = "GET, HEAD, POST, OPTIONS"
_VARY = {"Vary": "Accept"}


class Endpoint:
    """Answers requests at the endpoint's path."""

    def __init__(self, service: Service, updates: Updates | None, lookups: Lookups) -> None:
        self._service = service
        self._updates = updates
        self._lookups = lookups

    async def __call__(self, request: Request) -> Response:
        """Answer one request; :class:`~kgbench.serve.refusals.Refused` says why not."""
        if request.method not in ("GET", "HEAD", "POST"):
            raise Refused(405, f"{request.method} is not known here", {"Allow": METHODS})
        sent = b""
        if request.method == "POST":
            sent = await body(request, self._service.settings.limits)
        operation = protocol.read(
            request.method,
            request.scope["query_string"],
            request.headers.get("content-type"),
            sent,
        )
        if operation is None:
            return await self._describe(request)
        if operation.kind == "update":
            permit(self._service.settings, request)
            assert self._updates is not None
            await self._updates.run(operation)
            return Response(status_code=204)
        return await self._query(request, operation)

    async def _describe(self, request: Request) -> Response:
        """Without a query: the service description, or the query form for people."""
        from kgbench.serve.description import service_description
        from kgbench.serve.documents import graph_response

        chosen = formats.negotiate(request.headers.get("accept"), (*formats.GRAPHS, formats.HTML))
        if chosen is formats.HTML:
            return RedirectResponse(self._service.root(request) + "editor", 303, _VARY)
        if chosen is None:
            raise Refused(400, "the request has no query, and no description is acceptable")
        quads = service_description(self._service, self._service.root(request))
        return graph_response(quads, chosen, {**_VARY, "Cache-Control": "no-cache"})

    async def _query(self, request: Request, operation: protocol.Operation) -> Response:
        admitted = admit(operation.text)
        offered = formats.SOLUTIONS if admitted.form in ("SELECT", "ASK") else formats.GRAPHS
        chosen = formats.negotiate(request.headers.get("accept"), offered, operation.wanted)
        if chosen is None:
            known = ", ".join(one.media for one in offered)
            raise Refused(406, f"the answer can be sent as {known}", _VARY)
        view = self._service.view
        headers = {**_VARY, "Content-Type": chosen.content_type, "Cache-Control": "no-cache"}
        if admitted.steady:
            headers["ETag"] = etag(view.name, operation, chosen.name)
            if unchanged(request, headers["ETag"]):
                return Response(status_code=304, headers=headers)
        answer = await self.answer(view, operation, admitted, chosen)
        if request.method == "HEAD":
            if answer.rest is not None:
                await answer.rest.aclose()
                return bare(headers)
            headers["Content-Length"] = str(len(answer.head))
            return Response(headers=headers)
        if answer.rest is None:
            return Response(answer.head, headers=headers)
        # The first further piece, before the status is said: what fails until then can say so.
        first = await _first(answer)
        return StreamingResponse(_pieces(answer, first), headers=headers)

    async def answer(
        self, view: View, operation: protocol.Operation, admitted: Admitted, chosen: Format
    ) -> Answer:
        """The answer to an admitted query: from the index, or from a worker."""
        # With a dataset of the request's own, a step in an index need not give a row.
        if admitted.lookup is not None and operation.default_graphs is None:
            found = self._lookups.answer(view, admitted.lookup, chosen)
            if found is not None:
                return Answer(found)
        job = self._service.job(
            view,
            chosen.name,
            query=operation.text,
            default=operation.default_graphs,
            named=operation.named_graphs,
        )
        return await self._service.pool.run(job)


async def _first(answer: Answer) -> bytes:
    assert answer.rest is not None
    if answer.head:
        return b""
    try:
        return await anext(answer.rest, b"")
    except BaseException:
        await answer.rest.aclose()
        raise


async def _pieces(answer: Answer, first: bytes) -> AsyncIterator[bytes]:
    assert answer.rest is not None
    try:
        yield answer.head + first
        async for piece in answer.rest:
            yield piece
    finally:
        await answer.rest.aclose()
