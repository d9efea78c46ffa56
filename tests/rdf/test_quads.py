# SPDX-License-Identifier: Apache-2.0
"""Quads in memory are found by pattern as in a store, and grouped by subject."""

from __future__ import annotations

from itertools import product

import pyoxigraph as ox
import pytest

from kgbench.rdf.quads import IndexedQuads, by_subject

A, B, P, Q, G, H = (ox.NamedNode(f"urn:{name}") for name in "abpqgh")
BLANK, TEXT = ox.BlankNode("x"), ox.Literal("text")
QUADS = [
    *(ox.Quad(A, P, value, G) for value in (A, B, TEXT)),
    ox.Quad(B, P, A, G),
    ox.Quad(BLANK, Q, TEXT, G),
    ox.Quad(A, Q, BLANK, H),
    ox.Quad(A, P, B, H),
]


@pytest.mark.parametrize("beneath", [0, 3, len(QUADS)])
def test_patterns_are_found_as_in_a_store(beneath):
    """Each pattern gives the quads of a store, with any part of them in the quads beneath."""
    store = ox.Store()
    store.extend(QUADS)
    quads = IndexedQuads(QUADS[beneath:], IndexedQuads(QUADS[:beneath]))
    subjects, predicates = (None, A, B, BLANK, P), (None, P, Q, A)
    values, graphs = (None, A, B, BLANK, TEXT, P), (None, G, H, A)
    for pattern in product(subjects, predicates, values, graphs):
        found = list(quads.quads_for_pattern(*pattern))
        wanted = list(store.quads_for_pattern(*pattern))
        assert sorted(map(str, found)) == sorted(map(str, wanted)), pattern


def test_statements_of_two_graphs_are_grouped_once():
    """A value in two graphs is one value; subjects and values keep the order of the quads."""
    assert by_subject(QUADS) == {
        "urn:a": {"urn:p": [A, B, TEXT], "urn:q": [BLANK]},
        "urn:b": {"urn:p": [A]},
        "_:x": {"urn:q": [TEXT]},
    }
