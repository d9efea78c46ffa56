# SPDX-License-Identifier: Apache-2.0
"""Reading declared Turtle, and the metrics of whole dialogues derived from a declaration."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.errors import QueryError, ResourceError
from kgbench.rdf.declared import Declared, quads, shipped
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

HEAD = """
@prefix : <https://example.org/metric/Class/2/> .
@prefix old: <https://example.org/metric/Class/1/> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
CLASS = """
<https://example.org/class> a kgb:TaskClass ; kgb:metric :f1 ; kgb:mainMetric :f1 .
:f1 a kgb:Metric ; skos:notation "f1" ; rdfs:label "F1"@en ; schema:version "2" ;
    kgb:aggregations "max" , "last" ; kgb:higherIsBetter true ;
    schema:minValue 0.0e0 ; schema:maxValue 1.0e0 ; kgb:supersedes old:f .
old:f skos:notation "f" .
"""
PLACE = "https://example.org/metric/Class/"


@pytest.fixture
def declared(tmp_path: Path) -> Declared:
    """Return a task class with one metric of single answers."""
    file = tmp_path / "task.ttl"
    file.write_text(HEAD + CLASS, encoding="utf-8")
    return Declared(file)


def test_metrics_of_dialogues_follow(declared: Declared) -> None:
    """Each aggregation of a metric adds a metric to the class, with its base and aggregation."""
    node = ox.NamedNode("https://example.org/class")
    names = [iri.removeprefix(PLACE) for iri in declared.texts(node, KGB.metric)]
    assert names == ["2/f1", "2/last_f1", "2/max_f1"]
    made = ox.NamedNode(f"{PLACE}2/max_f1")
    assert made in declared.instances(KGB.Metric)
    assert declared.required(made, SKOS.notation) == "max_f1"
    assert declared.required(made, RDFS.label) == "F1, max"
    assert declared.required(made, SKOS.definition).startswith("F1: greatest value")
    assert declared.required(made, SCHEMA.version) == "2"
    assert declared.value(made, SCHEMA.maxValue) == 1.0
    assert declared.value(made, KGB.higherIsBetter) is True
    assert declared.required(made, KGB.aggregation) == "max"
    assert declared.required(made, KGB.aggregationOf) == f"{PLACE}2/f1"
    assert declared.required(made, KGB.supersedes) == f"{PLACE}1/max_f"
    assert declared.objects(made, KGB.aggregations) == []


def test_nothing_follows_from_other_declarations() -> None:
    """A document without a task class has no additional triples."""
    assert len(quads((HEAD + CLASS.replace("kgb:mainMetric", "kgb:other")).encode())) == 14


SHORT = """
@prefix template: <https://w3id.org/kgbench/template/> .
<https://example.org/task-class/Class/2> a kgb:TaskClass ;
    kgb:supersedes <https://example.org/task-class/Class/1> ; kgb:maxRounds 3 ;
    kgb:mainMetric :max_f1 ; kgb:metricTemplate template:f1 , template:friends ; kgb:metric :new ;
    kgb:parameter [ kgb:template <https://w3id.org/kgbench/template/parameter/level> ;
        schema:maxValue 2 ] ;
    kgb:parameter [ kgb:parameterName "format" ; kgb:allowedValue "json-ld" , "ntriples" ] ;
    kgb:labelPattern "Class-{format}-{level}" .
:f1 skos:definition "F1 of friends."@en .
:new kgb:template template:count ; rdfs:label "new"@en ; kgb:firstVersion "2" .
"""


@pytest.fixture
def short(tmp_path: Path) -> Declared:
    """Return a task class that takes most of its declaration from templates."""
    file = tmp_path / "task.ttl"
    file.write_text(HEAD + SHORT, encoding="utf-8")
    return Declared(file)


def test_metrics_take_what_they_lack_from_templates(short: Declared) -> None:
    """A template, its own template and a collection of templates describe metrics."""
    f1, new = ox.NamedNode(f"{PLACE}2/f1"), ox.NamedNode(f"{PLACE}2/new")
    assert short.required(f1, SKOS.definition) == "F1 of friends."
    assert short.required(f1, RDFS.label) == "F1"
    assert short.value(f1, SCHEMA.maxValue) == 1.0
    assert short.required(f1, SCHEMA.version) == "2"
    assert short.texts(f1, KGB.aggregations) == ["last", "max", "mean", "meanExt"]
    assert f"{PLACE}2/brevity" in short.texts(short.only(KGB.TaskClass), KGB.metric)
    assert f"{PLACE}2/friends" not in short.texts(short.only(KGB.TaskClass), KGB.metric)
    assert short.required(new, SKOS.notation) == "new"
    assert short.value(new, KGB.higherIsBetter) is False
    assert short.value(new, SCHEMA.maxValue) is None


def test_metrics_supersede_those_of_the_version_before(short: Declared) -> None:
    """A new version of a class supersedes each metric, unless it was added in this version."""
    assert short.required(ox.NamedNode(f"{PLACE}2/f1"), KGB.supersedes) == f"{PLACE}1/f1"
    assert short.required(ox.NamedNode(f"{PLACE}2/max_f1"), KGB.supersedes) == f"{PLACE}1/max_f1"
    assert short.text(ox.NamedNode(f"{PLACE}2/new"), KGB.supersedes) is None


def test_answers_without_rounds_are_not_aggregated() -> None:
    """Metrics of a class without feedback do not take the aggregations of their template."""
    text = HEAD + SHORT.replace("maxRounds 3", "maxRounds 1")
    assert not [quad for quad in quads(text.encode()) if quad.predicate.value == KGB.aggregations]


def test_a_pattern_gives_a_task_for_every_combination(short: Declared) -> None:
    """Labels have the values of the parameters, and short names of formats."""
    tasks = {
        short.required(task, SKOS.notation): task for task in short.instances(KGB.LabelledTask)
    }
    assert sorted(tasks) == ["Class-jsonld-1", "Class-jsonld-2", "Class-nt-1", "Class-nt-2"]
    settings = {
        short.required(setting, KGB.parameterName): short.value(setting, KGB.parameterValue)
        for setting in short.objects(tasks["Class-nt-2"], KGB.setting)
    }
    assert settings == {"format": "ntriples", "level": 2}
    assert len(short.instances(KGB.Setting)) == 8


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda d, n: d.required(n, SKOS.note), r"task\.ttl: .*f1> has no <.*note>"),
        (lambda d, n: d.text(n, KGB.aggregations), "f1> has several values of <.*aggregations>"),
        (lambda d, n: d.read(n, SKOS.notation, int), "<.*notation> of .*f1> cannot be 'f1'"),
        (lambda d, n: d.required_as(n, SKOS.note, int), "has no <.*note>"),
        (lambda d, n: d.required_value(n, SKOS.note), "has no <.*note>"),
        (lambda d, _: d.only(KGB.Price), r"task\.ttl must describe one Price, not 0"),
    ],
)
def test_what_was_not_declared_is_named(declared: Declared, read, message: str) -> None:
    """An error about a missing or wrong value names the file, the resource and the property."""
    with pytest.raises(ResourceError, match=message):
        read(declared, ox.NamedNode(f"{PLACE}2/f1"))


def test_unknown_names_are_answered_with_the_known(declared: Declared) -> None:
    """An undeclared name is refused with the declared names."""
    with pytest.raises(QueryError, match="declares no Metric 'f2'; there are: f1, last_f1, max_f1"):
        declared.named(KGB.Metric, "f2")


@pytest.mark.parametrize("content", [None, "<a> <b> ."])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, content: str | None) -> None:
    """A missing file and a file that is not Turtle are refused by name and reason."""
    file = tmp_path / "x.ttl"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(ResourceError, match=r"x\.ttl cannot be read: "):
        Declared(file)


def test_shipped_files_are_read_once() -> None:
    """A file that ships with kgbench is read once."""
    assert shipped("ontology", "suites.ttl") is shipped("ontology", "suites.ttl")
    assert shipped("ontology", "suites.ttl").subjects(KGB.canary)
