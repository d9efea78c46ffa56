# SPDX-License-Identifier: Apache-2.0
"""The pages: overview, leaderboard, comparison, search, and one for each thing by its kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kgbench.analysis import queries
from kgbench.pages import contents, things
from kgbench.pages.snapshot import View
from kgbench.serve.computing import Computing
from kgbench.serve.editor import Editor
from kgbench.serve.endpoint import Endpoint
from kgbench.serve.refusals import Refused
from kgbench.serve.rendering import Rendering
from kgbench.serve.service import Service

_LONGEST_SEARCH = 200
_LONGEST_NAME = 2_000  # characters
_KEEP = "`kgbench analyze leaderboard --significance` computes it once and keeps it in the store"


class Pages:
    """Answers requests for pages."""

    def __init__(self, service: Service, rendering: Rendering, endpoint: Endpoint) -> None:
        self._service = service
        self._rendering = rendering
        self._computing = Computing(service.analysts)
        self._editor = Editor(service, rendering, endpoint, self._computing)

    async def overview(self, request: Request) -> Response:
        """Runs, models, tasks and how much of each there is."""
        view = self._service.view
        found = await self._computing.get(view, "overview")
        return self._rendering.page(request, "overview.html", found, view=view)

    async def leaderboard(self, request: Request) -> Response:
        """The leaderboard of one suite, with what can be said of differences to the best."""
        view = self._service.view
        try:
            suite, suites = await self._suite(view, request)
            found = await self._computing.get(view, "leaderboard", suite=suite)
        except Refused as refused:
            if refused.status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            told = f"{refused.message}; {_KEEP}"
            raise Refused(refused.status, told, refused.headers) from None
        context = {"sheet": found, "suite": suite, "suites": suites}
        return self._rendering.page(request, "leaderboard.html", context, view=view)

    async def compare(self, request: Request) -> Response:
        """Two models, runs or passes, task by task."""
        view = self._service.view
        suite, suites = await self._suite(view, request)
        a, b = (request.query_params.get(name, "")[:_LONGEST_NAME] for name in ("a", "b"))
        context: dict[str, Any] = {
            "suite": suite,
            "suites": suites,
            "a": a,
            "b": b,
            "models": await self._computing.get(view, "models"),
            "sheets": [],
            "problem": None,
        }
        status = 200
        if a and b:
            try:
                found = await self._computing.get(view, "comparison", suite=suite, a=a, b=b)
                context["sheets"] = found
            except Refused as refused:  # the form stays, for another choice
                context["problem"], status = refused.message, refused.status
        return self._rendering.page(request, "compare.html", context, status=status, view=view)

    async def search(self, request: Request) -> Response:
        """Answers that contain a text."""
        view = self._service.view
        wanted = request.query_params.get("q", "").strip()[:_LONGEST_SEARCH]
        found: list[Mapping[str, Any]] = []
        if wanted:
            text = queries.bind(queries.load("search-answers"), text=wanted)
            answer = await self._service.pool.run(self._service.job(view, "json", query=text))
            found = json.loads(await answer.whole())["results"]["bindings"]
        hits = [_hit(row, wanted) for row in found]
        return self._rendering.page(
            request, "search.html", {"wanted": wanted, "hits": hits}, view=view
        )

    async def editor(self, request: Request) -> Response:
        """The query editor."""
        return await self._editor(request)

    async def thing(
        self, request: Request, view: View, iri: str, headers: Mapping[str, str]
    ) -> Response:
        """The page of the thing called ``iri``, by its kind."""
        reveal = request.query_params.get("reveal") == "1"
        template, build = contents.template(things.kinds(view, iri))
        context: dict[str, Any] = {}
        if build is not None:
            context = await self._computing.get(view, "thing", iri=iri, reveal=reveal)
        title = context.get("title")
        said = partial(contents.statements, view, iri, reveal=reveal, title=title)
        context = {**context, **await asyncio.to_thread(said)}
        render = partial(self._rendering.page, view=view, headers=headers)
        return await asyncio.to_thread(render, request, template, context)

    async def _suite(
        self, view: View, request: Request
    ) -> tuple[str | None, list[tuple[str, str]]]:
        """The suite that a request names, else the first of the store, and all there are."""
        suites = await self._computing.get(view, "suites")
        wanted = request.query_params.get("suite")
        if wanted is not None and wanted not in {part for suite in suites for part in suite}:
            raise Refused(404, "there is no such suite here")
        return wanted or (suites[0][0] if suites else None), suites


def _hit(row: Mapping[str, Any], wanted: str) -> dict[str, str]:
    text = row["answerText"]["value"]
    place = max(text.lower().find(wanted.lower()), 0)
    begin, end = max(place - 80, 0), place + len(wanted)
    return {
        "dialogue": row["dialogue"]["value"],
        "model": row["model"]["value"],
        "task": row["task"]["value"],
        "round": row["round"]["value"],
        "before": ("... " if begin else "") + text[begin:place],
        "match": text[place:end],
        "after": text[end : end + 120],
    }
