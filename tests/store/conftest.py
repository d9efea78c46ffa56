# SPDX-License-Identifier: Apache-2.0
"""Locations of empty stores for every back end.

A remote store is on a SPARQL server in this process. Tests marked ``servers`` also use an Oxigraph
server, which is a separate program.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kgbench.rdf import integer
from kgbench.store import Block, declared, open_store, registry
from kgbench.vocab import KGB
from tests.store.damages import GRAPH, MANY, described, triples
from tests.store.in_process import InProcess
from tests.store.servers import Oxigraph, empty

OXIGRAPH = pytest.param("oxigraph", marks=pytest.mark.servers)


@pytest.fixture(scope="session")
def in_process_url():
    """Yield the URL of a SPARQL server in this process, shared by all tests."""
    with InProcess() as server:
        yield server.url


@pytest.fixture(scope="session")
def oxigraph_url(tmp_path_factory):
    """Yield the URL of an Oxigraph server, shared by all tests of a process."""
    with Oxigraph(tmp_path_factory.mktemp("oxigraph")) as server:
        yield server.url


@pytest.fixture
def in_process(in_process_url):
    """Return the location of an empty store on a server in this process."""
    empty(in_process_url)
    return in_process_url


@pytest.fixture
def oxigraph(oxigraph_url):
    """Return the location of an empty store on an Oxigraph server."""
    empty(oxigraph_url)
    return oxigraph_url


@pytest.fixture(params=["in_process", OXIGRAPH])
def remote(request):
    """Return the location of an empty store on a server."""
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def little_declared(request, monkeypatch):
    """Load only the layout version into the catalogue, unless a test is marked ``declared``.

    The full catalogue takes a server a second to load, and few tests here need it.
    """
    if request.node.get_closest_marker("declared") is None:
        monkeypatch.setattr(declared, "load", only_layout)


def only_layout(store):
    """Write the layout version of a store that has none."""
    if registry.layout(store) is None:
        line = f"<https://w3id.org/kgbench/layout> <{KGB.layoutVersion}> {integer(1)} ."
        store.bulk_load([Block(store.iris.catalogue, [line])])


@pytest.fixture(params=["embedded", "in_process", OXIGRAPH])
def any_store(request, tmp_path):
    """Return the location of an empty store, on each back end in turn."""
    if request.param == "embedded":
        return str(tmp_path / "store")
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory) -> Path:
    """Return a store whose older snapshot lacks part of the content of the newest."""
    place = tmp_path_factory.mktemp("template") / "store"
    for number in range(2):
        with open_store(str(place)) as store:
            if number == 0:
                store.write(described())
            store.write([Block(GRAPH, triples(MANY, number * MANY))])
    return place


@pytest.fixture
def place(whole_store, tmp_path) -> Path:
    """Return a copy of the store; hard links between its files are preserved."""
    subprocess.run(["cp", "-a", str(whole_store), str(tmp_path / "s")], check=True)
    return tmp_path / "s"
