# SPDX-License-Identifier: Apache-2.0
"""Generated ontologies: names, restrictions and sentences of their axioms."""

from __future__ import annotations

import pytest

from kgbench.errors import TaskError
from kgbench.worlds import axioms, ontologies, owl_cases
from kgbench.worlds.axioms import axiom
from kgbench.worlds.naming import Chance


def test_a_level_without_cases_is_refused(monkeypatch):
    """If no attempt gives a case, an error says so."""
    monkeypatch.setattr(owl_cases, "is_regular", lambda _: False)
    with pytest.raises(TaskError, match="no ontology of level 1 was found in 400 attempts"):
        owl_cases.entailments("a", "natural", 1, 0)


def test_names_are_drawn_once_each():
    """Each name is drawn once; opaque names are numbers, with invented labels."""
    natural = ontologies.Vocabulary("natural", Chance("a"))
    drawn = [natural.fresh("p") for _ in range(30)]
    with pytest.raises(ontologies.NoMoreNames):
        [natural.fresh("p") for _ in range(100)]
    opaque = ontologies.Vocabulary("opaque", Chance("a"))
    numbers = [opaque.fresh(sort) for sort in "cpi" for _ in range(20)]

    assert len(set(drawn)) == 30
    assert all(name[0] in "cpi" and name[1:].isdecimal() for name in numbers)
    assert len(set(opaque.labels.values())) == len(numbers)


@pytest.mark.parametrize(
    ("stated", "fits"),
    [
        ([("transitive", "p"), ("subproperty", "q", "p"), ("functional", "q")], True),
        ([("transitive", "p"), ("subproperty", "p", "q"), ("functional", "q")], False),
        ([("transitive", "p"), ("inverse", "p", "q"), ("asymmetric", "q")], False),
        ([("chain", "p", "q", "r"), ("irreflexive", "r")], False),
        ([("chain", "p", "q", "r"), ("most", "c", "r")], False),
        ([("chain", "p", "q", "r"), ("functional", "p")], True),
        ([("chain", "p", "q", "r"), ("subproperty", "r", "p")], False),
        ([("chain", "p", "q", "r"), ("inverse", "r", "s"), ("subproperty", "s", "q")], False),
        ([("subproperty", "p", "q"), ("subproperty", "q", "p")], False),
    ],
)
def test_restrictions_on_properties_are_known(stated, fits):
    """The restrictions of OWL 2 DL on chains and composite properties are checked."""
    assert axioms.is_regular([axiom(*one) for one in stated]) is fits


def test_no_axiom_has_the_sentence_of_another():
    """Sentences of all kinds differ."""
    said = {kind.words for kind in axioms.KINDS.values()}

    assert len(said) == len(axioms.KINDS)
