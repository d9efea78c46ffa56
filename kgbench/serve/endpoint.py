# SPDX-License-Identifier: Apache-2.0
"""The SPARQL 1.1 Protocol endpoint for queries and, if permitted, updates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from kgbench.serve import formats
from kgbench.serve.admission import Admitted
from kgbench.serve.authorisation import has_token, require_permission
from kgbench.serve.costs import key_of
from kgbench.serve.formats import Format
from kgbench.serve.lookups import Lookups
from kgbench.serve.pool import Answer
from kgbench.serve.protocol import Operation
from kgbench.serve.refusals import Refused, ResponseAborted
from kgbench.serve.request_bodies import body, wait_while_connected
from kgbench.serve.request_parsing import RawRequest
from kgbench.serve.service import Service, head_response, header, is_unchanged
from kgbench.serve.snapshot_follower import View
from kgbench.serve.updates import Updates

METHODS = "GET, HEAD, POST, OPTIONS"
_VARY = {"Vary": "Accept"}


class Endpoint:
    """Answers requests of the SPARQL 1.1 Protocol."""

    def __init__(self, service: Service, updates: Updates | None, lookups: Lookups) -> None:
        self._service = service
        self._updates = updates
        self._lookups = lookups

    async def __call__(self, request: Request) -> Response:
        """Answer one request; raises :class:`~kgbench.serve.refusals.Refused`."""
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
        from kgbench.serve.description import service_description
        from kgbench.serve.documents import graph_response

        chosen = formats.negotiate(header(request, "accept"), (*formats.GRAPHS, formats.HTML))
        if chosen is formats.HTML:
            return RedirectResponse(self._service.root(request) + "editor", 303, _VARY)
        if chosen is None:
            raise Refused(400, "the request has no query, and accepts no format of descriptions")
        quads = service_description(self._service, self._service.root(request))
        return graph_response(quads, chosen, {**_VARY, "Cache-Control": "no-cache"})

    async def _query(self, request: Request, operation: Operation, admitted: Admitted) -> Response:
        offered = formats.SOLUTIONS if admitted.form in ("SELECT", "ASK") else formats.GRAPHS
        chosen = formats.negotiate(header(request, "accept"), offered, operation.wanted)
        if chosen is None:
            known = ", ".join(form.media for form in offered)
            raise Refused(406, f"the answer can be sent as {known}", _VARY)
        view = self._service.view
        headers = {**_VARY, "Content-Type": chosen.content_type, "Cache-Control": "no-cache"}
        if admitted.steady:
            headers["ETag"] = self._service.tag(view, operation, chosen.name)
            if is_unchanged(request, headers["ETag"]):
                return Response(status_code=304, headers=headers)
        work = self.answer(view, operation, admitted, chosen)
        if request.method == "HEAD":
            answer = await work
            if answer.rest is not None:
                await answer.rest.aclose()
                return head_response(headers)
            headers["Content-Length"] = str(len(answer.head))
            return Response(headers=headers)
        return await stream_response(
            request, work, headers, self._service.settings.limits.quick_seconds
        )

    async def answer(
        self, view: View, operation: Operation, admitted: Admitted, chosen: Format
    ) -> Answer:
        """Answer an admitted query from the index or in a worker."""
        # With a dataset in the request, look-ups are not bounded: index steps may yield no row.
        if admitted.lookup is not None and operation.default_graphs is None:
            data = self._lookups.answer(view, admitted.lookup, chosen)
            if data is not None:
                return Answer(data)
        job = self._service.job(
            view,
            chosen.name,
            query=operation.text,
            default=operation.default_graphs,
            named=operation.named_graphs,
        )
        return await self._service.pool.run(job, key_of(operation.text, admitted.shape), view)


async def stream_response(
    request: Request, work: Coroutine[Any, Any, Answer], headers: Mapping[str, str], quick: float
) -> Response:
    """Return the response with the answer of ``work``.

    Work that takes longer than ``quick`` seconds is cancelled when the client disconnects.
    """
    task = asyncio.create_task(_with_first_chunk(work))
    await asyncio.wait({task}, timeout=quick)
    if not task.done():
        await wait_while_connected(request, task)
    answer, first = task.result()
    if answer.rest is None:
        return Response(answer.head, headers=headers)
    return StreamingResponse(_chunks(answer, first), headers=headers)


async def _with_first_chunk(work: Coroutine[Any, Any, Answer]) -> tuple[Answer, bytes]:
    """Wait for an answer and its first chunk, so that errors until then get a status code."""
    answer = await work
    if answer.rest is None or answer.head:
        return answer, b""
    try:
        return answer, await anext(answer.rest, b"")
    except BaseException:
        await answer.rest.aclose()
        raise


async def _chunks(answer: Answer, first: bytes) -> AsyncIterator[bytes]:
    assert answer.rest is not None
    try:
        yield answer.head + first
        async for piece in answer.rest:
            yield piece
    except Refused as refused:
        raise ResponseAborted(refused.message) from None
    finally:
        await answer.rest.aclose()
