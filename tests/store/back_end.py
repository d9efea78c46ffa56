# SPDX-License-Identifier: Apache-2.0
"""``python -m pytest -p tests.store.back_end``: stores in memory are on servers instead.

What the tests of engine, importers, re-evaluation and analyses ask of a store then holds of a
remote one, too. Each ``open_store("memory:")`` starts an Oxigraph server on loopback and stops it
when it is closed.
"""

from __future__ import annotations

from kgbench import store as stores
from kgbench.store.back_ends import find
from kgbench.store.remote import RemoteStore
from tests.store.servers import Oxigraph


def pytest_configure(config):
    """Put remote stores into the place of those in memory, before any test module is imported."""
    stores.open_store = opening(stores.open_store)


def opening(open_store):
    """``open_store``, with a server for each store in memory."""

    def opened(location=None):
        return Served() if location == "memory:" else open_store(location)

    return opened


class Served(RemoteStore):
    """A store on a server of its own, which keeps it in memory and ends with it."""

    def __init__(self):
        self.server = Oxigraph(None)
        self.server.start()
        try:
            super().__init__(find(self.server.url))
        except BaseException:
            self.server.stop()
            raise

    def close(self):
        """Close the store and stop the server; may be called twice."""
        try:
            super().close()
        finally:
            self.server.stop()
