# SPDX-License-Identifier: Apache-2.0
"""The links between the pages of a folder: that each leads to a file, and to a place in it."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kgbench.publish.checks.published import Published
from kgbench.publish.checks.report import Fault

_LINK = re.compile(r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ID = re.compile(r"""\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REMEDY = "Publish again; a file was removed or renamed."


class Links:
    """Follows the links of all pages; ``followed`` says how many there were."""

    def __init__(self, published: Published) -> None:
        self._published = published
        # Pages link to places in themselves and in few others.
        self._ids = lru_cache(maxsize=1000)(self._places)
        self.followed = 0

    def check(self) -> Iterator[Fault]:
        """The links that lead nowhere."""
        for name, path in self._published.files.items():
            if name.endswith(".html"):
                yield from self._page(name, path)

    def _page(self, name: str, path: Path) -> Iterator[Fault]:
        text = path.read_text(encoding="utf-8", errors="replace")
        for link in dict.fromkeys(html.unescape(a or b) for a, b in _LINK.findall(text)):
            wrong = self.wrong(name, link)
            if wrong is not None:
                yield Fault("dead-link", "", name, f"The link {link[:300]} {wrong}.", _REMEDY)

    def wrong(self, page: str, link: str) -> str | None:
        """What is wrong with a link; ``None`` where it leads somewhere, or out of the folder."""
        base = self._published.base
        if base is not None and link.startswith(base):
            page, link = "index.html", link[len(base) :] or "./"
        try:
            parts = urlsplit(link)
        except ValueError:
            return "is no address"
        if parts.scheme or parts.netloc:
            return None
        self.followed += 1
        if parts.path.startswith("/"):
            return "is not relative, and works at one address only"
        target = self._target(page, unquote(parts.path)) if parts.path else page
        if target is None or target not in self._published.files:
            return "leads to no file"
        if parts.fragment and target.endswith(".html"):
            place = unquote(parts.fragment)
            if place not in self._ids(target):
                return f"leads to no place called {place[:100]} in {target}"
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
        """The places in a page that a link can lead to."""
        text = self._published.files[name].read_text(encoding="utf-8", errors="replace")
        return frozenset(html.unescape(a or b) for a, b in _ID.findall(text))
