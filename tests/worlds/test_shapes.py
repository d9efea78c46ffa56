# SPDX-License-Identifier: Apache-2.0
"""Rules and faulty graphs about generated worlds, shared by the families about SHACL."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from kgbench.errors import TaskError
from kgbench.worlds import shape_cases
from kgbench.worlds.generator import World
from kgbench.worlds.rule_kinds import KINDS
from kgbench.worlds.scenes import violation_pairs
from tests.support import pyshacl_oracle

LEVELS = range(1, shape_cases.LEVELS + 1)
WORLD = World("0123456789abcdef", 400)


@pytest.mark.parametrize("level", LEVELS)
def test_faults_are_what_both_engines_find(level):
    """Both kgbench and pySHACL find the same violations with faults, and none without."""
    for number in range(6):
        faulty = shape_cases.draw_faulty_graph(WORLD, level, number)
        shapes = faulty.rules.shapes
        oracle = pyshacl_oracle.parsed(faulty.rules.text)
        for scene, expected in ((faulty.scene, set(faulty.violations)), (faulty.repaired, set())):
            assert violation_pairs(shapes.findings(scene.triples)) == expected
            assert violation_pairs(oracle.findings(scene.triples)) == expected


def test_all_kinds_of_rules_occur():
    """Every kind of rule of the generator occurs at some level."""
    rules = [
        rule
        for level in LEVELS
        for number in range(60)
        for rule in shape_cases.draw_faulty_graph(WORLD, level, number).rules.rules
    ]
    components = {rule.component for rule in rules}
    text = "\n".join({rule.words for rule in rules})

    assert components == KINDS.keys() - {"subjects", "objects", "inverse", "sequence"}
    for words in ("Everything that has", "Everything that is", "of more than", 'of a "'):
        assert words in text
    assert not re.search(r'\ba "?[aeio]', text)


@pytest.mark.parametrize("level", LEVELS)
def test_no_smaller_change_repairs_a_fault(level):
    """Fewer changes than the stated minimum, at the places of a fault, leave a violation."""
    for number in range(4):
        faulty = shape_cases.draw_faulty_graph(WORLD, level, number)
        for fault in faulty.faults:
            gone = [
                one
                for one in faulty.scene.triples
                if (str(one.subject), one.predicate.value) in fault.sites
            ]
            for size in range(1, fault.least):
                for chosen in combinations(gone, size):
                    left = [one for one in faulty.scene.triples if one not in chosen]
                    found = violation_pairs(faulty.rules.shapes.findings(left))
                    assert fault.violations & found


def test_what_a_world_has_not_is_refused(monkeypatch):
    """A world that is too small to give a case is refused."""
    with pytest.raises(TaskError, match="too small"):
        shape_cases.draw_faulty_graph(World("a", 20), 1, 0)
    monkeypatch.setattr(shape_cases, "_draw_rules", lambda *_: None)
    shape_cases.rule_set_of_draw.cache_clear()
    with pytest.raises(TaskError, match="gives no more rules of level 5: ask for fewer cases"):
        shape_cases.draw_faulty_graph(World("b", 400), 5, 0)
    shape_cases.rule_set_of_draw.cache_clear()
