# SPDX-License-Identifier: Apache-2.0
"""The catalogue of task classes: what it finds, completes and refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kgbench.errors import ResourceError, TaskError
from kgbench.model import Parameter
from kgbench.scoring.facts import CLEANINGS
from kgbench.tasks import catalogue, declaration
from kgbench.tasks.declaration import normalised


def test_the_declared_cleanings_are_those_there_are() -> None:
    """The declared cleanings of Text2KG are those implemented."""
    assert set(catalogue.task_class("Text2KG").parameters["cleaning"].allowed) == set(CLEANINGS)


def test_aggregated_metrics_name_their_base() -> None:
    """Every metric of whole dialogues is named after its aggregation and its base metric."""
    for each in catalogue.task_classes().values():
        bases = {metric.iri: metric.name for metric in each.answer_metrics.values()}
        for metric in each.metrics.values():
            if metric.aggregation is not None:
                assert metric.base is not None
                assert metric.name == f"{metric.aggregation}_{bases[metric.base]}"


def test_metric_iris_follow_the_pattern() -> None:
    """A metric's IRI has class, version and name; another version has other IRIs."""
    base = "https://w3id.org/kgbench/metric/RdfFriendCount"
    assert catalogue.metric_iris("RdfFriendCount")["f1"] == f"{base}/4.4/f1"
    for each in catalogue.task_classes().values():
        for name, metric in each.metrics.items():
            expected = f"https://w3id.org/kgbench/metric/{each.name}/{each.version}/{name}"
            assert metric.iri == expected
            assert metric.version == each.version


def test_labels_are_unique_and_complete() -> None:
    """Each label is one task, with a value for every parameter of its class."""
    for label, task in catalogue.labelled_tasks().items():
        assert task.label == label
        declared = catalogue.task_class(task.task_class).parameters
        assert set(task.parameters) == set(declared)


def test_make_task_converts_and_completes() -> None:
    """Values are converted to the declared types, format names unified, and defaults added."""
    task = catalogue.make_task(
        "RdfFriendCount", "mine", {"specialAddKnowsCount": "2", "graphFormat": "nt", "size": None}
    )
    assert dict(task.parameters) == {
        "graphFormat": "ntriples",
        "knowsCount": 2,
        "size": 1000,
        "specialAddKnowsCount": 2,
        "specialIndex": 3,
    }
    assert task.iri.startswith("https://w3id.org/kgbench/task/RdfFriendCount/4.4/mine/")


def test_label_and_parameters_make_the_iri() -> None:
    """The same parameters give the same IRI in any notation; other parameters give another."""
    plain = catalogue.make_task("RdfFriendCount", "x", {"size": 2000})
    assert catalogue.make_task("RdfFriendCount", "x", {"size": "2000"}) == plain
    assert catalogue.make_task("RdfFriendCount", "x", {"size": 2001}).iri != plain.iri


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("RdfFriendCout", {}, "did you mean RdfFriendCount"),
        ("nothing like it", {}, r"known are .*FactExtractStatic.* and \d+ more"),
        ("RdfFriendCount", {"sice": 1}, "did you mean size"),
        ("RdfFriendCount", {"graphFormat": "trutle"}, "did you mean turtle"),
        ("RdfFriendCount", {"graphFormat": 1}, "must be text"),
        ("RdfFriendCount", {"size": "many"}, "must be a whole number"),
        ("RdfFriendCount", {"size": 1.5}, "must be a whole number"),
        ("RdfFriendCount", {"size": True}, "must be a whole number"),
        ("RdfFriendCount", {"size": float("inf")}, "must be a whole number"),
        ("RdfFriendCount", {"size": 0}, "must be at least 576 and at most 10,000,000 characters"),
        ("TurtleSampleGeneration", {"size": 8000}, "must be at least 3 and at most 200 persons"),
        ("RdfSyntaxFixList", {"graphFormat": "xml"}, "cannot be 'xml'"),
    ],
)
def test_refusals_name_what_is_nearest(
    name: str, parameters: dict[str, object], message: str
) -> None:
    """Undeclared names and values are refused with a helpful message."""
    with pytest.raises(TaskError, match=message):
        catalogue.make_task(name, "label", parameters)


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("FALSE", False), ("true", True), (False, False)]
)
def test_truth_values_may_be_words(value: object, expected: bool) -> None:
    """A boolean parameter accepts "true" and "false" in any case, and nothing else."""
    parameter = Parameter("deep", bool, default=False)
    assert normalised(parameter, value, "label") is expected
    for other in (1, "1", "yes", None):
        with pytest.raises(TaskError, match="'deep' must be true or false"):
            normalised(parameter, other, "label")


def test_case_identity() -> None:
    """A case is the same if class, parameters and data are; its IRI has suite and uid."""
    one = catalogue.make_case("s", "RdfFriendCount", {"a": 1, "b": 2}, {"x": [1]}, "the one")
    two = catalogue.make_case("s", "RdfFriendCount", {"b": 2, "a": 1}, {"x": [1]}, "the one")
    assert one == two
    assert one.iri.startswith("https://w3id.org/kgbench/case/s/RdfFriendCount/the-one-")
    assert one.iri.endswith(one.digest[:12])
    other = catalogue.make_case("s", "RdfFriendCount", {"a": 1, "b": 2}, {"x": [2]})
    assert other.digest != one.digest
    assert "/case/" in other.iri.removeprefix("https://w3id.org/kgbench/case/")


def test_module_without_code_is_said() -> None:
    """A class without an entry point cannot be judged, and the message says so."""
    with pytest.raises(TaskError, match="no code for the task class 'Missing'"):
        catalogue.module("Missing")


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Return a copy of a declaration to damage."""
    source = catalogue.folder("RdfFriendCount") / catalogue.DECLARATION
    return Path(shutil.copy(source, tmp_path))


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("kgb:maxRounds 1 ;", "", "has no <https://w3id.org/kgbench/ns#maxRounds>"),
        ("kgb:maxRounds 1 ;", "kgb:maxRounds 1 , 2 ;", "has several values of"),
        ("a kgb:TaskClass", "a kgb:Something", "must describe one TaskClass, not 0"),
        ("kgb:mainMetric metric:f1", "kgb:mainMetric metric:f2", "not among its metrics"),
        ("sh:datatype xsd:integer", "sh:datatype xsd:date", "no Python type"),
        ("kgb:parameterValue 1 ]", 'kgb:parameterValue "x" ]', "must be a whole number"),
        ("kgb:TaskClass ;", "kgb:TaskClass", "task.ttl cannot be read"),
    ],
)
def test_damaged_declarations_are_named(
    declared: Path, found: str, instead: str, message: str
) -> None:
    """An incomplete declaration is refused with the file and the fault."""
    text = declared.read_text(encoding="utf-8")
    assert found in text
    declared.write_text(text.replace(found, instead, 1), encoding="utf-8")
    with pytest.raises(ResourceError, match=message) as raised:
        declaration.read(declared)
    assert str(declared) in str(raised.value)


def test_every_size_has_a_range_and_a_unit() -> None:
    """Each task class with a size declares its unit and range."""
    sizes = {
        name: found.parameters["size"]
        for name, found in catalogue.task_classes().items()
        if "size" in found.parameters
    }
    assert {"RdfFriendCount", "TurtleSampleGeneration"} <= set(sizes)
    for name, size in sizes.items():
        assert size.unit, name
        assert size.minimum is not None, name
        assert size.maximum is not None, name
        assert size.minimum <= size.default <= size.maximum
