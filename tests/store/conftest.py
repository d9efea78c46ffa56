# SPDX-License-Identifier: Apache-2.0
"""Stores of every back end, empty, by their locations.

A remote store is on a SPARQL server in this process, unless tests marked ``servers`` are asked for:
then also on an Oxigraph server and on Virtuoso, which are programs of their own.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kgbench.rdf import integer
from kgbench.store import Block, declared, layouts, open_store
from kgbench.store.back_ends import find
from kgbench.store.client import Client
from kgbench.vocab import KGB
from tests.store import servers
from tests.store.damages import GRAPH, MANY, described, triples
from tests.store.in_process import InProcess
from tests.store.servers import Oxigraph, empty

GRAPHS = """SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o }
  FILTER (STRSTARTS(STR(?g), "https://w3id.org/kgbench/")) }"""
OXIGRAPH = pytest.param("oxigraph", marks=pytest.mark.servers)
VIRTUOSO = pytest.param("virtuoso", marks=pytest.mark.servers)


@pytest.fixture(scope="session")
def in_process_url():
    """One SPARQL server in this process for all its tests."""
    with InProcess() as server:
        yield server.url


@pytest.fixture(scope="session")
def oxigraph_url(tmp_path_factory):
    """One Oxigraph server for all tests of a process."""
    with Oxigraph(tmp_path_factory.mktemp("oxigraph")) as server:
        yield server.url


@pytest.fixture
def in_process(in_process_url):
    """The location of an empty store on a server in this process."""
    empty(in_process_url)
    return in_process_url


@pytest.fixture
def oxigraph(oxigraph_url):
    """The location of an empty store on an Oxigraph server."""
    empty(oxigraph_url)
    return oxigraph_url


@pytest.fixture(params=["in_process", OXIGRAPH])
def remote(request):
    """The location of an empty store on a server."""
    return request.getfixturevalue(request.param)


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


@pytest.fixture(params=["embedded", "in_process", OXIGRAPH, VIRTUOSO])
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


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory) -> Path:
    """A store whose older snapshot lacks what the newest has."""
    place = tmp_path_factory.mktemp("template") / "store"
    for number in range(2):
        with open_store(str(place)) as store:
            if number == 0:
                store.write(described())
            store.write([Block(GRAPH, triples(MANY, number * MANY))])
    return place


@pytest.fixture
def place(whole_store, tmp_path) -> Path:
    """A copy of the store, in which files are shared as they were."""
    subprocess.run(["cp", "-a", str(whole_store), str(tmp_path / "s")], check=True)
    return tmp_path / "s"
