# SPDX-License-Identifier: Apache-2.0
"""The shapes of configurations accept a full one and refuse every mutant of it."""

from __future__ import annotations

from pathlib import Path

import pyshacl
import pytest
from rdflib import SH, Graph, URIRef

from kgbench import resources
from kgbench.vocab import BASE
from tests.rdf_mutants import Mutant, mutants
from tests.shape_checker import Checker, quiet
from tests.shape_constraints import Constraint

SAMPLE = Path(__file__).parent / "graphs" / "configuration.ttl"
NAMESPACE = f"{BASE}shapes/configuration#"
# Shapes that say which keys go together; tests/test_config_findings.py holds them one by one.
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
    """A configuration with every key, one per case, and a part must be accepted."""
    conforms, _, text = pyshacl.validate(CHECKER.data, shacl_graph=CHECKER.shapes)
    assert conforms, text


@pytest.mark.parametrize("shape", sorted(MUTANTS))
def test_mutants_fail(shape: str) -> None:
    """Each constraint on a value complains when the sample is spoilt for it; none is left out."""
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
    """The machine makes many mutants; far fewer would mean that it has gone blind."""
    assert sum(len(made) for shape in MUTANTS.values() for _, made in shape) > 100


def test_shapes_have_words() -> None:
    """Every property of a configuration says in words what is allowed, for messages."""
    shapes = CHECKER.shapes
    held = set(shapes.objects(None, SH.property))
    named = {shape for shape in held if isinstance(shape, URIRef)}
    assert len(named) > 15
    for shape in named:
        assert shapes.value(shape, SH.description), shape
        assert shapes.value(shape, SH.name), shape
