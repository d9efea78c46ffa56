# SPDX-License-Identifier: Apache-2.0
"""Rendering the pages of one site: links are relative, and lead only to pages that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.pages import things
from kgbench.pages.rendering import anchor, environment
from kgbench.pages.snapshot import Memory
from kgbench.publish.addresses import Addresses, root_of, url
from kgbench.vocab import BASE, DCTERMS, KGB, PROV, RDF

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
    "style": "style.css",
    "more": "the dumps have all.",
    "revealing": False,
}
_MOST_LABELS = 50_000
Asked = Callable[[str, Mapping[str, Any]], str]


class Presenting:
    """Renders the pages of one publication.

    ``shown`` holds what is published besides dialogues, in its published form; ``documents`` are
    the places of all pages about it. ``database`` is the store, for the dialogues themselves.
    """

    def __init__(
        self,
        shown: Memory,
        addresses: Addresses,
        documents: frozenset[str],
        database: ox.Store,
        canaries: tuple[str, ...] = (),
    ) -> None:
        self.shown = shown
        self.addresses = addresses
        self.documents = documents
        self._database = database
        self._labels: dict[str, str] = {}
        self._dialogues: dict[str, str | None] = {}
        self._environment = environment(_TEMPLATES)
        self._environment.globals.update(site=_SITE, canaries=canaries)

    def page(
        self,
        template: str,
        path: str,
        context: Mapping[str, Any],
        *,
        parts: Mapping[str, str] | None = None,
        asked: Asked | None = None,
        documents: Mapping[str, str] | None = None,
    ) -> str:
        """The page at ``path`` from a template.

        ``parts`` has the places on this page by the IRI of what stands there, ``asked`` the place
        of a filled query, and ``documents`` the suffixes of data that this page has.
        """
        root = root_of(path)
        here = parts or {}

        def href(iri: str) -> str | None:
            return f"#{here[iri]}" if iri in here else self._link(iri, root)

        def document(iri: str, suffix: str) -> str:
            return url(self.addresses.place(iri), root, f".{suffix}")

        def ask(name: str, given: Mapping[str, Any]) -> str:
            return root + (f"queries/{name}.rq" if asked is None else asked(name, given))

        formats = FORMATS if documents is None else tuple(documents.items())
        return self._environment.get_template(template).render(
            root=root,
            href=href,
            label=self.label,
            ask=ask,
            document=document,
            base=self.addresses.base,
            site={**_SITE, "formats": formats},
            **context,
        )

    def label(self, iri: str) -> str:
        """What people call ``iri``."""
        found = self._labels.get(iri)
        if found is None:
            if len(self._labels) >= _MOST_LABELS:
                self._labels.clear()
            published = self.addresses.published(iri)
            found = things.label(self.shown, published).removeprefix(self.addresses.base)
            found = self._labels[iri] = found.removeprefix(BASE)
        return found

    def _link(self, iri: str, root: str) -> str | None:
        place = self.addresses.place(iri)
        if place in self.documents:
            fragment = iri.partition("#")[2]
            return url(place, root, fragment=fragment)
        if iri not in self._dialogues:
            if len(self._dialogues) >= _MOST_LABELS:
                self._dialogues.clear()
            self._dialogues[iri] = self._inside_dialogue(iri)
        found = self._dialogues[iri]
        if found is not None:
            place, _, fragment = found.partition("#")
            return url(place, root, fragment=fragment)
        ours = iri.startswith((self.addresses.base, self.addresses.store, BASE))
        return iri if not ours and iri.startswith(("http://", "https://")) else None

    def _inside_dialogue(self, iri: str) -> str | None:
        """Where ``iri`` stands, if it is a dialogue or a part of one: its place, and which part."""
        try:
            node = ox.NamedNode(self.addresses.original(iri))
        except ValueError:
            return None
        kinds = self._objects(node, RDF.type)
        if KGB.Dialogue in kinds:
            return self.addresses.place(iri)
        steps = {
            KGB.Evaluation: (KGB.dialogue,),
            KGB.ModelCall: (DCTERMS.isPartOf,),
            KGB.Answer: (PROV.wasGeneratedBy, DCTERMS.isPartOf),
        }
        for kind, path in steps.items():
            if kind not in kinds:
                continue
            found = [node.value]
            for step in path:
                found = [o for one in found for o in self._objects(ox.NamedNode(one), step)]
            if found and KGB.Dialogue in self._objects(ox.NamedNode(found[0]), RDF.type):
                number = next(iter(self._objects(node, KGB.round)), "0")
                part = anchor(iri) if kind == KGB.Evaluation else f"{number}-answer"
                return f"{self.addresses.place(found[0])}#{part}"
        return None

    def _objects(self, node: ox.NamedNode, predicate: str) -> list[str]:
        found = self._database.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return [str(getattr(quad.object, "value", "")) for quad in found]
