# SPDX-License-Identifier: Apache-2.0
"""The shapes of configurations: conforming documents, and generated mutants that must fail."""

from __future__ import annotations

import copy
import json

import pyoxigraph as ox
import pytest
from pyshacl import validate
from rdflib import RDF, SH, Namespace

from kgbench.config import graphs, trees
from kgbench.config.trees import Several, Tree
from kgbench.vocab import XSD
from tests.support.config_files import shape_graph
from tests.support.pyshacl_oracle import rdflib_graph

SHAPE = Namespace("https://w3id.org/kgbench/shapes/configuration#")

WHOLE = """\
name: everything
suite: kgbench-1
tasks:
  - {label: friends, class: RdfFriendCount, params: {size: 1000}}
models:
  - {label: theirs, class: ModelGpt, params: {model: gpt-4o}}
  - {label: ours, spec: "baseline:oracle"}
sizes: [1000]
iterations: 2
seed: 7
concurrency: 3
callTimeout: 60.5
judgeTimeout: 5
maxRetries: 0
requestsPerMinute: 60
tokensPerMinute: 1.0e+5
maxCost: 2.50
maxTokens: 1000000
prices: ours.ttl
batch: true
toolProtocol: native
include: [more.yaml]
"""
PER_CASE = WHOLE.replace("iterations: 2", "iterationsPerCase: 2")
PART = "tasks: [x]\nmodels: ['baseline:oracle']\ninclude: [a.yaml, ../b.ttl]\n"

ACCEPTED = {
    "whole": (WHOLE, graphs.CONFIGURATION),
    "per case": (PER_CASE, graphs.CONFIGURATION),
    "names only": ("tasks: [x, 'y-*']\nmodels: ['a:b']\niterations: 1\n", graphs.CONFIGURATION),
    "included only": ("include: [a.yaml]\niterations: 1\n", graphs.CONFIGURATION),
    "one name without a list": ("tasks: x\nmodels: 'a:b'\niterations: 1\n", graphs.CONFIGURATION),
    "part": (PART, graphs.PART),
    "part of a part": ("include: [a.yaml]\n", graphs.PART),
}


def read(name):
    """Return one of the accepted documents as JSON, with the type of its root."""
    text, root_type = ACCEPTED[name]
    return trees.read("file", text).value, root_type


def found(value, root_type=graphs.CONFIGURATION):
    """Return the findings about a document as ``pointer message``."""
    findings = graphs.findings(Tree("file", value), root_type)
    return [f"{finding.pointer} {finding.message}" for finding in findings]


def refused_by_pyshacl(values, root_type=graphs.CONFIGURATION):
    """Return for each document whether pySHACL refuses it, by one validation of all."""
    made = [graphs.of(value, root_type).triples for value in values]
    _, report, _ = validate(
        rdflib_graph([triple for triples in made for triple in triples]),
        shacl_graph=shape_graph(),
    )
    focus = {str(node) for node in report.objects(None, SH.focusNode)}
    return [str(triples[-1].subject.value) in focus for triples in made]


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_may_be_said_conforms(name):
    """Each kind of file conforms for both engines."""
    value, root_type = read(name)

    assert found(value, root_type) == []
    assert refused_by_pyshacl([value], root_type) == [False]


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_graph_is_that_of_json_ld(name):
    """The context makes the same graph of a configuration as JSON-LD."""
    text, root_type = ACCEPTED[name]
    for real, whole in (("60.5", "60"), ("1.0e+5", "100000"), ("2.50", "2")):
        text = text.replace(real, whole)  # JSON-LD writes real numbers in a form of its own
    value = trees.read("file", text).value
    document = {"@context": graphs.context(), "@type": str(root_type), **value}
    expected = ox.Dataset(ox.parse(json.dumps(document), format=ox.RdfFormat.JSON_LD))
    made = ox.Dataset(ox.Quad(*triple) for triple in graphs.of(value, root_type).triples)

    for graph in (expected, made):
        graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert made == expected


# --- mutants --------------------------------------------------------------------------------

PLACES = [  # of values, with the shapes that describe them
    *(([key], SHAPE[key]) for key in read("whole")[0] if key not in ("tasks", "models")),
    (["tasks"], SHAPE.tasks),
    (["models"], SHAPE.models),
    (["sizes", 0], SHAPE.size),
    (["include", 0], SHAPE.includePath),
    (["tasks", 0], SHAPE.taskEntry),
    (["models", 0], SHAPE.modelEntry),
    (["tasks", 0, "label"], SHAPE.label),
    (["tasks", 0, "class"], SHAPE.taskClass),
    (["tasks", 0, "params"], SHAPE.params),
    (["models", 0, "label"], SHAPE.label),
    (["models", 0, "class"], SHAPE.modelClass),
    (["models", 0, "params"], SHAPE.modelParams),
    (["models", 0, "params", "model"], SHAPE.modelId),
    (["models", 1, "spec"], SHAPE.spec),
    (["iterationsPerCase"], SHAPE.iterationsPerCase),
]


def base(place):
    """Return the accepted document that has a place."""
    return read("per case" if place == ["iterationsPerCase"] else "whole")[0]


def mutated(document, place, value):
    """Return a copy of a document with another value at a place."""
    document = copy.deepcopy(document)
    node = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return document


def spoilt_values(shape):
    """Return values that a property shape must refuse, each by another of its constraints."""
    shapes = shape_graph()
    datatype = shapes.value(shape, SH.datatype)
    whole, real = ox.NamedNode(XSD.integer), ox.NamedNode(XSD.double)
    spoilt = {
        XSD.string: [7, {}, "", "a\nb", "\t://", ox.Literal("x", language="en")],
        XSD.integer: ["7", True, {}, [], 2.0, ox.Literal("x", datatype=whole)],
        XSD.boolean: ["true", 1, {}],
        SHAPE.Number: [ox.Literal(text, datatype=real) for text in ("NaN", "INF", "-INF")],
        SHAPE.TextOrEntry: [7, True, [], ["x"], "a\nb", "x" * 2001],
    }
    kinds = {str(datatype), *shapes.objects(shape, SH.node)}
    values = [value for kind in kinds for value in spoilt.get(kind, [])]
    if SHAPE.Number in kinds:
        values += ["7", True, {}, []]
    if shape in (SHAPE.params, SHAPE.modelParams):
        values += ["text", 7]
    for parameter, step in ((SH.minInclusive, -1), (SH.maxInclusive, 1), (SH.minExclusive, 0)):
        values += [bound.toPython() + step for bound in shapes.objects(shape, parameter)]
    longest = shapes.objects(shape, SH.maxLength)
    return [*values, *("x" * (int(length) + 1) for length in longest)]


MUTANTS = [(place, value) for place, shape in PLACES for value in spoilt_values(shape)]


def test_each_value_is_checked():
    """A value with a wrong datatype, range, length or form is found at its place."""
    documents = [mutated(base(place), place, value) for place, value in MUTANTS]

    assert len(documents) > 150
    for (place, value), document in zip(MUTANTS, documents, strict=True):
        pointer = "/" + "/".join(map(str, place))
        assert any(said.startswith(pointer) for said in found(document)), (place, value)
    accepted = [
        place
        for place, refused in zip(MUTANTS, refused_by_pyshacl(documents), strict=True)
        if not refused
    ]
    assert accepted == []


def test_each_single_value_stands_once():
    """A second value of any key is found at the key."""
    once = [place for place, _ in PLACES if isinstance(place[-1], str) and place[-1] != "params"]
    documents = [mutated(base(place), place, Several(["x", "y"])) for place in once]

    for place, document in zip(once, documents, strict=True):
        said = f"/{'/'.join(map(str, place))} found more than one value; allowed: "
        assert any(finding.startswith(said) for finding in found(document)), place
    assert all(refused_by_pyshacl(documents))


MODEL, OTHER = (read("whole")[0]["models"][number] for number in (0, 1))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"iterations": None}, " needed: either 'iterations'"),
        ({"iterationsPerCase": 2}, " needed: either 'iterations'"),
        ({"tasks": None}, " needed: 'tasks', a list"),
        ({"models": None}, " needed: 'models', a list"),
        ({"tasks": [{"label": "x", "params": {}}]}, "/tasks/0 needed: 'class' wherever 'params'"),
        ({"tasks": [{"params": {}}]}, "/tasks/0 needed: 'class' (the name of a task class)"),
        ({"models": [{"label": "x"}]}, "/models/0 needed: either 'class'"),
        ({"models": [{"class": "x"}]}, "/models/0 needed: 'model' in params"),
        ({"models": [{"class": "x", "params": {"y": 1}}]}, "/models/0 needed: 'model' in params"),
        ({"models": [OTHER | MODEL]}, "/models/0 needed: either 'class'"),
        ({"models": [OTHER | {"params": {"model": "y"}}]}, "/models/0 needed: 'class' wherever"),
    ],
)
def test_each_needed_key_is_missed(changed, expected):
    """What is missing, or cannot go together, is said; an include may replace tasks and models."""
    document = read("whole")[0] | changed
    document = {key: value for key, value in document.items() if value is not None}
    if expected.startswith((" needed: 'tasks'", " needed: 'models'")):
        assert found(document) == []
    document.pop("include")

    assert any(said.startswith(expected) for said in found(document)), found(document)
    assert refused_by_pyshacl([document]) == [True]


def test_a_part_brings_something():
    """An included file without entries is refused."""
    assert found({}, graphs.PART) == [" needed: 'tasks', 'models' or 'include'"]


@pytest.mark.parametrize(
    ("place", "root_type"),
    [
        ([], graphs.CONFIGURATION),
        ([], graphs.PART),
        (["tasks", 0], graphs.CONFIGURATION),
        (["models", 0], graphs.CONFIGURATION),
    ],
)
def test_each_object_is_closed(place, root_type):
    """A key that is not listed is refused: unknown, foreign, or of another object."""
    name = "part" if root_type == graphs.PART else "whole"
    shape = {"tasks": SHAPE.TaskSelection, "models": SHAPE.ModelSelection}.get(
        place[0] if place else None, SHAPE[root_type.rpartition("#")[2]]
    )
    shapes = shape_graph()
    listed = {str(shapes.value(each, SH.name)) for each in shapes.objects(shape, SH.property)}
    strangers = sorted({*graphs.terms(), "iteratons", "https://example.org/x"} - listed)
    documents = [mutated(read(name)[0], [*place, key], "x") for key in strangers]

    for key, document in zip(strangers, documents, strict=True):
        said = "does not belong here" if key in graphs.terms() else "unknown key"
        assert any(said in each and f"'{key}'" in each for each in found(document, root_type)), key
    assert all(refused_by_pyshacl(documents, root_type))


def test_every_shape_is_said_in_words():
    """Each named shape has a description, and each property shape has a name as well."""
    shapes = shape_graph()
    silent = {SHAPE.Configuration, SHAPE.ConfigurationPart, SHAPE.Number, SHAPE.TextOrEntry}
    silent |= {SHAPE.TaskSelection, SHAPE.ModelSelection}
    described = set(shapes.subjects(RDF.type, SH.PropertyShape))

    for shape in set(shapes.subjects(RDF.type, SH.NodeShape)) - silent | described:
        assert shapes.value(shape, SH.description), shape
    for shape in described:
        assert shapes.value(shape, SH.name), shape
    assert described == {shape for _, shape in PLACES}
