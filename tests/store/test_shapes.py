# SPDX-License-Identifier: Apache-2.0
"""Kinds of servers and leases conform to their shapes; mutants are refused."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.store import Iris, open_store
from kgbench.vocab import BASE
from tests.support.validation import report

KINDS = resources.text("store", "back-ends.ttl")


def wrong(turtle):
    """Return the violations of a description."""
    return report(ox.parse(turtle, ox.RdfFormat.TURTLE, base_iri=BASE), "stores")


def test_kinds_of_servers_conform():
    """The declared kinds conform to the shapes."""
    assert wrong(KINDS) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kgb:requestLimit 8000000", "kgb:requestLimit 20"),
        ('kgb:resultFormat "tsv"', 'kgb:resultFormat "csv"'),
        ("skos:notation", "rdfs:comment"),
        ("sh:order 1 ;", ""),
        ("kgb:updatePath", "kgb:dataPath"),
        ("kgb:queryPath", "kgb:engine"),
    ],
)
def test_mutants_are_refused(old, new):
    """Each change makes a description that violates the shapes."""
    assert old in KINDS
    assert wrong(KINDS.replace(old, new)) != []


def test_a_lease_conforms(remote):
    """The lease of a writer conforms to the shapes."""
    iris = Iris()
    with open_store(remote) as store:
        triples = list(store.triples(iris.mint("leaseGraph")))
        assert report(triples, "stores") == []
        for triple in triples:
            left = [one for one in triples if one != triple]
            needed = not triple.predicate.value.endswith("#type")
            assert (report(left, "stores") != []) is needed
