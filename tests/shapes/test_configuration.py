# SPDX-License-Identifier: Apache-2.0
"""The configuration shapes accept a complete configuration and refuse every mutant of it."""

from __future__ import annotations

from pathlib import Path

import pyshacl
import pytest
from rdflib import SH, Graph, URIRef

from kgbench import resources
from kgbench.vocab import BASE
from tests.support.rdf_mutants import Mutant, mutants
from tests.support.shape_checker import Checker, quiet
from tests.support.shape_constraints import Constraint

SAMPLE = Path(__file__).parents[1] / "graphs" / "configuration.ttl"
NAMESPACE = f"{BASE}shapes/configuration#"
# Shapes about combinations of keys; tests/config/test_findings.py tests each of them.
COMBINATIONS = {
    SH.node, SH["or"], SH.xone,
}  # fmt: skip


def _checker() -> Checker:
    shapes = Graph().parse(resources.path("shapes", "configuration.ttl"), format="turtle")
    return Checker(Graph().parse(SAMPLE, format="turtle"), shapes)


CHECKER = _checker()


def _all_mutants() -> dict[str, list[tuple[Constraint, list[Mutant]]]]:
    found: dict[str, list[tuple[Constraint, list[Mutant]]]] = {}
    with quiet():
        for constraint, made in mutants(CHECKER.shapes, CHECKER.data):
            name = str(constraint.shape).removeprefix(NAMESPACE)
            found.setdefault(name, []).append((constraint, made))
    return found


MUTANTS = _all_mutants()


def test_sample_conforms() -> None:
    """A configuration with every key, one per case, and a part conform."""
    conforms, _, text = pyshacl.validate(CHECKER.data, shacl_graph=CHECKER.shapes)
    assert conforms, text


@pytest.mark.parametrize("shape", sorted(MUTANTS))
def test_mutants_fail(shape: str) -> None:
    """Each constraint on a value is violated by a mutant of the sample."""
    survivors, untried = [], []
    for constraint, made in MUTANTS[shape]:
        if constraint.parameter in COMBINATIONS:
            continue
        if not made:
            untried.append(str(constraint))
        for mutant in made:
            change = (mutant.remove, mutant.add)
            if mutant.component not in CHECKER.complaints(mutant.shape, mutant.focus, change):
                survivors.append(mutant.name)
    assert (survivors, untried) == ([], [])


def test_mutants_are_many() -> None:
    """More than 100 mutants are generated, so that the test above is not empty."""
    assert sum(len(made) for shape in MUTANTS.values() for _, made in shape) > 100


def test_shapes_have_words() -> None:
    """Every property of a configuration has a name and a description for messages."""
    shapes = CHECKER.shapes
    held = set(shapes.objects(None, SH.property))
    named = {shape for shape in held if isinstance(shape, URIRef)}
    assert len(named) > 15
    for shape in named:
        assert shapes.value(shape, SH.description), shape
        assert shapes.value(shape, SH.name), shape
