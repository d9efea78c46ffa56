# SPDX-License-Identifier: Apache-2.0
"""Checks that the IRIs of a publication lead to files, and their fragments to parts of these.

IRIs are resolved as servers do by the rules of the publication: a thing of a kind is a fragment of
the document of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

import pyoxigraph as ox

from kgbench.publish.checks.links import Links
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import Documents, url
from kgbench.publish.file_reading import Unreadable, quads

_REMEDY = "Publish again; a file was removed."


class SubjectIris:
    """Follows the described IRIs below the base; ``followed`` counts them."""

    def __init__(self, published: PublicationFiles, links: Links) -> None:
        self._published = published
        self._links = links
        self._described = lru_cache(maxsize=100)(self._read)
        self.followed = 0

    def check(self) -> Iterator[Fault]:
        """Yield the subjects and graphs that a server would not find."""
        base = self._published.base
        if base is None:
            return
        where = Documents(base, base)
        for iri in self._subjects(base):
            self.followed += 1
            problem = self._wrong(base, where, iri)
            if problem is not None:
                node = ox.NamedNode(iri)
                store = self._published.quads
                is_result = any(store.quads_for_pattern(node, None, None))
                file = self._published.file_of(
                    node, None if is_result else self._published.catalogue
                )
                yield Fault("unresolved", iri, file, f"The IRI {problem}.", _REMEDY)

    def _wrong(self, base: str, where: Documents, iri: str) -> str | None:
        """Return what is wrong with an IRI; its fragment may be on the page or in the data."""
        place = where.place(iri)
        link = iri
        if f"{place.path}/index.html" in self._published.files:
            link = url(place.path, base, fragment=place.fragment)
        problem = self._links.wrong("index.html", link)
        if problem is None or "#" not in iri or iri not in self._described(iri.partition("#")[0]):
            return problem
        return None

    def _read(self, document: str) -> frozenset[str]:
        """Return the subjects in the Turtle of a document."""
        assert self._published.base is not None
        path = unquote(document[len(self._published.base) :].rstrip("/"))
        file = self._published.files.get(f"{path}.ttl")
        if file is None:
            return frozenset()
        try:
            return frozenset(str(quad.subject).strip("<>") for quad in quads(file))
        except Unreadable:  # reported by the checks of files
            return frozenset()

    def _subjects(self, base: str) -> list[str]:
        """Return the IRIs, sorted so that those of one page are looked up together."""
        iris = {
            term.value
            for store in (self._published.quads, self._published.catalogue)
            for quad in store
            for term in (quad.subject, quad.graph_name)
            if isinstance(term, ox.NamedNode) and term.value.startswith(base)
        }
        return sorted(iris)
