# SPDX-License-Identifier: Apache-2.0
"""Rendering of pages as responses, with links relative to the server's public address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kgbench.pages import things
from kgbench.pages.rendering import environment, local
from kgbench.pages.things import View
from kgbench.serve import formats
from kgbench.serve.service import Service

_TEMPLATES = Path(__file__).parent / "templates"
YASGUI = Path(__file__).parent / "static" / "yasgui" / "yasgui.min.js"
_SITE = {
    "navigation": [
        ("Leaderboard", "leaderboard"),
        ("Analyses", "analysis"),
        ("Dialogues", "dialogues"),
        ("Compare", "compare"),
        ("Search", "search"),
        ("Query", "editor"),
    ],
    "footer": [("SPARQL endpoint", "sparql"), ("VoID", ".well-known/void"), ("vocabulary", "ns")],
    "formats": [(name, formats.BY_NAME[name].media) for name in ("ttl", "jsonld", "nt", "rdf")],
    "more": "query the SPARQL endpoint for all.",
    "revealing": True,
    "live": True,
}


class PageRenderer:
    """Renders the pages of one server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._environment = environment(_TEMPLATES)
        self._environment.globals.update(site=_SITE)

    def page(
        self,
        request: Request,
        template: str,
        context: Mapping[str, Any],
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        view: View | None = None,
    ) -> Response:
        """Render a page; its links start at the root as the client reaches it."""
        view = view or self._service.view
        root = urlsplit(self._service.root(request)).path

        def href(iri: str) -> str | None:
            return local(iri, view.iris.base, root)

        def label(iri: str) -> str:
            return things.label(view, iri)

        def ask(name: str, parameters: Mapping[str, str]) -> str:
            return f"{root}editor?{urlencode({'name': name, **parameters})}"

        def answers(model: str | None, task: str | None) -> str:
            parameters = {**context.get("scope", {}), "model": model, "task": task}
            return f"{root}dialogues?{urlencode({k: v for k, v in parameters.items() if v})}"

        def document(iri: str, suffix: str) -> str:
            return f"{(href(iri) or '').rstrip('#')}.{suffix}"

        text = self._environment.get_template(template).render(
            root=root,
            href=href,
            label=label,
            ask=ask,
            document=document,
            asset=lambda name: f"{root}static/{name}",
            answers=answers,
            current=request.url.path.removeprefix("/"),
            base=view.iris.base,
            **context,
        )
        return HTMLResponse(text, status, {"Vary": "Accept", **(headers or {})})

    def compile(self) -> None:
        """Compile all templates in advance."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)
