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
from kgbench.publish.dumps import Unreadable, quads

_LINK = re.compile(r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REMEDY = "Publish again; a file was removed or renamed."


class Links:
    """Follows the links of all pages, and the described IRIs below the base.

    ``followed`` counts them.
    """

    def __init__(self, published: PublicationFiles) -> None:
        self._published = published
        self.followed = 0
        # Pages link to fragments of themselves and of few others.
        self._ids = lru_cache(maxsize=1000)(self._places)
        self._described = lru_cache(maxsize=100)(self._subjects_in)

    def dead(self) -> Iterator[Fault]:
        """Yield the dead links."""
        for name in self._published.files:
            if name.endswith(".html"):
                for link in _values(_LINK, self._published.text(name)):
                    problem = self._wrong(name, link)
                    if problem is not None:
                        message = f"The link {link[:300]} {problem}."
                        yield Fault("dead-link", "", name, message, _REMEDY)

    def unresolved(self) -> Iterator[Fault]:
        """Yield the subjects and graphs that a server would not find."""
        published, base = self._published, self._published.base
        if base is None:
            return
        where = Documents(base, base)
        iris = {
            term.value: store
            for store in (published.catalogue, published.quads)
            for quad in store
            for term in (quad.subject, quad.graph_name)
            if isinstance(term, ox.NamedNode) and term.value.startswith(base)
        }
        for iri, store in sorted(iris.items(), key=lambda found: found[0]):  # page by page
            place = where.place(iri)
            page = f"{place.path}/index.html" in published.files
            link = url(place.path, base, fragment=place.fragment) if page else iri
            problem = self._wrong("index.html", link)
            document, _, fragment = iri.partition("#")
            if problem is not None and not (fragment and iri in self._described(document)):
                file = published.file_of(ox.NamedNode(iri), store)
                yield Fault("unresolved", iri, file, f"The IRI {problem}.", _REMEDY)

    def _wrong(self, page: str, link: str) -> str | None:
        """Return what is wrong with a link; ``None`` for working and for external links."""
        base, files = self._published.base, self._published.files
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
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
        index = posixpath.normpath(f"{path}/index.html")
        targets = (index,) if parts.path.endswith("/") else (path, index) if parts.path else (page,)
        target = next((name for name in targets if name in files), None)
        if target is None:
            return "does not lead to a file"
        fragment = unquote(parts.fragment)
        if fragment and target.endswith(".html") and fragment not in self._ids(target):
            return f"leads to {target}, which has no id {fragment[:100]}"
        return None

    def _places(self, name: str) -> frozenset[str]:
        """Return the ids in a page."""
        return frozenset(_values(_ID, self._published.text(name)))

    def _subjects_in(self, document: str) -> frozenset[str]:
        """Return the subjects in the Turtle of a document, some of which its page does not show."""
        file = self._published.files.get(f"{self._published.path_of(document)}.ttl")
        if file is None:
            return frozenset()
        try:
            return frozenset(str(quad.subject).strip("<>") for quad in quads(file))
        except Unreadable:  # reported by the checks of files
            return frozenset()


def _values(attribute: re.Pattern[str], text: str) -> list[str]:
    """Return the distinct values of an attribute in HTML."""
    return list(dict.fromkeys(html.unescape(a or b) for a, b in attribute.findall(text)))
