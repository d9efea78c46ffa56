# SPDX-License-Identifier: Apache-2.0
"""Checks of the links between the pages of a folder, including their fragments."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.checks.report import Fault

_LINK = re.compile(r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REMEDY = "Publish again; a file was removed or renamed."


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
