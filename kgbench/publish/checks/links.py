# SPDX-License-Identifier: Apache-2.0
"""Checks that links between pages, and IRIs below the base, lead to files and their fragments.

IRIs are resolved as servers do by the rules of the publication: a thing of a kind is a fragment of
the document of this kind.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault
from kgbench.publish.documents import Documents, url
from kgbench.publish.file_reading import Unreadable, quads

_LINK = re.compile(r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REMEDY = "Publish again; a file was removed or renamed."
_REMOVED = "Publish again; a file was removed."


class Links:
    """Follows the links of all pages; ``followed`` counts them."""

    def __init__(self, published: PublicationFiles) -> None:
        self._published = published
        # Pages link to fragments of themselves and of few others.
        self._ids = lru_cache(maxsize=1000)(self._places)
        self.followed = 0

    def check(self) -> Iterator[Fault]:
        """Yield the dead links."""
        for name in self._published.files:
            if name.endswith(".html"):
                yield from self._page(name)

    def _page(self, name: str) -> Iterator[Fault]:
        text = self._published.text(name)
        for link in dict.fromkeys(html.unescape(a or b) for a, b in _LINK.findall(text)):
            problem = self.wrong(name, link)
            if problem is not None:
                yield Fault("dead-link", "", name, f"The link {link[:300]} {problem}.", _REMEDY)

    def wrong(self, page: str, link: str) -> str | None:
        """Return what is wrong with a link; ``None`` for working and for external links."""
        base = self._published.base
        if base is not None and link.startswith(base):
            page, link = "index.html", link[len(base) :] or "./"
        try:
            parts = urlsplit(link)
        except ValueError:
            return "is not a valid address"
        if parts.scheme or parts.netloc:
            return None
        self.followed += 1
        if parts.path.startswith("/"):
            return "is not relative, so that it works at one address only"
        target = self._target(page, unquote(parts.path)) if parts.path else page
        if target is None or target not in self._published.files:
            return "does not lead to a file"
        if parts.fragment and target.endswith(".html"):
            fragment = unquote(parts.fragment)
            if fragment not in self._ids(target):
                return f"leads to {target}, which has no id {fragment[:100]}"
        return None

    def _target(self, page: str, path: str) -> str | None:
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if path.endswith("/") or joined == ".":
            joined = posixpath.join(joined, "index.html").removeprefix("./")
        for name in (joined, f"{joined}/index.html"):
            if name in self._published.files:
                return name
        return None

    def _places(self, name: str) -> frozenset[str]:
        """Return the ids in a page."""
        text = self._published.text(name)
        return frozenset(html.unescape(a or b) for a, b in _ID.findall(text))


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
                yield Fault("unresolved", iri, file, f"The IRI {problem}.", _REMOVED)

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
