# SPDX-License-Identifier: Apache-2.0
"""Serves the newest snapshot; closes an old one when its last reader is done."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from kgbench.pages import snapshot
from kgbench.pages.snapshot import View
from kgbench.store import open_reader, snapshots

__all__ = ["Following", "View"]


class Newer(NamedTuple):
    """A snapshot that is open and not yet served, and the name of the one that is."""

    view: View
    served: str


class Following:
    """The newest snapshot of the store at ``location``.

    Look again with :meth:`refresh`, or with :meth:`newer`, which leaves time to prepare what it
    finds, and then :meth:`show`.
    """

    def __init__(self, location: str, base: str) -> None:
        open_reader(location).close()  # recovers what a killed writer left, or says what is wrong
        self._folder = Path(location) / "snapshots"
        self._base = base
        self._one = threading.Lock()
        self.view = self._open()

    def refresh(self) -> bool:
        """Open the newest snapshot where it is not open yet; whether there was one.

        Several threads may call this: after an update, and on a timer. One after the other finds
        and opens the newest, so that no view is ever replaced by an older one.
        """
        with self._one:
            found = snapshots.newest(self._folder)
            if found is None or found.name == self.view.name:
                return False
            self.view = self._open()
            return True

    def newer(self) -> Newer | None:
        """The newest snapshot, opened, where it is not served yet."""
        with self._one:
            served = self.view.name
            found = snapshots.newest(self._folder)
            if found is None or found.name == served:
                return None
            view = self._open()
        return None if view.name == served else Newer(view, served)

    def show(self, newer: Newer) -> None:
        """Serve a snapshot from now on, unless another one has come meanwhile, which is newer."""
        with self._one:
            if self.view.name == newer.served:
                self.view = newer.view

    def _open(self) -> View:
        return snapshot.newest(self._folder, self._base)
