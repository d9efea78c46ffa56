# SPDX-License-Identifier: Apache-2.0
"""Pages of a site, and the documents about everything but dialogues.

Links are relative, and lead only to what exists.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.pages import contents, neighbours, rendering, things
from kgbench.pages.contents import filled_query
from kgbench.pages.things import View
from kgbench.publish.documents import Documents, Place, root_of, url
from kgbench.publish.folder import Dump, Folder
from kgbench.scores import catalogue
from kgbench.store import fragments
from kgbench.store.iris import slug
from kgbench.vocab import BASE, DCTERMS, KGB, RDF, SKOS

_TEMPLATES = Path(__file__).parent / "templates"
FORMATS = (("ttl", "text/turtle"), ("jsonld", "application/ld+json"))
_SITE = {
    "navigation": [("Leaderboard", "leaderboard/"), ("Downloads", "#downloads")],
    "footer": [("catalogue", "catalog.ttl"), ("VoID", "void.ttl"), ("vocabulary", "ns/")],
    "more": "the dumps contain all.",
    "revealing": False,
    "live": False,
}
_PARTS = {KGB.Dialogue, KGB.Evaluation, KGB.ModelCall, KGB.Prompt, KGB.Answer}
_MOST_LINKS = 50_000  # cached links to dialogues
PAGE = 50  # most dialogues on one page


class Renderer:
    """Renders the pages of one publication from its published store.

    ``documents`` has the IRIs that each document describes. ``queries`` collects the texts of
    queries that pages link, by path.
    """

    def __init__(
        self,
        view: View,
        where: Documents,
        documents: Mapping[str, Sequence[str]],
        canaries: tuple[str, ...],
    ) -> None:
        self.view = view
        self.where = where
        self.documents = documents
        self.queries: dict[str, str] = {}
        self._places = {iri: where.place(iri) for iris in documents.values() for iri in iris}
        self._dialogues: dict[str, str | None] = {}
        self._long: dict[str, bool] = {}
        self._asked: dict[tuple[str, ...], str] = {}
        self._environment = rendering.environment(_TEMPLATES)
        self._environment.globals.update(canaries=canaries)

    def page(
        self,
        template: str,
        path: str,
        context: Mapping[str, Any],
        *,
        parts: Mapping[str, str] | None = None,
        formats: Sequence[tuple[str, str]] = FORMATS,
    ) -> str:
        """Render the page at ``path`` from a template.

        ``parts`` maps IRIs of things on this page to their fragments, and ``formats`` are the
        suffixes of its data files with their media types.
        """
        root = root_of(path)
        anchors = parts or {}

        def href(iri: str) -> str | None:
            return f"#{anchors[iri]}" if iri in anchors else self._link(iri, root)

        def document(iri: str, suffix: str) -> str:
            return url(self.where.place(iri).path, root, f".{suffix}")

        def ask(name: str, parameters: Mapping[str, str]) -> str:
            return root + self.query_path(name, parameters)

        def answers(model: str | None, task: str | None) -> str | None:
            execution = self._execution(context.get("scope", {}), model, task)
            return None if execution is None else self._link(execution, root)

        return self._environment.get_template(template).render(
            root=root,
            href=href,
            label=self.label,
            ask=ask,
            answers=answers,
            document=document,
            asset=lambda name: f"{root}static/{name}",
            base=self.where.base,
            current=path.removesuffix("index.html"),
            site={**_SITE, "formats": formats},
            **context,
        )

    def link(self, iri: str, path: str) -> str | None:
        """Return a link to ``iri`` from the page at ``path``; ``None`` if there is no target."""
        return self._link(iri, root_of(path))

    def place(self, iri: str) -> Place:
        """Return the place of a described thing."""
        return self._places[iri]

    def label(self, iri: str) -> str:
        """Return the display name of ``iri``."""
        return things.label(self.view, iri).removeprefix(BASE)

    def query_path(self, name: str, parameters: Mapping[str, str]) -> str:
        """Return the path of the text of a declared query with ``parameters``."""
        if not parameters:
            return f"queries/{name}.rq"
        key = (name, *(word for pair in sorted(parameters.items()) for word in pair))
        if key not in self._asked:
            text = filled_query(self.view, {**parameters, "name": name})
            text = f"# {name}, with the parameters of this data set: run it on data/all.nq.\n{text}"
            digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:10]
            self._asked[key] = f"queries/{name}-{digest}.rq"
            self.queries[self._asked[key]] = text
        return self._asked[key]

    def _execution(
        self, scope: Mapping[str, str | None], model: str | None, task: str | None
    ) -> str | None:
        """Return the execution of a model and a task (names), unless several runs have one.

        ``scope`` restricts it to a run (its id) or a suite (its IRI).
        """
        found = [
            execution
            for execution, run, suite in self._executions.get((model, task), ())
            if scope.get("run") in (None, run.rpartition("/")[2])
            and scope.get("suite") in (None, suite)
        ]
        return found[0] if len(found) == 1 else None

    @cached_property
    def _executions(self) -> Mapping[tuple[Any, Any], list[tuple[str, str, str]]]:
        """The executions with their runs and suites, by the names of models and tasks."""
        view = self.view
        found: dict[tuple[Any, Any], list[tuple[str, str, str]]] = defaultdict(list)
        models, tasks = catalogue.models(view), catalogue.tasks(view)
        for execution in things.instances(view, KGB.TaskExecution, 1_000_000):
            model, task = (things.text(view, execution, p) for p in (KGB.model, KGB.task))
            run = things.text(view, execution, DCTERMS.isPartOf) or ""
            if model and model in models and task and task in tasks and run:
                suite = things.text(view, run, KGB.suite) or ""
                names = models.name(model), tasks[task].name
                found[names].append((execution, run, suite))
        return found

    def _link(self, iri: str, root: str) -> str | None:
        place = self._places.get(iri)
        if place is None and fragments.dialogue(iri) is not None:
            if iri not in self._dialogues:
                if len(self._dialogues) >= _MOST_LINKS:
                    self._dialogues.clear()
                self._dialogues[iri] = self._inside_dialogue(iri)
            fragment = self._dialogues[iri]
            if fragment is not None:
                place = Place(self.where.place(iri).path, fragment)
        if place is not None:
            return url(place.path, root, fragment=place.fragment)
        is_own = iri.startswith((self.where.base, self.where.store, BASE))
        return iri if not is_own and iri.startswith(("http://", "https://")) else None

    def _inside_dialogue(self, iri: str) -> str | None:
        """Return the fragment of a dialogue, or of its part, in its document."""
        dialogue = fragments.dialogue(iri)
        assert dialogue is not None
        try:
            node = ox.NamedNode(iri)
        except ValueError:
            return None
        if _PARTS.isdisjoint(self._objects(node, RDF.type)):
            return None
        # The document of a long execution lists its dialogues; their parts are on further pages.
        target = dialogue if self._is_long(ox.NamedNode(dialogue)) else iri
        return target.partition("#")[2]

    def _is_long(self, dialogue: ox.NamedNode) -> bool:
        for execution in self._objects(dialogue, DCTERMS.isPartOf):
            if execution not in self._long:
                parts = neighbours.parts_of(self.view.database, ox.NamedNode(execution))
                self._long[execution] = next(islice(parts, PAGE, None), None) is not None
            return self._long[execution]
        return False

    def _objects(self, node: ox.NamedNode, predicate: str) -> list[str]:
        quads = self.view.database.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return [str(getattr(quad.object, "value", "")) for quad in quads]


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


def data(quads: Sequence[ox.Quad]) -> dict[str, bytes]:
    """Return the data of one document by suffix."""
    return {suffix: rendering.serialised(quads, suffix) for suffix, _ in FORMATS}
