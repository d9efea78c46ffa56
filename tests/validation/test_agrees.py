# SPDX-License-Identifier: Apache-2.0
"""The quick validation and pySHACL agree on the sample and on every mutant of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pyoxigraph as ox
import pyshacl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import SH, BNode, Literal, URIRef

from kgbench.errors import ResourceError
from kgbench.store import EmbeddedStore
from kgbench.validation import Data, Shape, compiled, complaints, result_shapes
from kgbench.validation.checking import validate_node
from kgbench.validation.literals import comparable, is_before_or_same, is_well_formed
from kgbench.vocab import BASE, XSD, compact
from tests.shapes.test_results import sample
from tests.support import stores
from tests.support.analysis_store import GRAPHS
from tests.support.pyshacl_oracle import rdflib_graph, shapes_for
from tests.support.rdf_mutants import Mutant, mutants
from tests.support.shape_checker import quiet

#: The graphs of tests that look like stores.
SAMPLES = (
    *("analysis_scores", "claims", "formats", "judged", "policies", "records", "result"),
    *("text2kg", "withheld"),
)
PREFIXES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <urn:x:> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
)


@cache
def recorded() -> ox.Store:
    """Return the sample; tests do not change it."""
    return sample()


@cache
def shapes() -> dict[str, Shape]:
    """Return the compiled shapes of the sample, by name."""
    return {shape.name: shape for shape in result_shapes(Data(recorded()))}


def term(value):
    """Return an rdflib term as a pyoxigraph term."""
    if isinstance(value, URIRef):
        return ox.NamedNode(str(value))
    if isinstance(value, BNode):
        return ox.BlankNode(str(value))
    assert isinstance(value, Literal)
    if value.language:
        return ox.Literal(str(value), language=value.language)
    return ox.Literal(str(value), datatype=ox.NamedNode(str(value.datatype or XSD.string)))


@contextmanager
def spoilt(store: ox.Store, mutant: Mutant) -> Iterator[bool]:
    """Change a store and restore it; yield whether the store differed."""
    removed = [ox.Quad(*map(term, triple)) for triple in mutant.remove]
    added = [quad for t in mutant.add if (quad := ox.Quad(*map(term, t))) not in store]
    for quad in removed:
        store.remove(quad)
    store.extend(added)
    yield bool(removed or added)
    for quad in added:
        store.remove(quad)
    store.extend(removed)


def all_mutants() -> list[Mutant]:
    """Return two mutants of each constraint, all of which pySHACL refuses in other tests."""
    data = rdflib_graph(recorded())
    with quiet():
        made = mutants(shapes_for(recorded(), "results"), data)
        return [mutant for _, found in made for mutant in found[:2]]


def test_sample_conforms() -> None:
    """The quick validation finds nothing in the sample, which pySHACL accepts."""
    assert [str(one) for one in complaints(Data(recorded()), list(shapes().values()))] == []


@pytest.mark.parametrize("name", [*SAMPLES, "quick_start"])
def test_both_engines_find_the_same(name: str, request: pytest.FixtureRequest) -> None:
    """In every sample graph, and in what a run has recorded, both engines find the same."""
    store = ox.Store()
    if name == "quick_start":
        store.extend(stores.quads(request.getfixturevalue(name)))
    else:
        with EmbeddedStore(None) as empty:
            store.extend(ox.Quad(*triple) for triple in empty.triples(empty.iris.catalogue))
        store.load(path=str(GRAPHS / f"{name}.trig"), base_iri=BASE)
    data = Data(store)
    found = {(str(c.focus), c.component) for c in complaints(data, result_shapes(data))}
    _, report, _ = pyshacl.validate(rdflib_graph(store), shacl_graph=shapes_for(store, "results"))
    assert found == {
        (report.value(one, SH.focusNode).n3(), kind.fragment.removesuffix("ConstraintComponent"))
        for one in report.objects(None, SH.result)
        for kind in report.objects(one, SH.sourceConstraintComponent)
    }


def test_every_mutant_is_found() -> None:
    """For every mutant, the violated constraint is found."""
    store = ox.Store()
    store.extend(ox.Quad(q.subject, q.predicate, q.object) for q in recorded())
    missed, tried = [], 0
    for mutant in all_mutants():
        shape = shapes().get(compact(str(mutant.shape)))
        if shape is None:  # reached only through other shapes, which report themselves
            continue
        with spoilt(store, mutant) as changed:
            if not changed:  # doubles that differ in Python but not in a store
                continue
            tried += 1
            found = {c.component for c in validate_node(Data(store), shape, term(mutant.focus))}
        wanted = str(mutant.component).rpartition("#")[2].removesuffix("ConstraintComponent")
        if wanted not in found:
            missed.append((mutant.name, sorted(found)))
    assert tried > 500
    assert missed == []


def loaded(turtle: str) -> ox.Store:
    """Return a store with some triples."""
    store = ox.Store()
    store.load((PREFIXES + turtle).encode(), format=ox.RdfFormat.TURTLE)
    return store


@pytest.mark.parametrize(
    ("shape", "data", "component"),
    [
        ("sh:path :p ; sh:not [ sh:class :C ]", ":a :p :c . :c a :C .", "Not"),
        ("sh:path :p ; sh:lessThan :q", ":a :p 2 ; :q 2 .", "LessThan"),
        ("sh:path :p ; sh:disjoint :q", ":a :p 2 ; :q 2 .", "Disjoint"),
        ("sh:path :p ; sh:maxLength 1", ":a :p 'ab' .", "MaxLength"),
        ("sh:path :p ; sh:maxExclusive 2", ":a :p 2.0 .", "MaxExclusive"),
        ("sh:path :p ; sh:minExclusive 2", ":a :p 2e0 .", "MinExclusive"),
        ("sh:path :p ; sh:and ( [ sh:class :C ] [ sh:class :D ] )", ":a :p :c . :c a :C .", "And"),
        ("sh:path :p ; sh:pattern '^B$' ; sh:flags 'i'", ":a :p 'c' .", "Pattern"),
        ("sh:path [ sh:oneOrMorePath :p ] ; sh:class :C", ":a :p :b . :b :p :a .", "Class"),
        ("sh:path [ sh:zeroOrOnePath :p ] ; sh:maxCount 1", ":a :p :b .", "MaxCount"),
        (
            "sh:path [ sh:alternativePath ( :p :q ) ] ; sh:maxCount 1",
            ":a :p 1 ; :q 2 .",
            "MaxCount",
        ),
        (
            "sh:path :p ; sh:qualifiedValueShape [ sh:class :C ] ; sh:qualifiedMaxCount 0",
            ":a :p :c . :c a :D . :D rdfs:subClassOf :C .",
            "QualifiedMaxCount",
        ),
    ],
)
def test_components_beyond_our_shapes(shape: str, data: str, component: str) -> None:
    """Components of SHACL core that the result shapes do not use are checked, too."""
    rules = f":s a sh:PropertyShape ; sh:targetNode :a ; {shape} ."
    found = complaints(Data(loaded(data)), compiled(loaded(rules)))
    assert {one.component for one in found} == {component}


HOLDER = ":s a sh:NodeShape ; sh:targetNode :a ;"


@pytest.mark.parametrize(
    ("rules", "data"),
    [
        (f"{HOLDER} sh:deactivated true ; sh:class :C .", ""),
        (f"{HOLDER} sh:property [ sh:deactivated true ; sh:path :p ; sh:minCount 1 ] .", ""),
        (f"{HOLDER} sh:closed false .", ":a :p 1 ."),
        (
            ":s a sh:PropertyShape ; sh:targetNode :a ; sh:path :p ; sh:uniqueLang false .",
            ":a :p 'x'@en , 'y'@en .",
        ),
    ],
)
def test_what_is_switched_off_is_silent(rules: str, data: str) -> None:
    """A deactivated shape or constraint reports nothing."""
    assert list(complaints(Data(loaded(data)), compiled(loaded(rules)))) == []


def test_class_that_is_a_shape_targets_its_instances() -> None:
    """A shape that is a class applies to members of its subclasses, even in a circle."""
    rules = ":C a sh:NodeShape , rdfs:Class ; sh:property [ sh:path :p ; sh:minCount 1 ] ."
    circle = ":D rdfs:subClassOf :C . :E rdfs:subClassOf :D . :C rdfs:subClassOf :E ."
    data = f"{circle} :a a :E . :b a :C ; :p 1 ."
    found = complaints(Data(loaded(data)), compiled(loaded(rules)))
    assert [(str(one.focus), one.component) for one in found] == [("<urn:x:a>", "MinCount")]


def test_complaint_has_the_name_and_severity_of_its_shape() -> None:
    """A named property shape is reported by its name and with its severity and message."""
    rules = (
        ":s a sh:NodeShape ; sh:targetNode :a ; sh:property :named , [ sh:path :q ; sh:minCount 1 ]"
        " . :named sh:path :p ; sh:minCount 1 ; sh:severity sh:Warning ; sh:message 'no p' ."
    )
    found = {one.path: one for one in complaints(Data(loaded("")), compiled(loaded(rules)))}
    assert {path: (one.shape, one.severity) for path, one in found.items()} == {
        "urn:x:p": ("urn:x:named", "Warning"),
        "urn:x:q": ("urn:x:s", "Violation"),
    }
    assert found["urn:x:p"].message == "no p"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("sh:path :p ; sh:in :nowhere", "list is not one"),
        ("sh:path :p ; sh:in :l . :l rdf:first 1 ; rdf:rest :l", "list is not one"),
        ("sh:path :p ; sh:in :l . :l rdf:first 1 , 2 ; rdf:rest ()", "list is not one"),
        ("sh:path ( :p )", "at least two"),
        ("sh:path [ sh:alternativePath ( :p ) ]", "at least two"),
        ("sh:path [ sh:somePath :p ]", "neither a property nor a path"),
    ],
)
def test_lists_and_paths_that_are_none_are_refused(rules: str, words: str) -> None:
    """An invalid or circular list and an unsupported path are refused."""
    with pytest.raises(ResourceError, match=words):
        compiled(loaded(f":s a sh:PropertyShape ; sh:targetNode :a ; {rules} ."))


def test_range_that_is_no_double_bounds_nothing() -> None:
    """A bound that is not a double, which the shape of metrics refuses, has no effect."""
    data = loaded(
        ":m a <http://www.w3.org/ns/dqv#Metric> ; <https://schema.org/minValue> 0 ; "
        "<https://schema.org/maxValue> 1.0e0 . :e :m -5.0e0 . :f :m 5.0e0 ."
    )
    found = list(complaints(Data(data), result_shapes(Data(data))))
    outside = {str(one.focus) for one in found if one.component == "MaxInclusive"}
    assert outside == {"<urn:x:f>"}


def test_values_without_order_are_not_in_order() -> None:
    """A time with a zone and one without are not comparable."""
    moment = ox.NamedNode(XSD.dateTime)
    here = ox.Literal("2026-11-20T12:00:00", datatype=moment)
    there = ox.Literal("2026-11-20T12:00:00Z", datatype=moment)
    assert not is_before_or_same(here, there)
    assert not is_before_or_same(there, here)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_doubles_compare_as_numbers(first: float, second: float) -> None:
    """Any two doubles except NaN compare as in Python."""
    double = ox.NamedNode(XSD.double)
    texts = [repr(number).replace("inf", "INF") for number in (first, second)]
    literals = [ox.Literal(text, datatype=double) for text in texts]
    assert all(map(is_well_formed, literals))
    assert is_before_or_same(*literals) == (first <= second)
    assert comparable(ox.Literal("NaN", datatype=double)) is None
