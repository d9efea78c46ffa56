# SPDX-License-Identifier: Apache-2.0
"""Stores of every back end, empty, by their locations."""

from __future__ import annotations

import pytest

from kgbench.rdf import integer
from kgbench.store import Block, declared, layouts
from kgbench.store.back_ends import find
from kgbench.store.client import Client
from kgbench.vocab import KGB
from tests.store import servers
from tests.store.servers import Oxigraph, empty

GRAPHS = """SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o }
  FILTER (STRSTARTS(STR(?g), "https://w3id.org/kgbench/")) }"""
BACK_ENDS = ("embedded", "remote", "virtuoso")


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory):
    """One Oxigraph server for all tests of a process."""
    with Oxigraph(tmp_path_factory.mktemp("oxigraph")) as server:
        yield server


@pytest.fixture
def remote(oxigraph):
    """The location of an empty store on a server."""
    empty(oxigraph.url)
    return oxigraph.url


@pytest.fixture(autouse=True)
def little_declared(request, monkeypatch):
    """A catalogue of the layout's version only, except where a test asks for all of it.

    What is declared takes a server a second to load, and most tests here are not about it.
    """
    if request.node.get_closest_marker("declared") is None:
        monkeypatch.setattr(declared, "load", only_layout)


def only_layout(store):
    """Say the layout version of a store, where it says none."""
    if layouts.version(store) is None:
        line = f"<https://w3id.org/kgbench/layout> <{KGB.layoutVersion}> {integer(1)} ."
        store.bulk_load([Block(store.iris.catalogue, [line])])


@pytest.fixture(params=BACK_ENDS)
def any_store(request, tmp_path):
    """The location of an empty store, on each back end in turn."""
    if request.param == "embedded":
        return str(tmp_path / "store")
    return request.getfixturevalue(request.param)


@pytest.fixture
def virtuoso(virtuoso_url, monkeypatch):
    """The location of an empty store on Virtuoso, with the credentials that it asks for."""
    monkeypatch.setenv("KGBENCH_STORE_USER", "dba")
    monkeypatch.setenv("KGBENCH_STORE_PASSWORD", "dba")
    client = Client(find(virtuoso_url))
    for row in client.query(GRAPHS):
        client.update(f"DROP SILENT GRAPH <{row[0].value}>")
    client.close()
    return virtuoso_url


@pytest.fixture(scope="session")
def virtuoso_url(tmp_path_factory):
    """One Virtuoso server for all tests of a process; skips where Virtuoso is not installed."""
    with servers.virtuoso(tmp_path_factory.mktemp("virtuoso")) as url:
        if url is None:
            pytest.skip("Virtuoso is not installed (Debian: virtuoso-opensource)")
        yield url
