# SPDX-License-Identifier: Apache-2.0
"""An import of a data set conforms to shapes/datasets.ttl; every mutant fails."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox
import pytest
from pyshacl import validate
from rdflib import Graph

from kgbench import resources
from kgbench.importers import text2kgbench
from kgbench.importers import text2kgbench_catalogue as catalogue
from kgbench.importers.text2kgbench_catalogue import ontology_iri
from kgbench.store.iris import Iris
from tests.support import text2kg_data
from tests.support.pyshacl_oracle import rdflib_graph
from tests.support.rdf_mutants import mutants
from tests.support.shape_checker import Checker, quiet


@cache
def checker() -> Checker:
    """Return the triples about the invented data set, without tasks and cases, and the shapes."""
    iris, lines = Iris(), []
    with TemporaryDirectory() as folder:
        data = text2kgbench.read(text2kg_data.write(Path(folder)))
        for one in data.parts:
            cases = {uid: case.iri for uid, case in one.by_uid.items()}
            lines += catalogue.ontology_lines(iris, one.part, one.cases)
            lines += catalogue.problem_lines(
                iris, one.part.collection, one.problems, ontology_iri(one.part), cases
            )
    parsed = ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES)
    declared = Graph().parse(resources.path("shapes", "datasets.ttl"), format="turtle")
    return Checker(rdflib_graph(parsed), declared)


def test_what_is_written_conforms() -> None:
    """Ontologies, subsets and problems conform to the shapes."""
    assert validate(checker().data, shacl_graph=checker().shapes)[0]


def test_mutants_are_refused() -> None:
    """Each constraint is violated by its mutant, and no constraint lacks a mutant."""
    found, survivors, untried, tried = checker(), [], [], 0
    with quiet():
        made_for = list(mutants(found.shapes, found.data))
    for constraint, made in made_for:
        if not made:
            untried.append(str(constraint))
        for mutant in made:
            tried += 1
            change = (mutant.remove, mutant.add)
            if mutant.component not in found.complaints(mutant.shape, mutant.focus, change):
                survivors.append(mutant.name)
    assert (survivors, untried) == ([], [])
    assert tried > 50


@pytest.mark.parametrize("name", ["datasets.ttl"])
def test_declared_file_parses(name: str) -> None:
    """The declared data sets are valid Turtle."""
    path = str(resources.path("ontology", name))
    assert list(ox.parse(path=path, format=ox.RdfFormat.TURTLE))
