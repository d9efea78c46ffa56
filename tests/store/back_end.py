# SPDX-License-Identifier: Apache-2.0
"""``python -m pytest -p tests.store.back_end``: runs tests of in-memory stores against a server.

The tests of engine, importers, re-evaluation and analyses then also cover remote stores. Each
``open_store("memory:")`` starts an Oxigraph server on loopback and stops it when the store is
closed.
"""

from __future__ import annotations

from kgbench import store as stores
from kgbench.store.back_ends import find
from kgbench.store.remote import RemoteStore
from tests.store.servers import Oxigraph


def pytest_configure(config):
    """Replace in-memory stores with remote ones, before any test module is imported."""
    stores.open_store = opening(stores.open_store)


def opening(open_store):
    """Return an ``open_store`` that starts a server for each in-memory store."""

    def opened(location=None):
        return Served() if location == "memory:" else open_store(location)

    return opened


class Served(RemoteStore):
    """A store on its own server, which keeps it in memory and stops with it."""

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
