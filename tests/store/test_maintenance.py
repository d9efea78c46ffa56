# SPDX-License-Identifier: Apache-2.0
"""Problems that a check finds, unreadable layouts, and paths of embedded stores."""

from __future__ import annotations

import pytest

from kgbench import resources
from kgbench.errors import LayoutError, StoreError
from kgbench.rdf import integer
from kgbench.store import Block, Iris, embedded_only, maintenance, open_store, registry
from kgbench.vocab import KGB, RDF

IRIS = Iris()
GRAPH = IRIS.mint("runGraph", run="one")


def entry(graph, *more):
    """Return the registry entry of a graph."""
    return Block(IRIS.catalogue, [f"<{graph}> <{RDF.type}> <{KGB.ResultGraph}> .", *more])


def test_what_is_wrong_with_graphs_is_said():
    """A check reports blank nodes, several stamps, and an entry about an absent resource."""
    with open_store("memory:") as store:
        store.write([Block(GRAPH, ["<urn:run> <urn:p> _:b ."])])
        store.write([entry(GRAPH, f"<{GRAPH}> <{KGB.describes}> <urn:another> .")])
        assert maintenance.check(store).problems == [
            f"{GRAPH} has blank nodes",
            f"{GRAPH} has no triples about urn:another",
        ]
        store.bulk_load([Block(IRIS.catalogue, [f"<{GRAPH}> <{KGB.changeStamp}> {integer(1)} ."])])
        several = maintenance.check(store).problems
        maintenance.compact(store)
        compacted = maintenance.check(store).problems

    assert f"{GRAPH} has several registry entries or change stamps" in several
    assert not any("several" in problem for problem in compacted)


def test_blank_nodes_of_others_are_their_own():
    """Blank nodes in unregistered graphs are not a problem."""
    with open_store("memory:") as store:
        store.bulk_load([Block(IRIS.mint("runGraph", run="lost"), ["_:a <urn:p> _:b ."])])
        found = maintenance.check(store).problems

    assert found == [f"{IRIS.mint('runGraph', run='lost')} has no registry entry"]


# --- layouts --------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [integer(2), '"new"'])
def test_a_store_of_two_layouts_is_refused(other):
    """A store with two layout versions is refused."""
    with open_store("memory:") as store:
        said = f"<https://w3id.org/kgbench/layout> <{KGB.layoutVersion}> {other} ."
        store.bulk_load([Block(IRIS.catalogue, [said])])
        with pytest.raises(LayoutError, match=r"layouts 1, (2|new): restore it from a backup"):
            registry.check_layout(store)


def test_a_damaged_layout_is_said(tmp_path, monkeypatch):
    """A layout file without a version is an error that names the file."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "layout.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    monkeypatch.setattr(resources, "folder", lambda name: tmp_path / name)
    with pytest.raises(LayoutError, match=r"store/layout\.ttl declares no kgb:layoutVersion"):
        registry.current_layout.__wrapped__()


def test_what_needs_a_folder_is_not_done_in_memory(tmp_path):
    """A command that needs a folder refuses a store in memory."""
    with pytest.raises(StoreError, match=r"in memory .*: to serve it needs a folder"):
        embedded_only("memory:", "to serve it")
    assert embedded_only(str(tmp_path), "to serve it") == tmp_path
