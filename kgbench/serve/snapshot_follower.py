# SPDX-License-Identifier: Apache-2.0
"""Serves the newest snapshot, also after updates; old ones close with their last reader."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import NamedTuple

from kgbench.pages import snapshot
from kgbench.pages.snapshot import View
from kgbench.serve.refusals import Refused
from kgbench.serve.request_parsing import error_message
from kgbench.store import EmbeddedStore, open_reader, snapshots


class PendingSnapshot(NamedTuple):
    """A newer snapshot that is open but not served yet, and the name of the served one."""

    view: View
    served: str


class SnapshotFollower:
    """Follows the snapshots of the store at ``location``; :attr:`view` is the served one.

    :meth:`refresh` switches to the newest snapshot at once. :meth:`newer` only opens it, so that it
    can be prepared before :meth:`show` switches to it.
    """

    def __init__(self, location: str, base: str) -> None:
        open_reader(location).close()  # recovers from a killed writer, or raises
        self._folder = Path(location) / "snapshots"
        self._base = base
        self._lock = threading.Lock()
        self.view = self._open()

    def refresh(self) -> bool:
        """Serve the newest snapshot; return whether it is a new one.

        Several threads call this: after an update, and on a timer. The lock makes sure that a view
        is never replaced by an older one.
        """
        with self._lock:
            newest = snapshots.newest(self._folder)
            if newest is None or newest.name == self.view.name:
                return False
            self.view = self._open()
            return True

    def newer(self) -> PendingSnapshot | None:
        """Open and return the newest snapshot; ``None`` if it is served already."""
        with self._lock:
            served = self.view.name
            newest = snapshots.newest(self._folder)
            if newest is None or newest.name == served:
                return None
            view = self._open()
        return None if view.name == served else PendingSnapshot(view, served)

    def show(self, newer: PendingSnapshot) -> None:
        """Serve a snapshot, unless an even newer one is served meanwhile."""
        with self._lock:
            if self.view.name == newer.served:
                self.view = newer.view

    def _open(self) -> View:
        return snapshot.open_newest(self._folder, self._base)


class Updates:
    """Applies updates one at a time; an update is visible to readers before it is answered."""

    def __init__(self, store: EmbeddedStore, following: SnapshotFollower) -> None:
        self._store = store
        self._following = following
        self._lock = asyncio.Lock()

    async def apply(self, text: str) -> None:
        """Apply a prepared update and publish a snapshot with it; raises :class:`Refused`."""
        async with self._lock:
            try:
                await asyncio.to_thread(self._store.update, text)
            except (SyntaxError, ValueError, RuntimeError) as error:
                raise Refused(400, error_message(text, error)) from None
            await asyncio.to_thread(self._store.publish_snapshot)
            await asyncio.to_thread(self._following.refresh)
