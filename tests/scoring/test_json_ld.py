# SPDX-License-Identifier: Apache-2.0
"""Triples and frames of JSON-LD documents: how they are written and compared."""

from __future__ import annotations

import pytest

from kgbench.scoring import json_ld


def test_triples_are_written_as_they_are_parsed():
    """Literals, languages, named graphs and blank nodes are written as in N-Triples."""
    found = json_ld.rows(
        {
            "@context": {"@vocab": "http://e.org/"},
            "@id": "http://e.org/s",
            "a": ['say "x"\n', 1, True, 1.5, {"@value": "y", "@language": "EN"}],
            "b": {"c": "z"},
            "g": {"@id": "http://e.org/g", "@graph": {"@id": "http://e.org/t", "d": "in"}},
        }
    )
    lines = [one + " ." for one in found if "_:" not in one and not one.endswith("/g>")]

    assert json_ld.ntriples_rows(lines) == {line.removesuffix(" .") for line in lines}
    assert len(lines) == 5
    assert sum("_:" in one for one in found) == 2
    assert '<http://e.org/t> <http://e.org/d> "in" <http://e.org/g>' in found


def test_errors_of_the_processor_are_refusals():
    """Errors that PyLD does not foresee, and deep nesting, are refused."""
    deep = at = {}
    for _ in range(3_000):
        at["@context"] = {"a": {"@context": {}}}
        at = at["@context"]["a"]
    twice = {"@id": "urn:a", "@index": "x"}
    for document, said in (
        ({"@context": deep, "a": 1}, "nested too deeply"),
        ({"@graph": [twice, twice]}, "a keyword has a value that it cannot have"),
    ):
        with pytest.raises(json_ld.IllFormedJsonLd, match=said):
            json_ld.rows(document)


def test_trees_are_compared_up_to_the_order_of_arrays():
    """Arrays are unordered, but a value in another node or under another key differs."""
    one = {"@graph": [{"id": "a", "k": [1, 2]}, {"id": "b", "k": {"id": "c"}}, {"id": "d"}]}
    other = {"@graph": [{"id": "d"}, {"id": "b", "k": {"id": "c"}}, {"id": "a", "k": [2, 1]}]}
    moved = {"@graph": [{"id": "a", "k": [1]}, {"id": "b", "k": {"id": "c"}}, {"id": "d", "k": 2}]}

    assert json_ld.sort_arrays(one) == json_ld.sort_arrays(other) != json_ld.sort_arrays(moved)
    assert set(json_ld.leaves(one)) == set(json_ld.leaves(other))
    assert set(json_ld.leaves(one)) - set(json_ld.leaves(moved)) == {"a /@graph/k 2"}
    assert list(json_ld.leaves({"k": {}})) == [" /k {}"]
