# SPDX-License-Identifier: Apache-2.0
"""Whether another engine finds a changed answer equivalent on 200 random graphs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import owlrl
import pyoxigraph as ox
import rdflib

from kgbench.model import Case
from kgbench.tasks.world_questions import graph_name
from kgbench.validation.foreign import ForeignShapes
from kgbench.worlds import generator, shape_trials
from kgbench.worlds.axioms import PREFIX_LINES
from kgbench.worlds.questions import PREFIXES

GRAPHS = 200


def shapes(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether pySHACL finds that the same graphs conform to both shapes."""
    chance = random.Random(seed)
    both = [
        ForeignShapes(quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE))
        for text in (one, other)
    ]
    world = generator.world_of_name(case.data["graphName"])
    assert world is not None
    trials = shape_trials.trial_graphs(world, case.parameters["level"], case.data["draw"])
    for _ in range(GRAPHS):
        graph = _perturbed(chance.choice(trials).triples, chance, 4)
        first, second = (bool(each.by_pyshacl(graph)) for each in both)
        if first != second:
            return False
    return True


def queries(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether rdflib finds the same results of both queries."""
    chance, world = random.Random(seed), generator.world_of_name(graph_name(case))
    assert world is not None
    quads = ox.parse(generator.text(world), ox.RdfFormat.N_TRIPLES)
    triples = [quad.triple for quad in quads]
    for _ in range(GRAPHS):
        data = "\n".join(f"{triple} ." for triple in _perturbed(triples, chance, 400))
        graph = rdflib.Graph().parse(data=data, format="nt")
        first, second = (
            sorted(map(str, graph.query(text, initNs=PREFIXES))) for text in (one, other)
        )
        if first != second:
            return False
    return True


def axioms(case: Case, one: str, other: str, seed: int) -> bool:
    """Return whether owlrl finds the same facts from random facts with both ontologies."""
    chance = random.Random(seed)
    lines = [line.split() for line in case.data["declarations"]]
    classes = [name for name, _, kind, _ in lines if kind == "owl:Class"]
    properties = [name for name, _, kind, _ in lines if kind == "owl:ObjectProperty"]
    for _ in range(GRAPHS):
        facts = list(_random_facts(classes, properties, chance))
        first, second = (_closure([text, *facts]) for text in (one, other))
        if first != second:
            return False
    return True


def _random_facts(
    classes: Sequence[str], properties: Sequence[str], chance: random.Random
) -> Iterator[str]:
    for _ in range(chance.randint(1, 4)):
        x, y = (f"o:any{chance.randint(1, 3)}" for _ in "xy")
        if classes and (not properties or chance.random() < 0.5):
            yield f"{x} a {chance.choice(classes)} ."
        else:
            yield f"{x} {chance.choice(properties)} {y} ."


def _closure(lines: Sequence[str]) -> frozenset[tuple[str, ...]]:
    graph = rdflib.Graph().parse(data="\n".join([PREFIX_LINES, *lines]), format="turtle")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return frozenset(
        tuple(map(str, triple))
        for triple in graph
        if "/any" in triple[0] and isinstance(triple[0], rdflib.URIRef)
    ) | frozenset(("error", str(o)) for o in graph.objects(None, rdflib.RDF.value))


def _perturbed(triples: Sequence[ox.Triple], chance: random.Random, most: int) -> list[ox.Triple]:
    """Leave out some triples, and exchange the objects of others with the same predicate."""
    result = list(triples)
    for _ in range(chance.randint(1, most)):
        index, other = chance.randrange(len(result)), chance.randrange(len(result))
        one, two = result[index], result[other]
        if one.predicate == two.predicate and chance.random() < 0.7:
            result[index] = ox.Triple(one.subject, one.predicate, two.object)
        elif len(result) > 2 and chance.random() < 0.3:
            del result[index]
    return result
