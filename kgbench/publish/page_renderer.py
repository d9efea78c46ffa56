# SPDX-License-Identifier: Apache-2.0
"""Rendering of a site's pages; links are relative, and lead only to pages that exist."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.pages import neighbours, things
from kgbench.pages.rendering import environment
from kgbench.pages.snapshot import MemoryView
from kgbench.publish.addresses import Addresses, root_of, url
from kgbench.store import fragments
from kgbench.vocab import BASE, DCTERMS, KGB, RDF

_TEMPLATES = Path(__file__).parent / "templates"
FORMATS = (
    ("ttl", "text/turtle"),
    ("jsonld", "application/ld+json"),
    ("nt", "application/n-triples"),
)
_SITE = {
    "navigation": [("Leaderboard", "leaderboard/"), ("Downloads", "#downloads")],
    "footer": [("catalogue", "catalog.ttl"), ("VoID", "void.ttl"), ("vocabulary", "ns/")],
    "formats": FORMATS,
    "more": "the dumps contain all.",
    "revealing": False,
    "live": False,
}
_PARTS = {KGB.Evaluation, KGB.ModelCall, KGB.Prompt, KGB.Answer}
_MOST_LABELS = 50_000
PAGE = 50  # most dialogues on one page


class PageRenderer:
    """Renders the pages of one publication.

    ``site_graph`` is the published form of everything but dialogues, and ``documents`` the paths of
    all documents about it. ``database`` is the store, for the dialogues themselves.
    """

    def __init__(
        self,
        site_graph: MemoryView,
        addresses: Addresses,
        documents: frozenset[str],
        database: ox.Store,
        canaries: tuple[str, ...] = (),
    ) -> None:
        self.site_graph = site_graph
        self.addresses = addresses
        self.documents = documents
        self._database = database
        self._labels: dict[str, str] = {}
        self._dialogues: dict[str, str | None] = {}
        self._long: dict[str, bool] = {}
        self._environment = environment(_TEMPLATES)
        self._environment.globals.update(site=_SITE, canaries=canaries)

    def page(
        self,
        template: str,
        path: str,
        context: Mapping[str, Any],
        *,
        parts: Mapping[str, str] | None = None,
        documents: Mapping[str, str] | None = None,
    ) -> str:
        """Render the page at ``path`` from a template.

        ``parts`` maps IRIs of things on this page to their fragments, and ``documents`` maps the
        suffixes of the page's data files to media types. ``context`` may have a function
        ``answers(model, task)`` that gives the link to the dialogues of a model on a task (names).
        """
        root = root_of(path)
        anchors = parts or {}

        def href(iri: str) -> str | None:
            return f"#{anchors[iri]}" if iri in anchors else self._link(iri, root)

        def document(iri: str, suffix: str) -> str:
            return url(self.addresses.document_path(iri), root, f".{suffix}")

        def ask(name: str, query: Mapping[str, Any]) -> str:
            return f"{root}{query.get('path', f'queries/{name}.rq')}"

        formats = FORMATS if documents is None else tuple(documents.items())
        return self._environment.get_template(template).render(
            root=root,
            href=href,
            label=self.label,
            ask=ask,
            document=document,
            asset=lambda name: f"{root}static/{name}",
            base=self.addresses.base,
            current=path.removesuffix("index.html"),
            site={**_SITE, "formats": formats},
            **{"answers": lambda _model, _task: None, **context},
        )

    def link(self, iri: str, path: str) -> str | None:
        """Return a link to ``iri`` from the page at ``path``; ``None`` if there is no target."""
        return self._link(iri, root_of(path))

    def label(self, iri: str) -> str:
        """Return the display name of ``iri``."""
        name = self._labels.get(iri)
        if name is None:
            if len(self._labels) >= _MOST_LABELS:
                self._labels.clear()
            published = self.addresses.published(iri)
            name = things.label(self.site_graph, published).removeprefix(self.addresses.base)
            name = self._labels[iri] = name.removeprefix(BASE)
        return name

    def _link(self, iri: str, root: str) -> str | None:
        published = self.addresses.published(iri)
        if fragments.dialogue(published) is not None:
            if published not in self._dialogues:
                if len(self._dialogues) >= _MOST_LABELS:
                    self._dialogues.clear()
                self._dialogues[published] = self._inside_dialogue(published)
            fragment = self._dialogues[published]
            if fragment is not None:
                return url(self.addresses.document_path(published), root, fragment=fragment)
        else:
            document_path = self.addresses.document_path(iri)
            if document_path in self.documents:
                # The page of an analysis has no fragments for the nodes of its tables.
                fragment = fragments.recorded_iri(iri).partition("#")[2]
                return url(document_path, root, fragment=fragment)
        is_own = iri.startswith((self.addresses.base, self.addresses.store, BASE))
        return iri if not is_own and iri.startswith(("http://", "https://")) else None

    def _inside_dialogue(self, iri: str) -> str | None:
        """Return the fragment of a published dialogue, or of its part, in its document."""
        dialogue_iri = fragments.dialogue(iri)
        assert dialogue_iri is not None
        try:
            node, dialogue = (
                ox.NamedNode(self.addresses.original(published_iri))
                for published_iri in (iri, dialogue_iri)
            )
        except ValueError:
            return None
        if {KGB.Dialogue, *_PARTS}.isdisjoint(self._objects(node, RDF.type)):
            return None
        # The document of a long execution lists its dialogues; their parts are on further pages.
        target = dialogue_iri if self._is_long(dialogue) else iri
        return target.partition("#")[2]

    def _is_long(self, dialogue: ox.NamedNode) -> bool:
        for execution in self._objects(dialogue, DCTERMS.isPartOf):
            if execution not in self._long:
                parts = neighbours.parts_of(self._database, ox.NamedNode(execution))
                self._long[execution] = next(islice(parts, PAGE, None), None) is not None
            return self._long[execution]
        return False

    def _objects(self, node: ox.NamedNode, predicate: str) -> list[str]:
        quads = self._database.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return [str(getattr(quad.object, "value", "")) for quad in quads]
