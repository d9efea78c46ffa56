# SPDX-License-Identifier: Apache-2.0
"""The application: which path is answered by whom, and the headers that every answer has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgbench.pages import rendering as shared
from kgbench.rdf import queries, query_examples
from kgbench.serve import formats
from kgbench.serve.description import Statistics, void
from kgbench.serve.documents import graph_response
from kgbench.serve.endpoint import METHODS, Endpoint
from kgbench.serve.graph_store import GraphStore
from kgbench.serve.headers import PREFLIGHT, READING, always, sharing
from kgbench.serve.linked_data import LinkedData
from kgbench.serve.lookups import LOOKUPS, Lookups
from kgbench.serve.pages import Pages
from kgbench.serve.protocol import MOST_FIELDS
from kgbench.serve.refusals import ABORT, Cut, Refused
from kgbench.serve.rendering import Rendering
from kgbench.serve.service import Service, etag, unchanged
from kgbench.serve.settings import Settings
from kgbench.serve.updates import Updates
from kgbench.store import EmbeddedStore, embedded_only

STATIC = Path(__file__).parent / "static"
Handler = Callable[[Request], Awaitable[Response]]


class Protocolled(Protocol):
    """Who answers at a ``path`` in another protocol, by ``methods``, while it is running."""

    path: str
    methods: str

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Requests are answered inside this context."""
        ...

    async def __call__(self, request: Request) -> Response:
        """Answer one request; :class:`~kgbench.serve.refusals.Refused` says why not."""
        ...


def application(
    settings: Settings, beside: Callable[[Service], Protocolled] | None = None
) -> ASGIApp:
    """The whole server as an ASGI application; with a token it owns the store.

    ``beside`` makes what answers in another protocol beside endpoint and pages.
    """
    owned: EmbeddedStore | None = None
    if settings.token is not None:
        owned = EmbeddedStore(embedded_only(settings.location, "serving"))
    service = Service(settings)
    updates = None if owned is None else Updates(owned, service.following)
    rendering = Rendering(service)

    other = None if beside is None else beside(service)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        try:
            async with service.running(), contextlib.AsyncExitStack() as stack:
                compiling = asyncio.create_task(asyncio.to_thread(rendering.compile))
                stack.push_async_callback(asyncio.wait, {compiling})
                if other is not None:
                    await stack.enter_async_context(other.running())
                yield {LOOKUPS: lookups}  # each connection is given this state
        finally:
            if owned is not None:
                owned.close()

    async def refuse(request: Request, refused: Exception) -> Response:
        # Where an answer has begun it is cut instead (Cut), so that it does not look complete.
        assert isinstance(refused, Refused)
        if "text/html" not in request.headers.get("accept", ""):
            return await refusal(request, refused)
        context = {"status": refused.status, "message": refused.message}
        return rendering.page(
            request, "refusal.html", context, status=refused.status, headers=refused.headers
        )

    async def fail(_: Request, __: Exception) -> Response:
        return PlainTextResponse("the server failed on this request; its log says more\n", 500)

    lookups = Lookups(service)
    routes = _routes(service, updates, rendering, lookups)
    if other is not None:
        routes.insert(0, Place(other.path, other, other.methods))
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Refused: refuse, Exception: fail}
    )
    app.router.redirect_slashes = False
    return Frame(app, settings)


async def refusal(_: Request, refused: Exception) -> Response:
    """A refusal in words, for clients that are no browsers."""
    assert isinstance(refused, Refused)
    return PlainTextResponse(refused.message + "\n", refused.status, refused.headers)


def _routes(
    service: Service, updates: Updates | None, rendering: Rendering, lookups: Lookups
) -> list[BaseRoute]:
    store = GraphStore(service, updates)
    endpoint = Endpoint(service, updates, lookups)
    statistics = Statistics(service)
    pages = Pages(service, rendering, endpoint)
    things = LinkedData(service, store, pages, rendering)

    async def void_document(request: Request) -> Response:
        view = service.view
        tag = etag(view.name, "void")
        chosen = formats.negotiate(request.headers.get("accept"), formats.GRAPHS)
        if chosen is None:
            known = ", ".join(one.media for one in formats.GRAPHS)
            raise Refused(406, f"the statistics can be sent as {known}", {"Vary": "Accept"})
        headers = {"Vary": "Accept", "ETag": tag, "Cache-Control": "no-cache"}
        if unchanged(request, tag):
            return Response(status_code=304, headers=headers)
        quads = await void(service, statistics, view, service.root(request))
        return graph_response(quads, chosen, headers)

    async def examples(request: Request) -> Response:
        chosen = formats.negotiate(request.headers.get("accept"), formats.GRAPHS)
        if chosen is None:
            known = ", ".join(one.media for one in formats.GRAPHS)
            raise Refused(406, f"the examples can be sent as {known}", {"Vary": "Accept"})
        root = service.root(request)
        tag = etag(queries.digest(), root)
        headers = {"Vary": "Accept", "ETag": tag, "Cache-Control": "no-cache"}
        if unchanged(request, tag):
            return Response(status_code=304, headers=headers)
        return graph_response(query_examples.examples(f"{root}sparql"), chosen, headers)

    async def health(_: Request) -> Response:
        return JSONResponse({"snapshot": service.view.name})

    return [
        Place("/sparql", endpoint, METHODS),
        Place("/sparql/", endpoint, METHODS),
        Place("/store", store, store.methods),
        Place("/.well-known/void", void_document),
        Place(f"/{query_examples.PLACE}", examples),
        Place("/health", health),
        *(Place(f"/static/{path.name}", _file(path)) for path in sorted(shared.STATIC.iterdir())),
        Mount("/static", StaticFiles(directory=STATIC)),
        Place("/", pages.overview),
        Place("/leaderboard", pages.leaderboard),
        Place("/dialogues", pages.dialogues),
        Place("/compare", pages.compare),
        Place("/search", pages.search),
        Place("/editor", pages.editor),
        Place("/{path:path}", things, store.methods),
    ]


def _file(path: Path) -> Handler:
    async def send(_: Request) -> Response:
        return FileResponse(path)

    return send


class Place(Route):
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


class Frame:
    """Around everything: the Host header, OPTIONS, and the headers of safety and CORS."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._sharing = sharing(settings.shared_with)
        self._always = always(settings.shared_with)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or leave it to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            methods = self._methods(scope)
            headers = {"Allow": methods, **self._sharing}
            if self._settings.shared_with is not None:
                headers |= {"Access-Control-Allow-Methods": methods, **PREFLIGHT}
            await Response(status_code=204, headers=headers)(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                said = {name for name, _ in message["headers"]}
                more = (one for one in self._always if one[0] not in said)
                message["headers"] = [*message["headers"], *more]
            await send(message)

        # An answer is cancelled only where the server ends while it is under way; then it is cut,
        # which is no fault to report.
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await self._app(scope, receive, sending)
            except Cut:
                abort = scope.get("state", {}).get(ABORT)
                if not started or abort is None:
                    raise
                abort()
                await asyncio.sleep(0)  # the server learns that its client is gone
                await asyncio.sleep(0)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further: for another host, or with many fields."""
        host = next((value for name, value in scope["headers"] if name == b"host"), None)
        if host is not None and not self._settings.is_own(host.decode("latin-1")):
            said = "this server has another name: start it with --public, or ask by IP address\n"
            return PlainTextResponse(said, 421)
        if scope["query_string"].count(b"&") >= MOST_FIELDS:
            return PlainTextResponse(f"the URL has more than {MOST_FIELDS} fields\n", 400)
        return None

    def _methods(self, scope: Scope) -> str:
        """The methods that can be used at a path; ``*``, which is none, can only be read."""
        places = (one for one in self._app.routes if one.matches(scope)[0] is not Match.NONE)
        found = next(places, None)
        return found.allowed if isinstance(found, Place) else READING
