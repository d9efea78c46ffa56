# SPDX-License-Identifier: Apache-2.0
"""The shapes of task descriptions, and the declared files that they apply to."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.rdf.declared import quads
from kgbench.vocab import KGB, XSD
from tests.support.validation import report

TASKS = resources.files("tasks", "*/task.ttl")


def _triples(path: Path) -> list[ox.Quad]:
    return quads(path.read_bytes())


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.parent.name)
def test_description_conforms(path: Path) -> None:
    """Every shipped task description conforms."""
    assert report(_triples(path), "tasks") == []


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.parent.name)
def test_description_names_its_folder(path: Path) -> None:
    """A folder in tasks/ has the name of the one task class that it describes."""
    described = [
        quad.subject.value for quad in _triples(path) if quad.object == ox.NamedNode(KGB.TaskClass)
    ]
    assert [iri.split("/")[-2] for iri in described] == [path.parent.name]


def test_faulty_description_is_refused() -> None:
    """A faulty description is refused with the reason, also if the faults are in blank nodes."""
    spoilt = [
        quad
        for quad in _triples(TASKS[0])
        if quad.predicate not in (ox.NamedNode(KGB.defaultValue), ox.NamedNode(KGB.mainMetric))
    ]
    found = report(spoilt, "tasks")
    assert any("kgb:mainMetric" in line for line in found)
    assert any("kgb:defaultValue" in line for line in found)


def test_a_main_metric_of_which_less_is_better_is_refused() -> None:
    """A main metric cannot be an error rate, because leaderboards rank by main metrics."""
    (path,) = [path for path in TASKS if path.parent.name == "ClaimCheckWorld"]
    main, correct = ox.NamedNode(KGB.mainMetric), "correct"
    spoilt = [
        quad
        if quad.predicate != main
        else ox.Quad(
            quad.subject, main, ox.NamedNode(quad.object.value.replace(correct, "overclaiming"))
        )
        for quad in _triples(path)
    ]
    (found,) = report(spoilt, "tasks")
    assert "kgb:mainMetric" in found
    assert "kgb:higherIsBetter" in found


def test_threshold_that_nothing_reaches_is_refused() -> None:
    """A success threshold above the maximum of its metric is refused."""
    (path,) = [path for path in TASKS if path.parent.name == "RdfSyntaxFixList"]
    threshold = ox.NamedNode(KGB.successThreshold)
    too_high = ox.Literal("1.5", datatype=ox.NamedNode(XSD.double))
    spoilt = [
        ox.Quad(quad.subject, quad.predicate, too_high) if quad.predicate == threshold else quad
        for quad in _triples(path)
    ]
    assert any("kgb:successThreshold" in line for line in report(spoilt, "tasks"))


def test_declared_catalogue_conforms() -> None:
    """All declarations together form a catalogue that conforms to the result shapes."""
    paths = [
        *resources.folder("ontology").glob("*.ttl"),
        *resources.folder("queries").glob("*.ttl"),
        resources.path("store", "layout.ttl"),
        *TASKS,
    ]
    assert report([quad for path in paths for quad in _triples(path)], "results") == []


@pytest.mark.parametrize("spoil", ["error", "unbounded"])
def test_a_main_metric_that_is_best_inside_its_range_is_refused(spoil: str) -> None:
    """A main metric is no error, best at 0, and has no values above the best one."""
    path = resources.path("tasks", "TurtleSampleGeneration", "task.ttl")
    text = path.read_text(encoding="utf-8")
    main = "kgb:mainMetric metric:persons_agreement"
    assert main in text
    other = text.replace(main, "kgb:mainMetric metric:persons_relative_error")
    if spoil == "unbounded":
        other = other.replace("kgb:agreementOf metric:persons_relative_error ;", "")
    found = report(quads(other.encode()), "tasks")
    assert len(found) == (2 if spoil == "error" else 1)
    assert "is none of" in found[-1]
