# SPDX-License-Identifier: Apache-2.0
"""The application: which path is answered by whom, and the headers that every answer has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgbench.pages.rendering import STYLE
from kgbench.serve import formats
from kgbench.serve.description import Statistics, void
from kgbench.serve.documents import graph_response
from kgbench.serve.endpoint import METHODS, Endpoint
from kgbench.serve.graph_store import GraphStore
from kgbench.serve.headers import ALWAYS, CORS, PREFLIGHT, READING
from kgbench.serve.linked_data import LinkedData
from kgbench.serve.lookups import LOOKUPS, Lookups
from kgbench.serve.pages import Pages
from kgbench.serve.refusals import Refused
from kgbench.serve.rendering import Rendering
from kgbench.serve.service import Service, etag, unchanged
from kgbench.serve.settings import Settings
from kgbench.serve.updates import Updates
from kgbench.store import EmbeddedStore, embedded_only

STATIC = Path(__file__).parent / "static"
Handler = Callable[[Request], Awaitable[Response]]


def application(settings: Settings) -> ASGIApp:
    """The whole server as an ASGI application; with a token it owns the store."""
    owned: EmbeddedStore | None = None
    if settings.token is not None:
        owned = EmbeddedStore(embedded_only(settings.location, "serving"))
    service = Service(settings)
    updates = None if owned is None else Updates(owned, service.following)
    rendering = Rendering(service)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        try:
            async with service.running():
                yield {LOOKUPS: lookups}  # each connection is given this state
        finally:
            if owned is not None:
                owned.close()

    async def refuse(request: Request, refused: Exception) -> Response:
        # Where an answer has begun, nobody comes here: it is cut, and so does not look complete.
        assert isinstance(refused, Refused)
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(refused.message + "\n", refused.status, refused.headers)
        context = {"status": refused.status, "message": refused.message}
        return rendering.page(
            request, "refusal.html", context, status=refused.status, headers=refused.headers
        )

    async def fail(_: Request, __: Exception) -> Response:
        return PlainTextResponse("the server failed on this request; its log says more\n", 500)

    lookups = Lookups(service)
    routes = _routes(service, updates, rendering, lookups)
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Refused: refuse, Exception: fail}
    )
    app.router.redirect_slashes = False
    return _Frame(app)


def _routes(
    service: Service, updates: Updates | None, rendering: Rendering, lookups: Lookups
) -> list[BaseRoute]:
    store = GraphStore(service, updates)
    endpoint = Endpoint(service, updates, lookups)
    statistics = Statistics(service)
    pages = Pages(service, rendering, endpoint)
    things = LinkedData(service, store, pages, rendering)

    async def void_document(request: Request) -> Response:
        tag = etag(service.view.name, "void")
        chosen = formats.negotiate(request.headers.get("accept"), formats.GRAPHS)
        if chosen is None:
            known = ", ".join(one.media for one in formats.GRAPHS)
            raise Refused(406, f"the statistics can be sent as {known}", {"Vary": "Accept"})
        headers = {"Vary": "Accept", "ETag": tag, "Cache-Control": "no-cache"}
        if unchanged(request, tag):
            return Response(status_code=304, headers=headers)
        quads = await void(service, statistics, service.root(request))
        return graph_response(quads, chosen, headers)

    async def style(_: Request) -> Response:
        return FileResponse(STYLE)

    async def health(_: Request) -> Response:
        return JSONResponse({"snapshot": service.view.name})

    return [
        _Place("/sparql", endpoint, METHODS),
        _Place("/sparql/", endpoint, METHODS),
        _Place("/store", store, store.methods),
        _Place("/.well-known/void", void_document),
        _Place("/health", health),
        _Place("/static/style.css", style),
        Mount("/static", StaticFiles(directory=STATIC)),
        _Place("/", pages.overview),
        _Place("/leaderboard", pages.leaderboard),
        _Place("/compare", pages.compare),
        _Place("/search", pages.search),
        _Place("/editor", pages.editor),
        _Place("/{path:path}", things, store.methods),
    ]


class _Place(Route):
    """A path with who answers there, and the ``methods`` that can be used.

    Where they are named, who answers refuses all others itself.
    """

    def __init__(self, path: str, handler: Handler, methods: str | None = None) -> None:
        async def answer(request: Request) -> Response:
            if methods is None and request.method not in ("GET", "HEAD"):
                raise Refused(405, "this is read only", {"Allow": READING})
            return await handler(request)

        super().__init__(path, answer)
        self.methods = None  # any, or a page's path would be that of a thing to who writes there
        self.allowed = methods or READING


class _Frame:
    """Around everything: OPTIONS, and the headers of safety and CORS."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            methods = self._methods(scope)
            allowed = {"Allow": methods, "Access-Control-Allow-Methods": methods}
            response = Response(status_code=204, headers={**CORS, **PREFLIGHT, **allowed})
            await response(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name for name, _ in message["headers"]}
                more = (one for one in ALWAYS if one[0] not in said)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        # An answer is cancelled only where the server ends while it is under way; then it is cut,
        # which is no fault to report.
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, sending)

    def _methods(self, scope: Scope) -> str:
        """The methods that can be used at a path; ``*``, which is none, can only be read."""
        places = (one for one in self._app.routes if one.matches(scope)[0] is not Match.NONE)
        found = next(places, None)
        return found.allowed if isinstance(found, _Place) else READING
