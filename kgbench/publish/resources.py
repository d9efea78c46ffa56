# SPDX-License-Identifier: Apache-2.0
"""Documents about everything but dialogues: runs, models, tasks, passes, and kinds of things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from kgbench.pages import contents, things
from kgbench.pages.snapshot import View
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump
from kgbench.publish.pages import Renderer, data
from kgbench.store.iris import slug
from kgbench.vocab import KGB, SKOS


class Resources:
    """Writes documents about things in the published store.

    ``inner`` maps an analysis or invalidation to its graph, which is part of its document;
    ``dumps`` has the dump of each run (IRI).
    """

    def __init__(
        self, renderer: Renderer, inner: Mapping[str, str], dumps: Mapping[str, Dump]
    ) -> None:
        self._renderer = renderer
        self._view: View = renderer.view
        self._inner = inner
        self._dumps = dumps

    def write(self, folder: Folder, path: str) -> None:
        """Write page and data of the document at ``path``, and the queries behind its tables."""
        iris = self._renderer.documents[path]
        if any(KGB.TaskExecution in things.kinds(self._view, iri) for iri in iris):
            return  # it is written with its dialogues, also where statements name parts of them
        where = self._renderer.where
        if any(where.place(iri).fragment for iri in iris):
            template, context, quads = self._several(path, iris)
        else:
            template, context, quads = self._single(iris[0])
        page = f"{path}/index.html"
        folder.write(page, self._renderer.page(template, page, context))
        for suffix, content in data(quads).items():
            folder.write(f"{path}.{suffix}", content)
        for query, text in self._renderer.queries.items():
            folder.write(query, text)
        self._renderer.queries.clear()

    def _single(self, iri: str) -> tuple[str, dict[str, Any], list[ox.Quad]]:
        template, build = contents.template(things.kinds(self._view, iri))
        context = {} if build is None else build(self._view, iri, reveal=False)
        if "run_id" in context:
            context["scope"] = {"suite": context["facts"]["suite"], "run": context["run_id"]}
        if iri in self._dumps:
            context["dumps"] = [self._dumps[iri]]
        if "board" in context and template == "suite.html":
            name = things.text(self._view, iri, SKOS.notation) or iri
            context["board"] = f"leaderboard/{slug(name)}/" if context["models"] else None
        about = contents.statements(self._view, iri, reveal=False, title=context.get("title"))
        quads = list(things.describe(self._view, iri).quads)
        graph = self._inner.get(iri)
        if graph is not None:
            pattern = self._view.database.quads_for_pattern
            quads += pattern(None, None, None, ox.NamedNode(graph))
        return template, {**context, **about}, quads

    def _several(self, path: str, iris: Sequence[str]) -> tuple[str, dict[str, Any], list[ox.Quad]]:
        """Return a document about several things, each at its fragment."""
        pattern, where = self._view.database.quads_for_pattern, self._renderer.where
        quads = [quad for iri in iris for quad in pattern(ox.NamedNode(iri), None, None)]
        whole = next((iri for iri in iris if not where.place(iri).fragment), None)
        context = {
            "iri": whole,
            "title": path if whole is None else self._renderer.label(whole),
            "things": [
                (where.place(subject).fragment, subject, properties)
                for subject, properties in contents.grouped(quads)
            ],
        }
        return "kind.html", context, quads
