# SPDX-License-Identifier: Apache-2.0
"""The result shapes accept recorded data and refuse every mutant of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import RDF, SH, XSD, Graph, Literal, URIRef
from rdflib.term import Node

from kgbench import resources
from kgbench.rdf.declared import quads
from kgbench.validation import Data, complaints, result_shapes, whole_shapes
from kgbench.validation.checking import validate_node
from kgbench.vocab import BASE, DQV, KGB, OUTCOME, PROV, QB, SCHEMA
from tests.support.mutant_makers import STRANGER, Triple
from tests.support.pyshacl_oracle import rdflib_graph, shapes_for
from tests.support.rdf_mutants import Mutant, mutants
from tests.support.shape_checker import Checker, quiet
from tests.support.shape_constraints import Constraint, focus_nodes
from tests.support.validation import assert_conforms, report

GRAPHS = Path(__file__).parents[1] / "graphs"
PARTS = 8  # of the mutants, each of which is a test
SAMPLES = tuple(
    GRAPHS / f"{name}.trig"
    for name in (
        *("result", "records", "judged", "policies", "claims"),
        "withheld",
    )
)


def sample() -> ox.Store:
    """Return the sample with declarations as in a store, except metrics without scores."""
    store = ox.Store()
    for path in SAMPLES:
        store.load(path=str(path), format=ox.RdfFormat.TRIG)
    for path in (
        *resources.folder("ontology").glob("*.ttl"),
        *resources.folder("queries").glob("*.ttl"),
        *resources.files("rubrics", "*.ttl"),
        resources.path("store", "layout.ttl"),
    ):
        declared = quads(path.read_bytes())
        unscored = {q.subject for q in declared if q.predicate.value == KGB.aggregationOf}
        store.extend(
            ox.Quad(*quad.triple, ox.NamedNode(f"{BASE}graph/catalogue"))
            for quad in declared
            if unscored.isdisjoint((quad.subject, quad.object))
        )
    return store


def test_results_without_metrics_have_the_declared_shapes_only() -> None:
    """Without metrics, the shapes are the declared ones, and no violation is found."""
    assert "targetSubjectsOf <" not in whole_shapes(Data(ox.Store()))
    assert report([], "results") == []


@cache
def checker() -> Checker:
    """Return a checker of the sample; each test restores it."""
    store = sample()
    return Checker(rdflib_graph(store), shapes_for(store, "results"))


@cache
def all_mutants() -> dict[str, list[tuple[Constraint, list[Mutant]]]]:
    """Return the mutants of the sample by the names of the shapes that refuse them."""
    found: dict[str, list[tuple[Constraint, list[Mutant]]]] = {}
    with quiet():
        for constraint, made in mutants(checker().shapes, checker().data):
            name = str(constraint.shape).removeprefix(BASE)
            found.setdefault(name, []).append((constraint, made))
    return found


def test_sample_conforms() -> None:
    """The sample of the recording contract conforms."""
    assert_conforms(sample())


def test_every_shape_bites() -> None:
    """Every named shape applies to something in the sample, so that its mutants are effective."""
    named = [s for s in checker().shapes.subjects(RDF.type, SH.NodeShape) if isinstance(s, URIRef)]
    assert len(named) > 25
    assert [s for s in named if not focus_nodes(checker().shapes, checker().data, s)] == []


def test_targets_agree() -> None:
    """A full validation finds, through the targets alone, a stray property on each closed node."""
    store, declared = sample(), checker().shapes
    foci = [
        str(focus_nodes(declared, checker().data, shape)[0])
        for shape in set(declared.subjects(SH.closed, None))
    ]
    for focus in foci:
        store.add(ox.Quad(ox.NamedNode(focus), ox.NamedNode(KGB.mispelt), ox.Literal("x")))
    data = Data(store)
    waiting = list(complaints(data, result_shapes(data)))
    found = set()
    while waiting:  # what a shape says by sh:node is told of the node that refers to it
        one = waiting.pop()
        found.add(one.focus.value)
        if one.inner is not None:
            waiting += validate_node(data, one.inner, one.term)
    assert [focus for focus in foci if focus not in found] == []


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants_fail(part: int) -> None:
    """Each constraint is violated by a mutant of the sample."""
    survivors, untried = [], []
    shapes = sorted(all_mutants())[part::PARTS]
    for constraint, made in (pair for shape in shapes for pair in all_mutants()[shape]):
        if not made and constraint.parameter not in (SH["or"], SH.xone):
            untried.append(str(constraint))
        for mutant in made:
            found = checker().complaints(mutant.shape, mutant.focus, (mutant.remove, mutant.add))
            if mutant.component not in found:
                survivors.append(f"{mutant.name}: {sorted(found)}")
    assert (survivors, untried) == ([], [])


def test_mutants_are_many() -> None:
    """More than 700 mutants are generated, so that the test above is not empty."""
    assert sum(len(made) for shape in all_mutants().values() for _, made in shape) > 700


# --- combinations: sh:or and sh:xone of whole nodes, by hand --------------------------------------


def _iri(path: str) -> URIRef:
    return URIRef(BASE + path)


def _without(data: Graph, node: URIRef, *properties: str) -> tuple[Triple, ...]:
    return tuple(t for p in properties for t in data.triples((node, URIRef(p), None)))


RUN, IMPORTED = _iri("run/1"), _iri("run/2")
ONE_SHOT = _iri("run/1/oracle/Spell-10/0-d1d1d1d1/0/call/0")
FAILED = _iri("run/1/parrot-2/Mend-turtle/1-d3d3d3d3/0/call/0")
WHOLE = _iri("pass/1/parrot-2/Mend-turtle/0-d2d2d2d2")
SECOND = _iri("pass/1/parrot-2/Mend-turtle/0-d2d2d2d2/1")
REUSED = _iri("run/1/oracle/Spell-10/0-d1d1d1d1/0/answer")
KEPT, LEFT_OUT = _iri(f"run/2/text/{'7' * 64}"), _iri(f"run/2/text/{'9' * 64}")
EXTRACTED = _iri("run/1/parrot-2/Mend-turtle/0-d2d2d2d2/0/answer")
UNANSWERED = _iri("pass/1/parrot-2/Mend-turtle/2-d4d4d4d4/0")
CLAIMS = _iri("analysis/2/table")
BOUNDED, COST, GAIN, FREE, MEAN = (
    _iri(f"metric/{name}")
    for name in (
        "Spell/1.0/f1",
        "Mend/2.0/cost",
        "Mend/2.0/gain",
        "Spell/1.0/lengthDifference",
        "Mend/2.0/mean_combined",
    )
)
DCT_SOURCE = "http://purl.org/dc/terms/source"
DOUBLE = Literal("0.5", datatype=XSD.double)
COMBINATIONS: dict[str, tuple[str, URIRef, tuple[str, ...], tuple[tuple[str, Node], ...]]] = {
    "own run with a source": ("Run", RUN, (), ((DCT_SOURCE, Literal("file")),)),
    "own run with a source digest": ("Run", RUN, (), ((KGB.sourceDigest, Literal("0" * 64)),)),
    "imported run without a digest": ("Run", IMPORTED, (KGB.sourceDigest,), ()),
    "imported run without a source": ("Run", IMPORTED, (DCT_SOURCE,), ()),
    "run without session and source": ("Run", IMPORTED, (DCT_SOURCE, KGB.sourceDigest), ()),
    "failed call without outcome": ("ModelCall", FAILED, (KGB.outcome,), ()),
    "failed call without message": ("ModelCall", FAILED, (SCHEMA.error,), ()),
    "answered call with an error": ("ModelCall", ONE_SHOT, (), ((SCHEMA.error, Literal("x")),)),
    "an answer to another prompt": (
        "Answer",
        EXTRACTED,
        (PROV.wasDerivedFrom,),
        ((PROV.wasDerivedFrom, _iri("run/1/oracle/Spell-10/0-d1d1d1d1/0/prompt")),),
    ),
    "a reused answer derived from nothing else": (
        "Answer",
        REUSED,
        (PROV.wasDerivedFrom,),
        ((PROV.wasDerivedFrom, _iri("run/1/oracle/Spell-10/0-d1d1d1d1/0/prompt")),),
    ),
    "a text without a text": ("Text", KEPT, (PROV.value,), ()),
    "a text that is left out and there": ("Text", LEFT_OUT, (), ((PROV.value, Literal("x")),)),
    "a text left out without a word": ("Text", LEFT_OUT, (KGB.redacted,), ()),
    "an extract by no step": ("Answer", EXTRACTED, (KGB.extraction,), ()),
    "a step that extracted nothing": ("Answer", EXTRACTED, (KGB.extracted,), ()),
    "live pass without engine": ("EvaluationPass", _iri("pass/1"), (KGB.engine,), ()),
    "round of another answer": ("Evaluation", SECOND, (KGB.round,), ((KGB.round, Literal(0)),)),
    "a round of two answers": ("Evaluation", WHOLE, (), ((KGB.round, Literal(1)),)),
    "a scored prompt": (
        "Evaluation",
        UNANSWERED,
        (KGB.outcome,),
        ((KGB.outcome, URIRef(OUTCOME.scored)),),
    ),
    "metric without lower bound": ("Metric", BOUNDED, (SCHEMA.minValue,), ()),
    "metric without upper bound": ("Metric", BOUNDED, (SCHEMA.maxValue,), ()),
    "bounded metric called unbounded": ("Metric", BOUNDED, (), ((KGB.unbounded, Literal("both")),)),
    "cost with an upper bound": ("Metric", COST, (), ((SCHEMA.maxValue, DOUBLE),)),
    "gain with a lower bound": ("Metric", GAIN, (), ((SCHEMA.minValue, DOUBLE),)),
    "free metric with a bound": ("Metric", FREE, (), ((SCHEMA.minValue, DOUBLE),)),
    "metric unbounded without a word": ("Metric", FREE, (KGB.unbounded,), ()),
    "aggregate of nothing": ("Metric", MEAN, (KGB.aggregationOf,), ()),
    "observation of another measure": (
        "Observation",
        _iri("analysis/1/table/0/mean"),
        (QB.measureType,),
        ((QB.measureType, URIRef(KGB.rank)),),
    ),
    "observation of nothing": (
        "Observation",
        _iri("analysis/1/table/0/mean"),
        (QB.measureType, KGB.mean),
        (),
    ),
    "an analysis about something, by no method": (
        "Inference",
        _iri("analysis/2"),
        (KGB.inferenceMethod,),
        (),
    ),
    "a cube by a method, about nothing": ("Inference", CLAIMS, (KGB.estimand,), ()),
    "intervals about nothing": ("AggregateTable", CLAIMS, (KGB.estimand, KGB.inferenceMethod), ()),
    "intervals and tests at no level": (
        "AggregateTable",
        CLAIMS,
        (KGB.confidenceLevel, KGB.significanceLevel),
        (),
    ),
    "component of no role": (
        "CubeComponent",
        _iri("analysis/1/table/structure/1"),
        (QB.dimension,),
        (),
    ),
    "score set of axes": (
        "ScoreSet",
        _iri("score-set/main"),
        (),
        ((KGB.axis, STRANGER),),
    ),
    "compass of scores": (
        "ScoreSet",
        _iri("compass/swj"),
        (),
        ((KGB.scoreSelector, STRANGER),),
    ),
    "aggregate by no rule": ("Metric", MEAN, (KGB.aggregation,), ()),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_combinations_fail(name: str) -> None:
    """A wrong combination of properties violates sh:or or sh:xone."""
    shape, node, without, values = COMBINATIONS[name]
    remove = _without(checker().data, node, *without)
    add = tuple((node, URIRef(p), o) for p, o in values)
    found = checker().complaints(_iri(f"shapes/{shape}"), node, (remove, add))
    assert found & {SH.OrConstraintComponent, SH.XoneConstraintComponent}


def test_parameter_values_have_the_declared_datatype() -> None:
    """A default or allowed value whose datatype is not the parameter's is refused."""
    parameter = next(checker().data.subjects(RDF.type, URIRef(KGB.Parameter)))
    for name in (KGB.defaultValue, KGB.allowedValue):
        add = ((parameter, URIRef(name), Literal("ten")),)
        found = checker().complaints(_iri("shapes/Parameter"), parameter, ((), add))
        assert SH.XoneConstraintComponent in found


@pytest.mark.parametrize("predicate", [PROV.wasDerivedFrom, KGB.describes])
def test_alternatives_name_a_class(predicate: str) -> None:
    """If a value may be of one of several classes, a value of none of them is refused."""
    shape = {PROV.wasDerivedFrom: "Prompt", KGB.describes: "ResultGraph"}[predicate]
    focus = focus_nodes(checker().shapes, checker().data, _iri(f"shapes/{shape}"))[0]
    old = tuple(checker().data.triples((focus, URIRef(predicate), None)))
    found = checker().complaints(
        _iri(f"shapes/{shape}"), focus, (old, ((focus, URIRef(predicate), STRANGER),))
    )
    assert SH.OrConstraintComponent in found


# --- shapes derived from the metrics -------------------------------------------------------------


def test_undeclared_metric_is_refused() -> None:
    """A score under an undeclared metric IRI is refused."""
    store = sample()
    node = ox.NamedNode(f"{BASE}pass/1/oracle/Spell-10/0-d1d1d1d1/0")
    metric = ox.NamedNode(f"{BASE}metric/Spell/1.0/elegance")
    store.add(ox.Quad(node, metric, ox.Literal(0.5), ox.NamedNode(f"{BASE}graph/pass/1")))
    (found,) = report(store, "results")
    assert "metric/Spell/1.0/elegance" in found


def test_scores_are_of_evaluations_only() -> None:
    """A metric on anything but an evaluation is refused."""
    found = checker().complaints(URIRef(f"{BOUNDED}#shape"), RUN, ((), ((RUN, BOUNDED, DOUBLE),)))
    assert found == {SH.ClassConstraintComponent}


def test_metric_shapes_need_metrics() -> None:
    """Every declared metric has a shape with its range, including rounding."""
    declared = set(checker().data.subjects(RDF.type, URIRef(DQV.Metric)))
    shaped = set(checker().shapes.objects(None, SH.targetSubjectsOf))
    assert declared <= shaped
    combined = _iri("metric/Mend/2.0/combined")
    highest = checker().shapes.value(URIRef(f"{combined}#shape"), SH.property / SH.maxInclusive)
    assert highest.toPython() == 1.0000000000000002


def test_no_score_may_be_beyond_its_range() -> None:
    """A score outside the range of its metric is refused, also in a pass that others published."""
    store = sample()
    metric = ox.NamedNode(f"{BASE}metric/Spell/1.0/f1")
    for quad in list(store.quads_for_pattern(None, metric, None)):
        store.remove(quad)
        store.add(ox.Quad(quad.subject, metric, ox.Literal(1.7), quad.graph_name))
    refused = report(store, "results")
    passes = {line.split("/Spell")[0].removeprefix(BASE) for line in refused}
    assert {one.split("/")[1] for one in passes} == {"1", "2", "3"}
    assert all(f"A score lies beyond the range of {metric}." in line for line in refused)


def test_report_names_place_and_value() -> None:
    """A violation names the node, the property and the value."""
    store = sample()
    node = ox.NamedNode(f"{BASE}run/1/oracle/Spell-10/0-d1d1d1d1")
    graph = ox.NamedNode(f"{BASE}graph/run/1")
    store.add(ox.Quad(node, ox.NamedNode(KGB.digestScheme), ox.Literal("one"), graph))
    found = report(store, "results")
    assert any(
        line.startswith(f"{node.value} kgb:digestScheme: ") and line.endswith('(found: "one")')
        for line in found
    )


@pytest.mark.parametrize("ended", ["2026-11-20T12:09:00", "noon"])
def test_incomparable_times_are_reported(ended: str) -> None:
    """An end that cannot be compared with its start is reported."""
    store = sample()
    node = ox.NamedNode(f"{BASE}run/1/parrot-2/Mend-turtle/1-d3d3d3d3")
    graph = ox.NamedNode(f"{BASE}graph/run/1")
    value = ox.Literal(ended, datatype=ox.NamedNode(XSD.dateTime))
    store.add(ox.Quad(node, ox.NamedNode(PROV.endedAtTime), value, graph))
    assert report(store, "results") != []


def test_validation_of_tests_finds_what_a_full_one_finds() -> None:
    """The quicker validation of tests finds the same violations as a full report."""
    store = sample()
    catalogue = ox.NamedNode(f"{BASE}graph/catalogue")
    declared = ox.NamedNode(f"{BASE}suite/kgbench-1")
    recorded = ox.NamedNode(f"{BASE}run/1")
    for node in (declared, recorded):
        store.add(ox.Quad(node, ox.NamedNode(KGB.mispelt), ox.Literal("x"), catalogue))
    with pytest.raises(AssertionError) as caught:
        assert_conforms(store)
    assert len(report(store, "results")) == 2
    found = [line.split(" kgb:mispelt")[0] for line in str(caught.value).splitlines()]
    assert found == [recorded.value, declared.value]
