# SPDX-License-Identifier: Apache-2.0
"""Pages of analyses, each computed once per snapshot by workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
from collections.abc import Callable, Mapping
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from kgbench.analysis.index import ANALYSES, INDEX
from kgbench.analysis.registry import Analysis, OptionRefused, Parameter
from kgbench.errors import QueryError
from kgbench.pages.things import View
from kgbench.scores.catalogue import displayed
from kgbench.scores.selection import ALL, FIRST
from kgbench.serve.admission import Refused
from kgbench.serve.pool import Pool
from kgbench.serve.rendering import PageRenderer
from kgbench.serve.service import Service
from kgbench.tables import Table
from kgbench.tables.rendering import as_csv, as_json
from kgbench.tables.xlsx import as_xlsx

_KEPT = 200
_PREPARED = 20  # results at most that are computed before a new snapshot is served
_LONGEST = 2_000  # characters of a value
_SELECTORS = {"pass": FIRST, "run": None, "task": ALL, "model": ALL}
_OTHERS = {"suite", "format"}


class AnalysisCache:
    """Computes analyses; concurrent requests for the same analysis share one computation."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._results: dict[str, dict[str, Any]] = {}  # by snapshot, the newest last
        self._requested: dict[str, tuple[str, dict[str, Any]]] = {}  # since the last preparation
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def get(self, view: View, analysis: str, **arguments: Any) -> Any:
        """Return the result of one of :data:`kgbench.serve.analyses.ANALYSES` on ``view``.

        Raises :class:`~kgbench.serve.admission.Refused`: 404 if the store lacks the data, 503 if a
        limit is reached.
        """
        key = json.dumps([analysis, arguments], sort_keys=True)
        self._requested.pop(key, None)
        self._requested[key] = (analysis, arguments)
        if len(self._requested) > _PREPARED:
            del self._requested[next(iter(self._requested))]
        return await self._get(view, key, analysis, arguments)

    async def prepare(self, view: View) -> None:
        """Compute the analyses requested since the last snapshot on a new one, the latest first."""
        requested = list(reversed(self._requested.items()))
        self._requested.clear()
        for key, (analysis, arguments) in requested:
            with contextlib.suppress(Refused):  # the next request for it gets the error
                await self._get(view, key, analysis, arguments)

    async def _get(self, view: View, key: str, analysis: str, arguments: dict[str, Any]) -> Any:
        cache = self._cache(view)
        if key in cache:
            return cache[key]
        full_key = (view.name, key)
        task = self._running.get(full_key)
        if task is None:
            job = {"snapshot": view.path, "base": view.iris.base}
            work = self._run(view, key, {**job, "analysis": analysis, "arguments": arguments})
            task = self._running[full_key] = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._done(full_key, done))
        # A client that disconnects must not cancel the computation for others that wait for it.
        try:
            return await asyncio.shield(task)
        finally:
            del task  # its error would refer to itself, and so keep the snapshot

    async def _run(self, view: View, key: str, job: dict[str, Any]) -> Any:
        answer = await self._pool.run(job, view)
        data = await answer.whole()
        # In a thread, because unpickling the dialogues of a whole suite would block the event loop.
        result = await asyncio.to_thread(pickle.loads, data)
        cache = self._results.get(view.name)
        if cache is not None:  # the snapshot is still in use
            if len(cache) >= _KEPT:
                cache.clear()
            cache[key] = result
        return result

    def _cache(self, view: View) -> dict[str, Any]:
        """Return the cache of a snapshot; only the served and the prepared one have a cache."""
        if view.name not in self._results:
            while len(self._results) > 1:
                del self._results[next(iter(self._results))]
            self._results[view.name] = {}
        return self._results[view.name]

    def _done(self, full_key: tuple[str, str], task: asyncio.Task[Any]) -> None:
        del self._running[full_key]
        if not task.cancelled():
            # Retrieves the exception, so that asyncio does not log it as never retrieved; those who
            # wait get it from the task.
            task.exception()


class _File(NamedTuple):
    """A kind of file that a table can be downloaded as; ``shown`` has display names of models."""

    media: str
    make: Callable[[Table], str | bytes]
    shown: bool = False


_FILES: Mapping[str, _File] = {
    "csv": _File("text/csv; charset=utf-8", as_csv),
    "json": _File("application/json", as_json),
    "xlsx": _File(
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", as_xlsx, shown=True
    ),
}


class Field(NamedTuple):
    """A field of the form: a parameter of the analysis, and the given text."""

    name: str
    help: str
    kind: str
    choices: list[str]
    default: str
    given: str


class AnalysisPages:
    """Answers requests for the list of analyses, and for the page and the files of each."""

    def __init__(self, service: Service, rendering: PageRenderer, computing: AnalysisCache) -> None:
        self._service, self._rendering, self._computing = service, rendering, computing

    async def listed(self, request: Request) -> Response:
        """Return the list of analyses, by purpose."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, entry in INDEX.items():
            groups.setdefault(entry.group, []).append((name, entry.summary))
        return self._rendering.page(request, "analyses.html", {"groups": groups})

    def has(self, path: str) -> bool:
        """Return whether ``path`` below ``analysis/`` is an analysis, or a file of its table."""
        name, dot, suffix = path.partition(".")
        return name in INDEX and (not dot or suffix in _FILES)

    async def table(
        self,
        request: Request,
        path: str,
        suite: str | None,
        suites: list[tuple[str, str, str]],
    ) -> Response:
        """Return the page of an analysis of ``suite``, or a file of its table."""
        view = self._service.view
        name, _, suffix = path.partition(".")
        analysis = ANALYSES[name]
        given = {key: text[:_LONGEST] for key, text in request.query_params.items() if text}
        selectors = {key: given.get(key, default) for key, default in _SELECTORS.items()}
        context: dict[str, Any] = {
            "name": name,
            "described": analysis.description,
            "group": [each for each, entry in INDEX.items() if entry.group == analysis.group],
            "suite": suite,
            "suites": suites,
            "chosen": {key: given.get(key, "") for key in _SELECTORS},
            "fields": [_field(each, given) for each in _offered(analysis)],
            "query": request.url.query,
            "table": None,
            "problem": None,
            **await self._computing.get(view, "choices", suite=suite),
        }
        try:
            arguments = _arguments(analysis, given)
            table, names = await self._computing.get(
                view,
                "table",
                name=name,
                arguments=arguments,
                suite=suite,
                pass_=selectors["pass"],
                run=selectors["run"],
                tasks=selectors["task"],
                models=selectors["model"],
            )
        except (Refused, QueryError) as problem:
            if suffix or getattr(problem, "status", 0) == HTTPStatus.SERVICE_UNAVAILABLE:
                raise _refusal(problem) from None
            context["problem"] = getattr(problem, "message", str(problem))
            status = _refusal(problem).status
            if status == HTTPStatus.NOT_FOUND:  # of data; the page with its form exists
                status = HTTPStatus.OK
            return self._rendering.page(request, "table.html", context, status=status, view=view)
        if suffix:
            file = _FILES[suffix]
            made = await asyncio.to_thread(
                file.make, displayed(table, names) if file.shown else table
            )
            return Response(made, media_type=file.media)
        context["table"] = displayed(table, names)
        return await asyncio.to_thread(
            self._rendering.page, request, "table.html", context, view=view
        )


def _refusal(problem: Refused | QueryError) -> Refused:
    return problem if isinstance(problem, Refused) else Refused(400, str(problem))


def _offered(analysis: Analysis[...]) -> list[Parameter]:
    """Return the parameters that a page offers: files of the server cannot be named."""
    return [each for each in analysis.parameters() if each.kind is not Path]


def _arguments(analysis: Analysis[...], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that a request names; raises :class:`OptionRefused` for others."""
    offered = {each.name: each for each in _offered(analysis)}
    unknown = given.keys() - offered.keys() - _SELECTORS.keys() - _OTHERS
    if unknown:
        raise OptionRefused(min(unknown), f"'{analysis.name}' has no such option on the web")
    read = {key: offered[key].read(text) for key, text in given.items() if key in offered}
    analysis.arguments(**read)  # checks them
    return read


def _field(parameter: Parameter, given: Mapping[str, str]) -> Field:
    default = parameter.default
    choices = [str(each) for each in parameter.kind] if issubclass(parameter.kind, Enum) else []
    return Field(
        parameter.name,
        parameter.option.help,
        "checkbox" if parameter.kind is bool else "select" if choices else "text",
        choices,
        "" if default is None else str(default),
        given.get(parameter.name, ""),
    )
