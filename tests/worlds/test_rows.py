# SPDX-License-Identifier: Apache-2.0
"""Differences and isomorphism of graphs, up to blank nodes."""

from __future__ import annotations

from kgbench.worlds.rows import Difference, is_isomorphic, is_rigid, only_difference


def rows(*lines):
    """Return triples as the matcher represents them."""
    return frozenset(tuple(line.split()) for line in lines)


def test_the_least_difference_is_found_whatever_labels_there_are():
    """Blank nodes are paired so that as few triples as possible are removed."""
    first = rows("_:a <p> 1", "_:a <q> 2", "_:b <p> 1", "_:b <q> 3", "<s> <l> _:a")
    second = rows("_:x <p> 1", "_:x <q> 3", "_:y <p> 1", "_:y <q> 4", "<s> <l> _:y")

    found = only_difference(first, second, 4)

    assert found == Difference(rows("_:a <q> 2"), rows("_:y <q> 4"))
    assert only_difference(first, second, 0) is None


def test_two_least_differences_are_none():
    """If one of two equal nodes may have changed, there is no unique difference."""
    first = rows("_:a <p> 1", "_:b <p> 1")
    second = rows("_:x <p> 1", "_:x <q> 2", "_:y <p> 1")

    # Removing nothing, <q> is added to x; both nodes give the same result.
    assert only_difference(first, second, 2) == Difference(rows(), rows("_:x <q> 2"))
    # In the other direction, <q> is removed from the one node that has it.
    assert only_difference(second, first, 2) == Difference(rows("_:x <q> 2"), rows())
    alike = rows("_:x <p> 1")
    assert only_difference(first, alike, 2) is None
    # Two differences that are not minimal do not matter.
    third = rows("_:a <p> 1", "_:a <q> 2", "_:b <p> 1", "_:b <q> 3")
    fourth = rows("_:x <p> 1", "_:x <q> 2", "_:x <r> 4", "_:y <p> 1")
    assert only_difference(third, fourth, 9) == Difference(rows("_:b <q> 3"), rows("_:x <r> 4"))


def test_nodes_that_nothing_tells_apart_are_known():
    """A graph is rigid if no other pairing with itself keeps it."""
    assert is_rigid(rows("_:a <p> _:b", "_:b <q> 1"))
    assert not is_rigid(rows("_:a <p> _:b", "_:b <p> _:a"))
    assert not is_rigid(frozenset((f"_:{n}", "<p>", "1") for n in range(30)))


def test_isomorphism_is_told():
    """Exactly the graphs that are equal up to labels are isomorphic."""
    ring = rows("_:a <p> _:b", "_:b <p> _:c", "_:c <p> _:a")
    other = rows("_:x <p> _:z", "_:z <p> _:y", "_:y <p> _:x")

    assert is_isomorphic(ring, other) is True
    assert is_isomorphic(ring, rows("_:x <p> _:z", "_:z <p> _:y", "_:x <p> _:y")) is False
    assert is_isomorphic(ring, rows("_:x <p> _:x")) is False
