# SPDX-License-Identifier: Apache-2.0
"""Servers for the tests: one read-only, one writable."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from kgbench.pages.things import MemoryView
from kgbench.serve.app import application
from kgbench.serve.settings import Limits, Settings
from kgbench.vocab import BASE
from tests.serve import stores
from tests.support.analysis_store import graph

#: Generous time limits for busy machines.
LIMITS = Limits(
    seconds=600,
    patience=60,
    workers=1,
    reading_seconds=60,
    request_bytes=100_000,
    request_seconds=60,
)
TOKEN = "open sesame"


def asking(folder, limits=LIMITS, **settings):
    """Return a client of a server of the store at ``folder``, which runs while it is open."""
    served = application(Settings(location=str(folder), limits=limits, **settings))
    return TestClient(served, follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture(scope="session")
def result_store(tmp_path_factory):
    """Return the folder of a store with a few hand-written results."""
    return stores.make(tmp_path_factory.mktemp("serve") / "results")


@pytest.fixture(scope="session")
def client(result_store):
    """Yield a client of a read-only server."""
    with asking(result_store) as found:
        yield found


@pytest.fixture(scope="package")
def writable(tmp_path_factory):
    """Yield a client of a server that takes updates; the client sends the token."""
    patch = pytest.MonkeyPatch()
    patch.setattr("kgbench.store.snapshots.Publisher.interval", 0.02)
    patch.setattr("kgbench.store.snapshots.SHARE", 1.0)
    folder = stores.make(tmp_path_factory.mktemp("writable") / "results")
    with asking(folder, token=TOKEN, union=False) as found:
        found.headers["Authorization"] = f"Bearer {TOKEN}"
        yield found
    patch.undo()


@pytest.fixture(scope="package")
def scores_view():
    """Return the small store of scores as a view for pages."""
    return MemoryView(graph("analysis_scores").database, BASE)
