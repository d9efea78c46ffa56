# SPDX-License-Identifier: Apache-2.0
"""The ASGI application: routes, errors, and the headers of all responses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgbench.pages.rendering import serialised
from kgbench.pages.things import View
from kgbench.rdf import query_examples
from kgbench.serve import formats
from kgbench.serve.admission import ABORT, Refused, ResponseAborted
from kgbench.serve.endpoint import METHODS, Endpoint, Statistics
from kgbench.serve.graph_store import GraphStore, LinkedData
from kgbench.serve.pages import Pages
from kgbench.serve.rendering import PageRenderer
from kgbench.serve.requests import MOST_FIELDS
from kgbench.serve.service import (
    Service,
    Updates,
    graph_response,
    header,
    is_unchanged,
    negotiated,
    tagged,
)
from kgbench.serve.settings import PREFLIGHT, READING, Settings, common_headers, cors_headers
from kgbench.store import EmbeddedStore, embedded_only

STATIC = Path(__file__).parent / "static"
Handler = Callable[[Request], Awaitable[Response]]


class ProtocolHandler(Protocol):
    """A handler of another protocol at ``path``, which allows ``methods``."""

    path: str
    methods: str

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Return a context in which requests are answered."""
        ...

    async def __call__(self, request: Request) -> Response:
        """Answer one request; raises :class:`~kgbench.serve.admission.Refused`."""
        ...


def application(
    settings: Settings, make_handler: Callable[[Service], ProtocolHandler] | None = None
) -> ASGIApp:
    """Return the server as an ASGI application; with a token it opens the store for writing.

    ``make_handler`` creates the handler of another protocol, served beside endpoint and pages.
    """
    owned: EmbeddedStore | None = None
    if settings.token is not None:
        owned = EmbeddedStore(embedded_only(settings.location, "serving"))
    service = Service(settings)
    updates = None if owned is None else Updates(owned, service.following)
    rendering = PageRenderer(service)

    handler = None if make_handler is None else make_handler(service)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            async with service.running(), contextlib.AsyncExitStack() as stack:
                compiling = asyncio.create_task(asyncio.to_thread(rendering.compile))
                stack.push_async_callback(asyncio.wait, {compiling})
                if handler is not None:
                    await stack.enter_async_context(handler.running())
                yield
        finally:
            if owned is not None:
                owned.close()

    async def refuse(request: Request, refused: Exception) -> Response:
        # Only for responses that have not started; others are aborted (Cut), so that they do not
        # look complete.
        assert isinstance(refused, Refused)
        if "text/html" not in (header(request, "accept") or ""):
            return await refusal(request, refused)
        context = {"status": refused.status, "message": refused.message}
        return rendering.page(
            request, "refusal.html", context, status=refused.status, headers=refused.headers
        )

    async def fail(_: Request, __: Exception) -> Response:
        return PlainTextResponse("the server failed on this request; its log says more\n", 500)

    routes = _routes(service, updates, rendering)
    if handler is not None:
        routes.insert(0, MethodRoute(handler.path, handler, handler.methods))
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Refused: refuse, Exception: fail}
    )
    app.router.redirect_slashes = False
    return SecurityMiddleware(app, settings)


async def refusal(_: Request, refused: Exception) -> Response:
    """Answer a refused request in plain text, for clients that are not browsers."""
    assert isinstance(refused, Refused)
    return PlainTextResponse(refused.message + "\n", refused.status, refused.headers)


def _routes(service: Service, updates: Updates | None, rendering: PageRenderer) -> list[BaseRoute]:
    store = GraphStore(service, updates)
    endpoint = Endpoint(service, updates)
    statistics = Statistics(service)
    pages = Pages(service, rendering, endpoint)
    things = LinkedData(service, store, pages, rendering)

    async def examples(_: View, root: str) -> Iterable[Any]:
        return query_examples.examples(f"{root}sparql")

    document = partial(_document, service, rendering)

    async def health(_: Request) -> Response:
        return JSONResponse({"snapshot": service.view.name})

    async def analysis(request: Request) -> Response:
        # Kept analyses are resources below the same path.
        page = await pages.analysis(request) if request.method in {"GET", "HEAD"} else None
        return page or await things(request)

    return [
        MethodRoute("/sparql", endpoint, METHODS),
        MethodRoute("/sparql/", endpoint, METHODS),
        MethodRoute("/store", store, store.methods),
        MethodRoute("/.well-known/void", document("statistics", statistics.void)),
        MethodRoute(f"/{query_examples.SITE_PATH}", document("examples", examples)),
        MethodRoute("/health", health),
        Mount("/static", StaticFiles(directory=STATIC, packages=[("kgbench.pages", "static")])),
        MethodRoute("/", pages.overview),
        MethodRoute("/leaderboard", pages.leaderboard),
        MethodRoute("/analysis", pages.analyses.listed),
        MethodRoute("/analysis/{path:path}", analysis, store.methods),
        MethodRoute("/dialogues", pages.dialogues),
        MethodRoute("/compare", pages.compare),
        MethodRoute("/search", pages.search),
        MethodRoute("/editor", pages.editor),
        MethodRoute("/{path:path}", things, store.methods),
    ]


def _document(
    service: Service,
    rendering: PageRenderer,
    what: str,
    quads: Callable[[View, str], Awaitable[Iterable[Any]]],
) -> Handler:
    """Return a handler that sends a small graph in any format, unless the client has it.

    Browsers get a page that shows it as Turtle.
    """

    async def send(request: Request) -> Response:
        view, root = service.view, service.root(request)
        chosen = negotiated(request, (*formats.GRAPHS, formats.HTML), f"the {what}")
        headers = tagged(chosen, service.tag(view, what, root, chosen.name))
        if is_unchanged(request, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        found = await quads(view, root)
        if chosen is formats.HTML:
            context = {"title": what.capitalize(), "turtle": serialised(found, "ttl").decode()}
            return rendering.page(request, "graph.html", context, headers=headers, view=view)
        return graph_response(found, chosen, headers)

    return send


class MethodRoute(Route):
    """A route that answers OPTIONS by ``methods``.

    Without ``methods``, only GET and HEAD are passed to the handler. Otherwise the handler refuses
    other methods itself.
    """

    def __init__(self, path: str, handler: Handler, methods: str | None = None) -> None:
        async def answer(request: Request) -> Response:
            if methods is None and request.method not in ("GET", "HEAD"):
                raise Refused(405, "this resource is read-only", {"Allow": READING})
            return await handler(request)

        super().__init__(path, answer)
        # With methods set, Starlette would pass a PUT on a page's path to the route of resources.
        self.methods = None
        self.allowed = methods or READING


class SecurityMiddleware:
    """Middleware for the Host header, OPTIONS, CORS and security headers."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._cors_headers = cors_headers(settings.shared_with)
        self._common_headers = common_headers(settings.shared_with)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            methods = self._methods(scope)
            headers = {"Allow": methods, **self._cors_headers}
            if self._settings.shared_with is not None:
                headers |= {"Access-Control-Allow-Methods": methods, **PREFLIGHT}
            await Response(status_code=204, headers=headers)(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = {name for name, _ in message["headers"]}
                missing = (header for header in self._common_headers if header[0] not in present)
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        # A response is only cancelled when the server shuts down; this is not an error to report.
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await self._app(scope, receive, sending)
            except ResponseAborted:
                abort = scope.get("state", {}).get(ABORT)
                if not started or abort is None:
                    raise
                abort()
                await asyncio.sleep(0)  # let uvicorn notice the closed connection
                await asyncio.sleep(0)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the refusal of a request for another host or with too many fields, if any."""
        host = next((value for name, value in scope["headers"] if name == b"host"), None)
        if host is not None and not self._settings.is_own(host.decode("latin-1")):
            message = "unknown host name: start the server with --public, or use its IP address\n"
            return PlainTextResponse(message, 421)
        if scope["query_string"].count(b"&") >= MOST_FIELDS:
            return PlainTextResponse(f"the URL has more than {MOST_FIELDS} fields\n", 400)
        return None

    def _methods(self, scope: Scope) -> str:
        """Return the methods allowed at the requested path."""
        matching = (
            candidate
            for candidate in self._app.routes
            if candidate.matches(scope)[0] is not Match.NONE
        )
        route = next(matching, None)
        return route.allowed if isinstance(route, MethodRoute) else READING
