# SPDX-License-Identifier: Apache-2.0
"""The IRIs of a publication: whether each leads to a file, and its fragment to a place in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

import pyoxigraph as ox

from kgbench.publish.checks.links import Links
from kgbench.publish.checks.published import Published
from kgbench.publish.checks.reading import Unreadable, quads
from kgbench.publish.checks.report import Fault

_REMEDY = "Publish again; a file was removed, or the data were published before November 2026."


class Subjects:
    """Follows the IRIs below the base that something is said of; ``followed`` counts them."""

    def __init__(self, published: Published, links: Links) -> None:
        self._published = published
        self._links = links
        self._described = lru_cache(maxsize=100)(self._read)
        self.followed = 0

    def check(self) -> Iterator[Fault]:
        """The subjects and graphs that a plain file server does not find."""
        for iri in self._subjects():
            self.followed += 1
            wrong = self._wrong(iri)
            if wrong is not None:
                node = ox.NamedNode(iri)
                store = self._published.quads
                known = any(store.quads_for_pattern(node, None, None))
                file = self._published.file_of(node, None if known else self._published.catalogue)
                yield Fault("unresolved", iri, file, f"The IRI {wrong}.", _REMEDY)

    def _wrong(self, iri: str) -> str | None:
        """What is wrong: a fragment is found on the page, or in the data beside it."""
        wrong = self._links.wrong("index.html", iri)
        if wrong is None or "#" not in iri or iri not in self._described(iri.partition("#")[0]):
            return wrong
        return None

    def _read(self, document: str) -> frozenset[str]:
        """The subjects of the Turtle document about something."""
        assert self._published.base is not None
        path = unquote(document[len(self._published.base) :].rstrip("/"))
        file = self._published.files.get(f"{path}.ttl")
        if file is None:
            return frozenset()
        try:
            return frozenset(str(quad.subject).strip("<>") for quad in quads(file))
        except Unreadable:  # told by the checks of files
            return frozenset()

    def _subjects(self) -> list[str]:
        """Sorted, so that the places of a page are looked up together."""
        base = self._published.base
        if base is None:
            return []
        found = {
            term.value
            for store in (self._published.quads, self._published.catalogue)
            for quad in store
            for term in (quad.subject, quad.graph_name)
            if isinstance(term, ox.NamedNode) and term.value.startswith(base)
        }
        return sorted(found)
