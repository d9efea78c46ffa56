# SPDX-License-Identifier: Apache-2.0
"""Generated worlds: they differ by seed, are as declared, and refuse what they have not."""

from __future__ import annotations

from itertools import islice

import pyshacl
import pytest
import rdflib

from kgbench import resources
from kgbench.errors import EvaluationError, TaskError
from kgbench.tasks import graphs
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World

WORLD = World("0123456789abcdef", 200)


def test_another_seed_gives_another_world():
    """The worlds of two seeds have nothing in common but the schema."""
    first, second = (set(generator.text(World(seed, 200)).splitlines()) for seed in "ab")

    assert first & second == set(generator.schema(generator.build_graph(WORLD)))


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_worlds_keep_to_their_shapes(seed):
    """Numbers of values, classes, datatypes, bounds and languages are as declared."""
    model = resources.path("tasks", "world", "model.ttl").read_text(encoding="utf-8")
    shapes = rdflib.Graph().parse(data=model, format="turtle")
    data = rdflib.Graph().parse(data=generator.text(World(seed, 300)), format="nt")
    conforms, _, said = pyshacl.validate(data, shacl_graph=shapes)

    assert conforms, said


def test_links_that_go_on_never_come_back():
    """A transitive property has no cycles, so that "directly or over others" is unambiguous."""
    graph = generator.build_graph(World("a", 2_000))
    (part_of,) = (one.iri for one in graph.model.properties if one.transitive)
    longest = 0
    for start in graph.instances_of(
        next(p.domain for p in graph.model.properties if p.iri == part_of)
    ):
        at, steps = start, 0
        while above := at.links.get(part_of):
            (at,), steps = above, steps + 1
            assert steps < 100
        longest = max(longest, steps)

    assert longest >= 2


def test_what_a_world_has_not_is_refused():
    """Too many questions, too small worlds and unknown names are refused."""
    sheet = questions.QuestionSheet(World("a", 60), 1)
    with pytest.raises(TaskError, match=r"no more than \d+ questions of level 1: ask for fewer"):
        list(islice(map(sheet.__getitem__, range(100_000)), None))
    with pytest.raises(TaskError, match="too small"):
        generator.build_graph(World("a", 20))
    for name in ("world-0-natural-200-a", "world-1-other-200-a", "world-1-natural-x-a"):
        assert generator.world_of_name(name) is None
        with pytest.raises(EvaluationError, match="there is no graph"):
            graphs.text(name)
    assert generator.world_of_name(WORLD.name) == WORLD
