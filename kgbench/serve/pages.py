# SPDX-License-Identifier: Apache-2.0
"""Pages: overview, leaderboard, comparison, dialogues, search, query editor, one per resource.

The editor is a form that works without JavaScript, with declared queries as examples.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kgbench.execution.query_terms import unknown_terms
from kgbench.pages import contents, things
from kgbench.pages.things import View
from kgbench.rdf import queries
from kgbench.rdf.query_text import KNOWN_PREFIXES
from kgbench.scores.selection import ALL
from kgbench.serve import formats
from kgbench.serve.admission import Refused
from kgbench.serve.analysis_pages import AnalysisCache, AnalysisPages
from kgbench.serve.dialogue_lists import OUTCOMES, DialogueSearch, listed_dialogues
from kgbench.serve.endpoint import Endpoint
from kgbench.serve.rendering import YASGUI, PageRenderer
from kgbench.serve.requests import Operation
from kgbench.serve.service import Service
from kgbench.serve.settings import WITH_YASGUI

_SHOWN_ROWS = 200
_SHOWN_BYTES = 200_000
_LONGEST_QUERY = 100_000
_LONGEST_VALUE = 2_000
_FIRST = """# Common prefixes, such as kgb:, need no declaration.
SELECT ?graph (COUNT(?dialogue) AS ?dialogues)
WHERE { GRAPH ?graph { ?dialogue a kgb:Dialogue } }
GROUP BY ?graph
"""
_SIDES = ("a", "b", "c", "d")  # parameters of the compared models, runs or passes
_LONGEST_SEARCH = 200
_LONGEST_NAME = 2_000  # characters
_MOST_SHOWN = 10  # models and runs on the front page
_PATIENCE = 5.0  # seconds that the overview waits for its leaderboard
_DEFAULTS = {"score_set": "main", "pass_": "first"}  # of a leaderboard
_KEEP = "`kgbench analyze leaderboard --significance --keep` stores the leaderboard"


class Editor:
    """Answers requests for the query editor."""

    def __init__(
        self,
        service: Service,
        rendering: PageRenderer,
        endpoint: Endpoint,
        computing: AnalysisCache,
    ) -> None:
        self._service = service
        self._computing = computing
        self._rendering = rendering
        self._endpoint = endpoint

    async def __call__(self, request: Request) -> Response:
        """Return the editor with a query, its answer if it was run, and the examples."""
        view = self._service.view
        parameters = dict(request.query_params)
        text = parameters.get("query", "")[:_LONGEST_QUERY]
        if not text and "name" in parameters:
            parameters = {
                name[:_LONGEST_VALUE]: value[:_LONGEST_VALUE] for name, value in parameters.items()
            }
            text = await self._computing.get(view, "example", parameters=parameters)
        context: dict[str, Any] = {
            "query": text or _FIRST,
            "topics": queries.by_topic(),
            "yasgui": YASGUI.is_file() and parameters.get("plain") != "1",
            "prefixes": json.dumps(dict(KNOWN_PREFIXES)),
            "ran": False,
            "problem": None,
            "heads": [],
            "rows": [],
            "more": False,
            "answer": None,
            "note": None,
        }
        if parameters.get("run") == "1" and text:
            context["ran"] = True
            try:
                context.update(await self._answer(view, text))
            except Refused as refused:
                context["problem"] = refused.message
        headers = WITH_YASGUI if context["yasgui"] else None
        return self._rendering.page(request, "editor.html", context, headers=headers, view=view)

    async def _answer(self, view: View, text: str) -> dict[str, Any]:
        admitted = await self._service.readers.admit(text)
        solutions = admitted.form in ("SELECT", "ASK")
        form = formats.BY_NAME["json" if solutions else "ttl"]
        answer = await self._endpoint.answer(view, Operation("query", text), admitted, form)
        data, complete = await answer.beginning(20 * _SHOWN_BYTES)
        if not complete:
            return {"problem": "the answer is too large to show: download it"}
        if not solutions:
            shown = data[:_SHOWN_BYTES].decode("utf-8", "replace")
            return {"answer": shown, "more": len(data) > _SHOWN_BYTES}
        result = json.loads(data)
        is_empty = not (result.get("boolean") or result.get("results", {}).get("bindings"))
        note = {"note": unknown_terms(text) if is_empty else None}
        if "boolean" in result:
            return {"answer": "yes" if result["boolean"] else "no", **note}
        heads, rows = result["head"]["vars"], result["results"]["bindings"]
        return {
            "heads": heads,
            "rows": [[row.get(name) for name in heads] for row in rows[:_SHOWN_ROWS]],
            "more": len(rows) > _SHOWN_ROWS,
            "total": len(rows),
            **note,
        }


class Pages:
    """Answers requests for pages."""

    def __init__(self, service: Service, rendering: PageRenderer, endpoint: Endpoint) -> None:
        self._service = service
        self._rendering = rendering
        self._computing = AnalysisCache(service.analysts)
        self.analyses = AnalysisPages(service, rendering, self._computing)
        self.editor = Editor(service, rendering, endpoint, self._computing)
        service.preparations.append(self._computing.prepare)
        if service.settings.ahead:
            service.first_work.append(self._compute_ahead)

    async def overview(self, request: Request) -> Response:
        """Return the overview: leaderboard and newest runs of a suite, and counts of everything."""
        view = self._service.view
        context = dict(await self._computing.get(view, "overview"))
        suite = _suite_iri(context["suites"], request, _newest_suite(context))
        board: dict[str, Any] = {"board": None, "heat": None, "waiting": False}
        if suite is not None:
            task = asyncio.ensure_future(
                self._computing.get(view, "leaderboard", suite=suite, **_DEFAULTS)
            )
            done, _ = await asyncio.wait([task], timeout=_PATIENCE)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            board["waiting"] = not done
            with contextlib.suppress(Refused):  # nothing is judged yet, or a time limit was reached
                board |= task.result() if done else {}
        context |= {"suite": suite, "most": _MOST_SHOWN, "scope": {"suite": suite}, **board}
        return await self._page(request, view, "overview.html", context)

    async def _compute_ahead(self) -> None:
        """Compute overview and leaderboard before the first visitor asks for them."""
        view = self._service.view
        with contextlib.suppress(Refused):  # whoever asks for them gets the refusal
            suite = _newest_suite(await self._computing.get(view, "overview"))
            if suite is not None:
                await self._computing.get(view, "leaderboard", suite=suite, **_DEFAULTS)

    async def leaderboard(self, request: Request) -> Response:
        """Return the leaderboard of a suite by a score set and a pass, and the scores by task."""
        view = self._service.view
        try:
            return await self._leaderboard(view, request)
        except Refused as refused:
            if refused.status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            message = f"{refused.message}; {_KEEP}"
            raise Refused(refused.status, message, refused.headers) from None

    async def _leaderboard(self, view: View, request: Request) -> Response:
        suite, suites = await self._suite(view, request)
        chosen = {
            name: request.query_params.get(field, _DEFAULTS[name])[:_LONGEST_NAME]
            for name, field in (("score_set", "set"), ("pass_", "pass"))
        }
        context: dict[str, Any] = {
            "suite": suite,
            "suites": suites,
            "set": chosen["score_set"],
            "pass_": chosen["pass_"],
            "scope": {"suite": suite, "pass": chosen["pass_"]},
            "board": None,
            "heat": None,
            "described": "",
        }
        board = partial(self._computing.get, view, "leaderboard", suite=suite, **chosen)
        return await self._form(request, view, "leaderboard.html", context, board)

    async def compare(self, request: Request) -> Response:
        """Return the comparison of models, runs or passes: differing cases, then tasks."""
        view = self._service.view
        wanted = [request.query_params.get(name, "")[:_LONGEST_NAME] for name in _SIDES]
        compared = list(dict.fromkeys(filter(None, wanted)))
        suite, suites = await self._suite(view, request, compared)
        context = {
            "suite": suite,
            "suites": suites,
            "wanted": list(zip(_SIDES, wanted, strict=True)),
        }
        found = None
        if wanted[0] and wanted[1]:
            names = compared or wanted[:2]
            get = partial(self._computing.get, view, "comparison", suite=suite, names=names)
            found = partial(_found, get)
        return await self._form(request, view, "compare.html", context, found)

    async def dialogues(self, request: Request) -> Response:
        """Return a page of dialogues by model, task, outcome, score and text."""
        view = self._service.view
        search = DialogueSearch.read(request.query_params)
        suite, suites = await self._suite(view, request, [search.model])
        context = {"suite": suite, "suites": suites, "asked": search, "outcomes": OUTCOMES}
        found = partial(_found, partial(self._dialogues, view, suite, search))
        return await self._form(request, view, "dialogues.html", context, found)

    async def _form(
        self,
        request: Request,
        view: View,
        template: str,
        context: dict[str, Any],
        found: Callable[[], Awaitable[Mapping[str, Any]]] | None,
    ) -> Response:
        """Return a page with a form and what it asks for, or with the form and the problem."""
        choices = await self._computing.get(view, "choices", suite=context["suite"])
        context = {**context, **choices, "found": None, "problem": None}
        status = 200
        try:
            context |= {} if found is None else await found()
        except Refused as refused:
            if refused.status == HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            context["problem"], status = refused.message, refused.status
        return await self._page(request, view, template, context, status)

    async def _dialogues(self, view: View, suite: str | None, search: DialogueSearch) -> Any:
        """Return a page of dialogues; all dialogues of a suite are cached per snapshot."""
        if search.problem is not None:
            raise Refused(400, search.problem)
        fields = asdict(search)
        if search.of_all:
            chosen = {"suite": suite, "pass_": search.pass_}
            judged = await self._computing.get(view, "judged", **chosen)
            if judged is not None:
                among = None
                if search.search is not None:
                    among = await self._computing.get(view, "text", text=search.search, **chosen)
                listed = partial(listed_dialogues, judged=judged, among=among)
                return await asyncio.to_thread(listed, view, suite, fields)
        return await self._computing.get(view, "dialogues", suite=suite, wanted=fields)

    async def search(self, request: Request) -> Response:
        """Return the answers that contain a text."""
        view = self._service.view
        wanted = request.query_params.get("q", "").strip()[:_LONGEST_SEARCH]
        rows: list[Mapping[str, Any]] = []
        if wanted:
            text = queries.bind(queries.load("search-answers"), text=wanted)
            answer = await self._service.pool.run(self._service.job(view, "json", query=text), view)
            rows = json.loads(await answer.whole())["results"]["bindings"]
        hits = [_hit(row, wanted) for row in rows]
        return self._rendering.page(
            request, "search.html", {"wanted": wanted, "hits": hits}, view=view
        )

    async def analysis(self, request: Request) -> Response | None:
        """Return the page of an analysis, or a file of its table; ``None`` for another address."""
        path = request.path_params["path"]
        if not self.analyses.has(path):
            return None
        model = request.query_params.get("model", "")[:_LONGEST_NAME]
        suite, suites = await self._suite(self._service.view, request, [model])
        return await self.analyses.table(request, path, suite, suites)

    async def thing(
        self, request: Request, view: View, iri: str, headers: Mapping[str, str]
    ) -> Response:
        """Return the page of the resource ``iri``, by its kind."""
        reveal = request.query_params.get("reveal") == "1"
        template, build = contents.template(things.kinds(view, iri))
        context: dict[str, Any] = {}
        if build is not None:
            context = await self._computing.get(view, "thing", iri=iri, reveal=reveal)
        if "run_id" in context:
            scope = {"suite": context["facts"]["suite"], "run": context["run_id"]}
            context = {**context, "scope": scope}
        title = context.get("title")
        statements = partial(contents.statements, view, iri, reveal=reveal, title=title)
        context = {**context, **await asyncio.to_thread(statements)}
        return await self._page(request, view, template, context, headers=headers)

    async def _page(
        self,
        request: Request,
        view: View,
        template: str,
        context: Mapping[str, Any],
        status: int = 200,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Render a page in a thread."""
        page = partial(self._rendering.page, status=status, headers=headers, view=view)
        return await asyncio.to_thread(page, request, template, context)

    async def _suite(
        self, view: View, request: Request, models: Sequence[str] = ()
    ) -> tuple[str | None, list[tuple[str, str, str]]]:
        """Return the suite (IRI) that a request names, or the default, and all suites.

        ``models`` are the names or globs of models in the request; empty ones are ignored.
        """
        suites = await self._computing.get(view, "suites")
        default = None
        if "suite" not in request.query_params:
            globs = [glob for glob in models if glob not in ("", ALL)]
            default = await self._computing.get(view, "default_suite", models=globs or ALL)
        return _suite_iri(suites, request, default), suites


async def _found(work: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
    return {"found": await work()}


def _newest_suite(overview: Mapping[str, Any]) -> str | None:
    """Return the suite (IRI) of the newest run."""
    return next((run["suite"] for run in overview["runs"]), None)


def _suite_iri(
    suites: list[tuple[str, str, str]], request: Request, default: str | None
) -> str | None:
    """Return the IRI of the suite that a request names by IRI or name, or ``default``."""
    wanted = request.query_params.get("suite")
    if wanted is None:
        return default
    for iri, name, _ in suites:
        if wanted in (iri, name):
            return iri
    raise Refused(404, "there is no such suite here")


def _hit(row: Mapping[str, Any], wanted: str) -> dict[str, str]:
    text = row["answerText"]["value"]
    position = max(text.lower().find(wanted.lower()), 0)
    begin, end = max(position - 80, 0), position + len(wanted)
    return {
        "dialogue": row["dialogue"]["value"],
        "model": row["model"]["value"],
        "task": row["task"]["value"],
        "round": row["round"]["value"],
        "before": ("... " if begin else "") + text[begin:position],
        "match": text[position:end],
        "after": text[end : end + 120],
    }
