# SPDX-License-Identifier: Apache-2.0
"""Other engines agree about a thousand generated queries and updates, and about generated shapes.

A difference is a habit of an engine and mended in :mod:`kgbench.execution`, as ``BNODE(text)`` and
long strings in triple terms are.
"""

from __future__ import annotations

import pytest

from kgbench.execution.engines import engine
from kgbench.policies.blank_nodes import compare_changes
from kgbench.policies.compare import Reference, compare
from kgbench.policies.policy import policy
from kgbench.tasks import catalogue
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World
from kgbench.worlds.writing import PREFIXES

WORLD = World("31", 120)
LARGE = World("31", 400)  # small worlds have too few texts of the higher levels
LEVELS = (1, 2, 3, 4, 5)
NUMBER = 67  # of each kind and level, together a thousand


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["Text2SparqlWorld", "Text2ConstructWorld", "Text2UpdateWorld"])
def test_engines_agree_about_generated_texts(name, level):
    """Oxigraph and rdflib find the same rows and write the same triples."""
    world = WORLD if level < 4 else LARGE
    family = catalogue.module(name)
    sheet = questions.sheet(world, level, family.sheet)
    graph, (ours, other) = generator.text(world), (engine("oxigraph"), engine("rdflib"))
    different = []
    for number in range(NUMBER):
        query = sheet[number].query
        if not family.WRITES:
            expected, found = (one.results(query, graph, PREFIXES) for one in (ours, other))
            scores = compare(policy("rows"), Reference(expected), found).scores
        else:
            expected, found = (one.changes(query, graph, PREFIXES) for one in (ours, other))
            scores = compare_changes(expected, found).scores
        if expected.error or scores["exact"] < 1:
            different.append(query)

    assert different == []
