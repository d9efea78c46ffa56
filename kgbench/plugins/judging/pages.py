# SPDX-License-Identifier: Apache-2.0
"""The review server: pages on which people judge dialogues; nothing else is served.

Reviews are blind: the pages show no model names, scores or verdicts of judges.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from kgbench.api import KgbenchError, PageRefused, PageSettings
from kgbench.pages import rendering as shared
from kgbench.pages.rendering import environment
from kgbench.plugins.judging.access import Access, Visitor
from kgbench.plugins.judging.queue import Entry, ReviewQueue
from kgbench.record.reviews import LONGEST_REASON, PSEUDONYM, Review
from kgbench.serve.app import SecurityMiddleware
from kgbench.serve.requests import body

_HERE = Path(__file__).parent
_SHARED = ("style.css", "reading.css")
_STATIC = (
    *(shared.STATIC / name for name in _SHARED),
    *sorted((_HERE / "static").glob("review.*")),
)
_FIELDS = 20  # of a form
_LATEST = 200  # listed verdicts of the reviewer
KEYS = "1234567890qwertyuiop"
"""Keyboard keys that choose the options, in display order."""
# Browsers send Origin with forms only if the referrer policy allows the same origin.
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "Vary": "Cookie"}
_SITE = {
    "navigation": [("Review", ""), ("My verdicts", "mine"), ("Adjudicate", "adjudicate")],
    "footer": [],
}


def application(settings: PageSettings, queue: ReviewQueue, access: Access) -> ASGIApp:
    """Return the review pages over ``queue`` as an ASGI application."""
    pages = _Pages(queue, access, settings)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, PageRefused)
        return pages.refusal(error.status, error.message, error.headers)

    async def missing(_: Request, __: Exception) -> Response:
        return pages.refusal(404, "there is no such page here")

    async def method(_: Request, __: Exception) -> Response:
        return pages.refusal(405, "this address does not accept this method")

    async def failed(_: Request, error: Exception) -> Response:
        words = str(error) if isinstance(error, KgbenchError) else "its log says more"
        return pages.refusal(500, f"the server failed on this request: {words}")

    async def health(_: Request) -> Response:
        return JSONResponse({"items": len(queue.entries)})

    routes: list[BaseRoute] = [
        Route("/", pages.front, methods=["GET"]),
        Route("/name", pages.choose_name, methods=["POST"]),
        Route("/item/{name}", pages.item, methods=["GET"]),
        Route("/item/{name}", pages.decide, methods=["POST"]),
        Route("/mine", pages.mine, methods=["GET"]),
        Route("/adjudicate", pages.disputed, methods=["GET"]),
        Route("/adjudicate/{name}", pages.dispute, methods=["GET"]),
        Route("/adjudicate/{name}", pages.settle, methods=["POST"]),
        Route("/health", health, methods=["GET"]),
        *(Route(f"/static/{path.name}", _file(path), methods=["GET"]) for path in _STATIC),
    ]
    handlers = {PageRefused: refused, 404: missing, 405: method, Exception: failed}
    return SecurityMiddleware(Starlette(routes=routes, exception_handlers=handlers), settings)


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def send(_: Request) -> Response:
        return FileResponse(path)

    return send


class _Pages:
    def __init__(self, queue: ReviewQueue, access: Access, settings: PageSettings) -> None:
        self._queue = queue
        self._access = access
        self._limits = settings.limits
        self._environment = environment(_HERE / "templates")
        self._environment.globals.update(site=_SITE)

    # --- pages ----------------------------------------------------------------------------

    async def front(self, request: Request) -> Response:
        """Redirect to the next item, ask for a pseudonym, or log in by a link with the key."""
        key = request.query_params.get("key")
        if key is not None:
            if not self._access.has_key(key):
                raise PageRefused(
                    403, "the link has another key: use the one that was printed last"
                )
            response = self._redirect("")
            with contextlib.suppress(PageRefused):  # a pseudonym without verdicts is kept, too
                if self._access.visitor(request).name and "me" not in request.query_params:
                    return response
            self._access.admit(response, self._access.owned_name(request))
            return response
        visitor = self._access.visitor(request)
        if visitor.name is None:
            return self._page("review-name.html", {"problem": None, "visitor": visitor})
        entry = self._queue.next(visitor.name, request.query_params.get("after"))
        if entry is not None:
            return self._redirect(f"item/{entry.name}")
        remaining = self._queue.next(visitor.name) is not None
        return self._page("review-done.html", {"left": remaining, **self._progress(visitor.name)})

    async def item(self, request: Request) -> Response:
        """Return an item to judge, or to judge again."""
        visitor, entry = self._visitor_and_entry(request)
        given = self._queue.review_by(entry, visitor.name or "")
        return await self._item(visitor, entry, given)

    async def mine(self, request: Request) -> Response:
        """Return the reviewer's verdicts, the latest first."""
        visitor = self._named_visitor(request)
        assert visitor.name is not None
        decided = self._queue.decided(visitor.name)
        listed = [self._verdict(entry, review) for entry, review in decided[:_LATEST]]
        personal = self._access.personal_link(visitor.name) if decided else None
        context = {"decided": listed, "more": len(decided) - len(listed), "personal": personal}
        return self._page("review-mine.html", {**context, **self._progress(visitor.name)})

    async def disputed(self, request: Request) -> Response:
        """Redirect to the first item, or the next one, on which reviewers disagree."""
        visitor = self._named_visitor(request)
        assert visitor.name is not None
        disputed = self._queue.disputed(visitor.name)
        after = request.query_params.get("after")
        names = [entry.name for entry in disputed]
        index = names.index(after) + 1 if after in names else 0
        if index < len(names):
            return self._redirect(f"adjudicate/{names[index]}")
        context = {"left": bool(names), "adjudicating": True, **self._progress(visitor.name)}
        return self._page("review-done.html", context)

    async def dispute(self, request: Request) -> Response:
        """Return a disputed item with the anonymous verdicts of the reviewers."""
        visitor, entry = self._visitor_and_entry(request)
        try:
            self._queue.check_adjudicator(entry, visitor.name or "")
        except KgbenchError as error:
            raise PageRefused(403, str(error)) from None
        opinions = [
            {
                "who": f"Reviewer {'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[k % 26]}",
                **self._verdict(entry, review),
            }
            for k, review in enumerate(self._queue.opinions(entry))
        ]
        return await self._item(visitor, entry, None, opinions=opinions)

    async def _item(
        self,
        visitor: Visitor,
        entry: Entry,
        review: Review | None,
        *,
        opinions: list[dict[str, Any]] | None = None,
    ) -> Response:
        assert visitor.name is not None
        shown_exercise = await asyncio.to_thread(self._queue.material, entry)
        rubric = self._queue.rubric
        by_name = {option.name: option for option in rubric.options}
        options = [by_name[name] for name in shown_exercise.exercise.case.data["order"]]
        adjudicating = opinions is not None
        context = {
            "entry": entry,
            "rubric": rubric,
            "options": list(zip(KEYS, options, strict=False)),
            "material": shown_exercise.material,
            "given": None if review is None else self._verdict(entry, review),
            "opinions": opinions,
            "adjudicating": adjudicating,
            "visitor": visitor,
            "shown": self._access.shown_now(visitor, entry.name),
            "longest": LONGEST_REASON,
            "last": self._last(visitor.name, entry),
            **self._progress(visitor.name),
        }
        return self._page("review-item.html", context)

    # --- forms ----------------------------------------------------------------------------

    async def choose_name(self, request: Request) -> Response:
        """Set the reviewer's pseudonym."""
        visitor = self._access.visitor(request)
        form = await self._form(request, visitor)
        name = form.get("name", "").strip()
        if not PSEUDONYM.fullmatch(name):
            problem = "Use 1 to 32 letters, digits, - and _, and begin with a letter or digit."
            return self._page("review-name.html", {"problem": problem, "visitor": visitor}, 400)
        try:
            await asyncio.to_thread(self._queue.claim, name)
        except KgbenchError as error:
            context = {"problem": str(error), "visitor": visitor}
            return self._page("review-name.html", context, 409)
        response = self._redirect("")
        self._access.admit(response, name, chosen=True)
        return response

    async def decide(self, request: Request) -> Response:
        """Record a verdict, and redirect to the next item."""
        return await self._take_verdict(request, adjudicating=False)

    async def settle(self, request: Request) -> Response:
        """Take a verdict that settles those of people, and go on to the next such item."""
        return await self._take_verdict(request, adjudicating=True)

    async def _take_verdict(self, request: Request, *, adjudicating: bool) -> Response:
        visitor, entry = self._visitor_and_entry(request)
        assert visitor.name is not None
        form = await self._form(request, visitor)
        reason = form.get("why", "").replace("\r\n", "\n").strip()
        if len(reason) > LONGEST_REASON:
            raise PageRefused(413, f"the reason has more than {LONGEST_REASON:,} characters")
        known = {option.name for option in self._queue.rubric.options}
        if form.get("option") not in known:
            raise PageRefused(400, "choose one of the verdicts first")
        seconds = self._access.seconds_since(visitor, entry.name, form.get("shown", ""))
        try:
            await asyncio.to_thread(
                self._queue.decide,
                entry,
                visitor.name,
                form["option"],
                reason,
                seconds,
                adjudicating=adjudicating,
            )
        except KgbenchError as error:
            raise PageRefused(409, str(error)) from None
        response = self._redirect("adjudicate" if adjudicating else "")
        self._access.admit(response, visitor.name)  # the first verdict makes the pseudonym theirs
        return response

    async def _form(self, request: Request, visitor: Visitor) -> dict[str, str]:
        """Read the fields of a form sent by a page of this server; raise 403 for other forms."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/x-www-form-urlencoded":
            raise PageRefused(415, "send verdicts by the forms on the pages")
        sent = await body(request, self._limits)
        try:
            fields = parse_qs(sent.decode("utf-8"), max_num_fields=_FIELDS, keep_blank_values=True)
        except ValueError:
            raise PageRefused(400, "the form cannot be read") from None
        form = {name: values[-1] for name, values in fields.items()}
        self._access.check(request, visitor, form.get("token", ""))
        return form

    # --- parts ----------------------------------------------------------------------------

    def _named_visitor(self, request: Request) -> Visitor:
        visitor = self._access.visitor(request)
        if visitor.name is None:
            raise PageRefused(303, "choose a pseudonym first", {"Location": self._access.root})
        return visitor

    def _visitor_and_entry(self, request: Request) -> tuple[Visitor, Entry]:
        visitor = self._named_visitor(request)
        entry = self._queue.entry(request.path_params["name"])
        if entry is None:
            raise PageRefused(404, "this item is not in the queue of this server")
        return visitor, entry

    def _progress(self, reviewer: str) -> dict[str, Any]:
        decided = sum(
            self._queue.review_by(entry, reviewer) is not None for entry in self._queue.entries
        )
        return {
            "done": decided,
            "total": len(self._queue.entries),
            "disputes": len(self._queue.disputed(reviewer)),
            "reviewer": reviewer,
        }

    def _last(self, reviewer: str, entry: Entry) -> Entry | None:
        """Return the reviewer's last decided item other than this one."""
        decided = (
            candidate
            for candidate, _ in self._queue.decided(reviewer)
            if candidate.name != entry.name
        )
        return next(decided, None)

    def _verdict(self, entry: Entry, review: Review) -> dict[str, Any]:
        option = next((o for o in self._queue.rubric.options if o.iri == review.chosen), None)
        name = "?" if option is None else option.name
        if len(review.items) > 1 and review.items[0].dialogue != entry.dialogues[0].dialogue:
            name = {"first": "second", "second": "first"}.get(name, name)
        return {"entry": entry, "option": name, "why": review.reason, "decided": review.decided}

    def refusal(
        self, status: int, message: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Return a page for a refused request."""
        context = {"status": status, "message": message}
        response = self._page("review-refusal.html", context, status)
        response.headers.update(headers or {})
        return response

    def _page(self, template: str, context: Mapping[str, Any], status: int = 200) -> Response:
        root = self._access.root
        text = self._environment.get_template(template).render(
            root=root,
            asset=lambda name: f"{root}static/{name}",
            current=None,
            **{"reviewer": None, "done": 0, "total": 0, "disputes": 0, **context},
        )
        return HTMLResponse(text, status, _HEADERS)

    def _redirect(self, path: str) -> Response:
        return RedirectResponse(f"{self._access.root}{path}", 303, _HEADERS)
