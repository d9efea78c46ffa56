# SPDX-License-Identifier: Apache-2.0
"""The location of an empty store on Virtuoso."""

from __future__ import annotations

import shutil

import pytest

from kgbench.store.back_ends import find
from kgbench.store.client import Client
from tests.plugins.virtuoso.server import Virtuoso
from tests.store.conftest import little_declared  # noqa: F401 - a fixture

GRAPHS = """SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o }
  FILTER (STRSTARTS(STR(?g), "https://w3id.org/kgbench/")) }"""


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """Yield the URL of a Virtuoso server for all tests; skip if Virtuoso is not installed."""
    if shutil.which("virtuoso-t") is None:
        pytest.skip("Virtuoso is not installed (Debian: virtuoso-opensource)")
    with Virtuoso(tmp_path_factory.mktemp("virtuoso")) as server:
        yield server.url


@pytest.fixture
def virtuoso(url, monkeypatch):
    """Return the location of an empty store; its credentials are in the environment."""
    monkeypatch.setenv("KGBENCH_STORE_USER", "dba")
    monkeypatch.setenv("KGBENCH_STORE_PASSWORD", "dba")
    client = Client(find(url))
    for row in client.query(GRAPHS):
        client.update(f"DROP SILENT GRAPH <{row[0].value}>")
    client.close()
    return url


@pytest.fixture
def any_store(virtuoso):
    """Return that location to the tests of every kind of store."""
    return virtuoso
