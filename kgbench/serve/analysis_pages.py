# SPDX-License-Identifier: Apache-2.0
"""A page for each analysis: its options as a form, its table, and files of the table."""

from __future__ import annotations

import asyncio
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
from kgbench.scores.catalogue import displayed
from kgbench.scores.selection import ALL, FIRST
from kgbench.serve.analysis_cache import AnalysisCache
from kgbench.serve.refusals import Refused
from kgbench.serve.rendering import PageRenderer
from kgbench.serve.service import Service
from kgbench.tables import Table
from kgbench.tables.rendering import as_csv, as_json
from kgbench.tables.xlsx import as_xlsx

_LONGEST = 2_000  # characters of a value
_SELECTORS = {"pass": FIRST, "run": None, "task": ALL, "model": ALL}
_OTHERS = {"suite", "format"}


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
