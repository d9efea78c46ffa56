# SPDX-License-Identifier: Apache-2.0
"""Updates of a generated world: wrong changes are counted.

What it shares with other families of SPARQL is tested in ``tests/families/test_sparql.py``.
"""

from __future__ import annotations

import pytest

from kgbench.api import PlainExecutor
from kgbench.families.Text2UpdateWorld.judge import family
from kgbench.tasks import graphs
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.writing import PREFIXES
from tests.support.families import cases, fenced


def test_triples_lost_and_added_are_told_apart():
    """Additional changes by an update are counted, and feedback does not reveal them."""
    executor = PlainExecutor()
    (case,) = cases(f"{family.NAME}-natural-1", 1)
    gold = case.data["refSparql"]
    wanted = len(executor.changes(gold, graphs.text(case.data["graphName"]), PREFIXES).rows)
    lost = "DELETE { ?s w:bornIn ?o } WHERE { ?s w:bornIn ?o }"
    added = "INSERT DATA { t:a t:b t:c , _:d . GRAPH t:g { t:a t:b t:c } }"
    places = len(executor.changes(lost, graphs.text(case.data["graphName"]), PREFIXES).rows)
    more = family.judge(case, [fenced(f"{gold} ;\n{lost} ;\n{added}")], executor)

    assert (more.scores["lost"], more.scores["added"]) == (places, 3)
    assert more.scores["recall"] == 1
    assert more.scores["precision"] == pytest.approx(wanted / (wanted + places + 3))
    assert (more.scores["exact"], more.feedback) == (0, "content")
    assert f"should keep: {places};" in more.next_prompt
    assert RESOURCE not in more.next_prompt
    assert family.judge(case, [fenced(f"{gold} ;\n{lost}")] * 3, executor).next_prompt is None

    nothing_left = family.judge(case, [fenced("DROP ALL")], executor)
    assert nothing_left.scores["lost"] > 2_000
    assert nothing_left.scores["exact"] == 0
