# SPDX-License-Identifier: Apache-2.0
"""The query editor: a form that works without JavaScript, with declared queries as examples."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kgbench.execution.query_terms import unknown_terms
from kgbench.pages.snapshot import View
from kgbench.rdf import queries
from kgbench.rdf.query_errors import KNOWN
from kgbench.serve import formats
from kgbench.serve.analysis_cache import AnalysisCache
from kgbench.serve.authorisation import WITH_YASGUI
from kgbench.serve.endpoint import Endpoint
from kgbench.serve.refusals import Refused
from kgbench.serve.rendering import YASGUI, PageRenderer
from kgbench.serve.request_parsing import Operation
from kgbench.serve.service import Service

_SHOWN_ROWS = 200
_SHOWN_BYTES = 200_000
_LONGEST = 100_000
_LONGEST_VALUE = 2_000
_FIRST = """# Common prefixes, such as kgb:, need no declaration.
SELECT ?graph (COUNT(?dialogue) AS ?dialogues)
WHERE { GRAPH ?graph { ?dialogue a kgb:Dialogue } }
GROUP BY ?graph
"""


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
        text = parameters.get("query", "")[:_LONGEST]
        if not text and "name" in parameters:
            parameters = {
                name[:_LONGEST_VALUE]: value[:_LONGEST_VALUE] for name, value in parameters.items()
            }
            text = await self._computing.get(view, "example", parameters=parameters)
        context: dict[str, Any] = {
            "query": text or _FIRST,
            "topics": queries.by_topic(),
            "yasgui": YASGUI.is_file() and parameters.get("plain") != "1",
            "prefixes": json.dumps(dict(KNOWN)),
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
