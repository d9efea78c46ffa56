# SPDX-License-Identifier: Apache-2.0
"""The shapes of configurations: conforming documents, and generated mutants that must fail."""

from __future__ import annotations

import functools
import json

import pyoxigraph as ox
import pytest
from pyshacl import validate
from rdflib import RDF, SH, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection

from kgbench import resources
from kgbench.config import conformance, graphs, yaml_tree
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Data, complaints
from kgbench.validation.checking import validate_node
from kgbench.validation.with_pyshacl import rdflib_graph
from tests.support.config_files import shape_graph

KGB = Namespace("https://w3id.org/kgbench/ns#")
SHAPE = Namespace("https://w3id.org/kgbench/shapes/configuration#")
STRANGER = URIRef("https://example.org/stranger")

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
    "whole": (WHOLE, KGB.Configuration),
    "per case": (PER_CASE, KGB.Configuration),
    "names only": ("tasks: [x, 'y-*']\nmodels: ['a:b']\niterations: 1\n", KGB.Configuration),
    "included only": ("include: [a.yaml]\niterations: 1\n", KGB.Configuration),
    "one name without a list": ("tasks: x\nmodels: 'a:b'\niterations: 1\n", KGB.Configuration),
    "part": (PART, KGB.ConfigurationPart),
    "part of a part": ("include: [a.yaml]\n", KGB.ConfigurationPart),
}


@functools.cache
def read(name):
    """Return the graph of one of the accepted documents."""
    return rdflib_graph(triples_of(*ACCEPTED[name]))


def triples_of(text, root_type):
    """Return the graph of a configuration in YAML."""
    return graphs.of(yaml_tree.read("file", text).value, str(root_type)).triples


def term(node):
    """Convert a node of rdflib to pyoxigraph."""
    if isinstance(node, BNode):
        return ox.BlankNode(str(node))
    if not isinstance(node, Literal):
        return ox.NamedNode(str(node))
    if node.language is not None:
        return ox.Literal(str(node), language=node.language)
    return ox.Literal(str(node), datatype=ox.NamedNode(str(node.datatype or XSD.string)))


def own_graph(graph):
    """Return a graph of rdflib as kgbench's validation reads it."""
    return Data(IndexedQuads([ox.Triple(*map(term, triple)) for triple in graph]))


def refused_by(graph):
    """Return the violated shapes of a graph, with those nested in them."""
    data = own_graph(graph)

    def within(complaint):
        yield complaint.shape.removeprefix(str(SHAPE))
        if complaint.inner is not None:
            for nested in validate_node(data, complaint.inner, complaint.term):
                yield from within(nested)

    found = complaints(data, conformance.shapes())
    return {SHAPE[name] for complaint in found for name in within(complaint)}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_may_be_said_conforms(name):
    """Each kind of file has graphs that conform."""
    assert refused_by(read(name)) == set()


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_graph_is_that_of_json_ld(name):
    """The context makes the same graph of a configuration as JSON-LD."""
    text, root_type = ACCEPTED[name]
    for real, whole in (("60.5", "60"), ("1.0e+5", "100000"), ("2.50", "2")):
        text = text.replace(real, whole)  # JSON-LD writes real numbers in a form of its own
    value = yaml_tree.read("file", text).value
    document = {"@context": graphs.context(), "@type": str(root_type), **value}
    expected = ox.Dataset(ox.parse(json.dumps(document), format=ox.RdfFormat.JSON_LD))
    found = ox.Dataset(ox.Quad(*triple) for triple in triples_of(text, root_type))

    for graph in (expected, found):
        graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert found == expected


# --- mutants --------------------------------------------------------------------------------


def values(graph, shape):
    """Return (node, property, value) for all values that a property shape applies to."""
    path = shape_graph().value(shape, SH.path)
    if isinstance(path, URIRef):
        owners = {
            owner for owner in graph.subjects(path) if owner in focus_nodes(graph, owner_of(shape))
        }
        return [(owner, path, value) for owner in owners for value in graph.objects(owner, path)]
    steps = list(Collection(shape_graph(), path))
    if steps[-1] == RDF.first:
        heads = list(graph.objects(None, steps[0]))
        cells = [cell for head in heads for cell in graph.transitive_objects(head, RDF.rest)]
        return [(c, RDF.first, graph.value(c, RDF.first)) for c in cells if c != RDF.nil]
    return [(s, p, o) for s, p, o in graph.triples((None, steps[-1], None))]


def owner_of(shape):
    """Return the named shape that a property shape belongs to."""
    owners = shape_graph().subjects(SH.property, shape)
    return next(owner for owner in owners if isinstance(owner, URIRef))


def focus_nodes(graph, node_shape):
    """Return the nodes that a named shape applies to."""
    if node_shape == SHAPE.modelParams:
        models = focus_nodes(graph, SHAPE.ModelSelection)
        return {node for model in models for node in graph.objects(model, KGB.params)}
    entries = {SHAPE.TaskSelection: KGB.tasks, SHAPE.ModelSelection: KGB.models}
    if node_shape in entries:
        return {
            node
            for head in graph.objects(None, entries[node_shape])
            for node in Collection(graph, head)
            if not isinstance(node, Literal)
        }
    return set(graph.subjects(RDF.type))


def spoilt_values(shape):
    """Yield values that a property shape must refuse, each by another of its constraints."""
    shapes = shape_graph()

    def one(parameter):
        return shapes.value(shape, parameter)

    datatype = one(SH.datatype)
    number = SHAPE.Number in set(shapes.objects(shape, SH.node))
    texts = (Literal(7), Literal("x", lang="en"), STRANGER, Literal(""), Literal("a\nb"))
    yield from texts if datatype == XSD.string else ()
    numbers = (Literal("7"), Literal("true", datatype=XSD.boolean), STRANGER)
    yield from numbers if datatype == XSD.integer or number else ()
    odd = (Literal("x", datatype=XSD.integer, normalize=False), Literal(2.0))
    yield from odd if datatype == XSD.integer else ()
    endless = (Literal(each, datatype=XSD.double) for each in ("NaN", "INF", "-INF"))
    yield from endless if number else ()
    if one(SH.nodeKind) is not None:
        yield Literal("text")
    for parameter, step in ((SH.minInclusive, -1), (SH.maxInclusive, 1), (SH.minExclusive, 0)):
        if one(parameter) is not None:
            yield Literal(one(parameter).toPython() + step)
    if one(SH.maxLength) is not None:
        yield Literal("x" * (int(one(SH.maxLength)) + 1))
    if one(SH.pattern) is not None:
        yield Literal("\t://")


def property_shapes():
    """Return all named property shapes."""
    return sorted(shape_graph().subjects(RDF.type, SH.PropertyShape))


def mutated(configuration, *, remove=(), add=()):
    """Return a copy of a graph without some triples and with others."""
    graph = Graph()
    for triple in configuration:
        graph.add(triple)
    for triple in remove:
        graph.remove(triple)
    for triple in add:
        graph.add(triple)
    return graph


def examples(shape):
    """Return the accepted graphs in which a property shape finds values."""
    found = [read(name) for name in ("whole", "per case")]
    return [(each, values(each, shape)) for each in found if values(each, shape)]


@pytest.mark.parametrize("shape", property_shapes(), ids=lambda s: s.fragment)
def test_each_value_is_checked(shape):
    """A value with a wrong datatype, range, length or form violates its property shape."""
    configuration, places = examples(shape)[0]
    owner, path, value = places[0]
    spoilt = list(spoilt_values(shape)) or [Literal(7), Literal("a\nb")]

    for each in spoilt:
        graph = mutated(configuration, remove=[(owner, path, value)], add=[(owner, path, each)])
        assert refused_by(graph), f"{shape.fragment} accepts {each.n3()}"
    assert not validate(graph, shacl_graph=shape_graph())[0]  # the oracle


@pytest.mark.parametrize("shape", property_shapes(), ids=lambda s: s.fragment)
def test_each_single_value_stands_once(shape):
    """A second value of any key violates the shape of that key."""
    if shape_graph().value(shape, SH.maxCount) is None:
        if shape in (SHAPE.params, SHAPE.modelParams):  # each for one task, or model
            return
        assert not isinstance(shape_graph().value(shape, SH.path), URIRef)
        return
    configuration, places = examples(shape)[0]
    owner, path, value = places[0]
    second = Literal(f"{value}x")
    if not isinstance(value, Literal):
        second = BNode()
    elif value.datatype != XSD.string:
        second = Literal(1 + (value.toPython() == 1))

    assert shape in refused_by(mutated(configuration, add=[(owner, path, second)]))


@pytest.mark.parametrize(
    ("key", "needed_by"),
    [
        ("iterations", SHAPE.SaysHowOften),
        ("tasks", SHAPE.HasTasks),
        ("models", SHAPE.HasModels),
        ("class of a task", SHAPE.ParamsNeedClass),
        ("class of a model", SHAPE.NamesModel),
        ("spec", SHAPE.NamesModel),
        ("model", SHAPE.ClassNeedsModel),
        ("label and class", SHAPE.NamesTask),
        ("all of a part", SHAPE.BringsSomething),
    ],
)
def test_each_needed_key_is_missed(key, needed_by):
    """Without a required key, the shape that requires it is violated."""
    graph = mutated(read("part" if key == "all of a part" else "whole"))
    graph.remove((None, KGB.include, None))
    task = next(iter(focus_nodes(graph, SHAPE.TaskSelection)), None)
    for subject, path in {
        "iterations": [(None, KGB.iterations)],
        "tasks": [(None, KGB.tasks)],
        "models": [(None, KGB.models)],
        "class of a task": [(task, KGB.className)],
        "class of a model": [
            (graph.value(None, KGB.className, Literal("ModelGpt")), KGB.className)
        ],
        "spec": [(None, KGB.spec)],
        "model": [(None, URIRef(f"{graphs.PARAMETER}model"))],
        "label and class": [
            (task, path) for path in (KGB.className, KGB.params, URIRef(graphs.terms()["label"]))
        ],
        "all of a part": [(None, KGB.tasks), (None, KGB.models)],
    }[key]:
        graph.remove((subject, path, None))

    assert needed_by in refused_by(graph)


@pytest.mark.parametrize(
    "shape",
    [SHAPE.Configuration, SHAPE.ConfigurationPart, SHAPE.TaskSelection, SHAPE.ModelSelection],
    ids=lambda s: s.fragment,
)
def test_each_object_is_closed(shape):
    """A property that is not listed is refused: unknown, foreign, or of another object."""
    configuration = read("part" if shape == SHAPE.ConfigurationPart else "whole")
    target = (shape, SH.targetClass)
    root_type = shape_graph().value(*target)
    nodes = focus_nodes(configuration, shape)
    if root_type is not None:
        nodes = set(configuration.subjects(RDF.type, root_type))
    listed = {
        str(shape_graph().value(each, SH.path))
        for each in shape_graph().objects(shape, SH.property)
    }
    strangers = {*graphs.terms().values(), str(STRANGER), f"{graphs.UNKNOWN}iteratons"} - listed

    for stranger in sorted(strangers):
        triple = (next(iter(nodes)), URIRef(stranger), Literal("x"))
        assert shape in refused_by(mutated(configuration, add=[triple]))


@pytest.mark.parametrize(
    ("old", "new", "refusing"),
    [
        ("tasks:\n", "tasks:\n  - 7\n", SHAPE.taskEntry),
        ("tasks:\n", "tasks:\n  - [x]\n", SHAPE.TaskSelection),
        ("tasks:\n", 'tasks:\n  - "a\\nb"\n', SHAPE.taskEntry),
        ("models:\n", "models:\n  - true\n", SHAPE.modelEntry),
        (
            "models:\n",
            "models:\n  - {spec: 'a:b', class: x, params: {model: y}}\n",
            SHAPE.NamesModel,
        ),
        ("models:\n", "models:\n  - {spec: 'a:b', params: {model: y}}\n", SHAPE.ParamsNeedClass),
        ("models:\n", "models:\n  - {label: x}\n", SHAPE.NamesModel),
        ("iterations: 2", "iterations: 2\niterationsPerCase: 2", SHAPE.SaysHowOften),
    ],
)
def test_what_cannot_go_together_is_refused(old, new, refusing):
    """Contradictory and meaningless entries violate the shape for their case."""
    text = WHOLE.replace(old, new, 1)
    assert text != WHOLE

    assert refusing in refused_by(rdflib_graph(triples_of(text, KGB.Configuration)))


def test_every_shape_is_said_in_words():
    """Each named shape has a description, and each property shape has a name as well."""
    shapes = shape_graph()
    silent = {SHAPE.Configuration, SHAPE.ConfigurationPart, SHAPE.Number, SHAPE.TextOrEntry}
    silent |= {SHAPE.TaskSelection, SHAPE.ModelSelection}

    for shape in set(shapes.subjects(RDF.type, SH.NodeShape)) - silent:
        assert shapes.value(shape, SH.description), shape
    for shape in property_shapes():
        assert shapes.value(shape, SH.description), shape
        assert shapes.value(shape, SH.name), shape


def test_only_core_constraints_are_used():
    """The shapes use no SPARQL and no other extension of SHACL."""
    extensions = {SH.sparql, SH.select, SH.js, SH.rule, SH.target, SH.expression}

    assert not extensions & set(shape_graph().predicates())
    assert "shacl-js" not in resources.text("shapes", "configuration.ttl")
