# SPDX-License-Identifier: Apache-2.0
"""Graphs built from a generated world: blank nodes are compared up to their names.

What it shares with other families of SPARQL is tested in ``tests/families/test_sparql.py``.
"""

from __future__ import annotations

from kgbench.api import PlainExecutor
from kgbench.families.Text2ConstructWorld.judge import family
from tests.support.families import cases, fenced


def test_a_graph_of_blank_nodes_is_compared_up_to_their_names():
    """A query may build equal blank nodes in another way, but not share one node."""
    executor = PlainExecutor()
    found = (case for level in (4, 5) for case in cases(f"{family.NAME}-natural-{level}", 30))
    nodes = [case for case in found if "[] a t:Statement" in case.data["refSparql"]]
    assert nodes
    for case in nodes:
        gold = case.data["refSparql"]
        other = gold.replace("[] a t:Statement ;", "_:n a t:Statement . _:n ")
        shared = gold.replace("[] a t:Statement ;", "t:n a t:Statement . t:n ")
        half = gold.replace("t:about ?x ;", "")
        scores = [
            family.judge(case, [fenced(one)], executor).scores for one in (other, shared, half)
        ]

        assert scores[0]["exact"] == 1
        assert (scores[1]["exact"], scores[1]["f1"]) == (0, 0)
        assert scores[2]["exact"] == 0
        assert 0 < scores[2]["f1"] < 1
