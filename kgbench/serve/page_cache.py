# SPDX-License-Identifier: Apache-2.0
"""Cache of rendered pages, valid while their snapshot is served.

A page depends only on its snapshot and its URL.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from kgbench.pages.snapshot import View

MOST_BYTES = 32 << 20


class Page(NamedTuple):
    """The body and headers of a page."""

    body: bytes
    headers: Mapping[str, str]


class PageCache:
    """Least-recently-used cache of the pages of one snapshot, by URL; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot = ""
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._bytes = 0

    def get(self, view: View, address: str) -> Page | None:
        """Return the cached page of an address, or ``None``."""
        with self._lock:
            if self._snapshot != view.name or address not in self._pages:
                return None
            self._pages.move_to_end(address)
            return self._pages[address]

    def keep(self, view: View, address: str, page: Page) -> None:
        """Cache a page; drop pages of other snapshots, and the oldest beyond :data:`MOST_BYTES`."""
        with self._lock:
            if self._snapshot != view.name:
                self._snapshot, self._bytes = view.name, 0
                self._pages.clear()
            if address in self._pages:
                return
            self._pages[address] = page
            self._bytes += len(page.body)
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._pages.popitem(last=False)[1].body)
