# SPDX-License-Identifier: Apache-2.0
"""Declarations of analyses and descriptions of queries: errors are reported with the file."""

from __future__ import annotations

import shutil

import pytest

from kgbench import resources
from kgbench.analysis.compass import find_compass
from kgbench.analysis.format_preference import find_comparison
from kgbench.errors import QueryError, ResourceError
from kgbench.rdf import queries
from kgbench.rdf.queries import Query, QueryParameter, bind
from kgbench.scores.catalogue import records
from kgbench.scores.declared import score_set
from kgbench.vocab import XSD

PREFIXES = """
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
SET = """<urn:s> a kgb:ScoreSet ; skos:notation "mine" ; rdfs:label "Mine" ;
    dcterms:description "d" ; kgb:scoreSelector [ kgb:taskGlob "*" ; kgb:round 1 ] ."""
COMPASS = """<urn:c> a kgb:Compass ; skos:notation "mine" ; rdfs:label "Mine" ;
    kgb:bandWidth 1.0 ; kgb:deviationKind "sample" ; kgb:axis <urn:b> , <urn:a> .
<urn:a> sh:order 1 ; skos:notation "A" ; rdfs:label "A" ; kgb:scoreSelector <urn:s> .
<urn:b> sh:order 2 ; skos:notation "B" ; rdfs:label "B" ; kgb:scoreSelector <urn:s> .
<urn:s> kgb:taskGlob "*" ."""
MODEL = """<urn:m> a kgb:ModelRecord ; rdfs:label "M" ; kgb:family "F" ; kgb:matches "m" ;
    kgb:parameterCount 7.0e0 ; kgb:contextLength 8000 ; dcterms:issued "2025-01-31" ."""
GROUPS = """<urn:g> a kgb:ScoreSet ; skos:notation "mine" ; rdfs:label "Mine" ;
    dcterms:description "d" ; kgb:axis <urn:a> , <urn:b> .
<urn:a> skos:notation "A" ; kgb:weight 2.0 ; kgb:scoreSelector <urn:s> .
<urn:b> skos:notation "B" ; kgb:scoreSelector <urn:s> .
<urn:s> kgb:taskGlob "*" ."""
FORMATS = """<urn:f> a kgb:FormatComparison ; skos:notation "mine" ; rdfs:label "Mine" ;
    kgb:firstFormat "X" ; kgb:secondFormat "Y" ; kgb:formatPair <urn:p> , <urn:q> .
<urn:p> rdfs:label "A" ; kgb:firstTask "a" ; kgb:secondTask "b" .
<urn:q> rdfs:label "B" ; kgb:firstTask "a" ; kgb:secondTask "b" ."""
READERS = {
    GROUPS: lambda file: score_set("mine", file),
    FORMATS: lambda file: find_comparison("mine", file),
    SET: lambda file: score_set("mine", file),
    COMPASS: lambda file: find_compass("mine", file),
    MODEL: records,
}


def test_own_declarations_are_read(tmp_path):
    """Rounds are numbers, axes keep their order, records have sizes and dates."""
    file = tmp_path / "own.ttl"
    file.write_text(PREFIXES + SET + COMPASS + MODEL, encoding="utf-8")
    assert [selector.round for selector in score_set("mine", file).selectors] == ["1"]
    assert [axis.name for axis in find_compass("mine", file).axes] == ["A", "B"]
    record = records(file)[0]
    assert (record.parameters, record.context, str(record.released)) == (7.0, 8000, "2025-01-31")


@pytest.mark.parametrize(
    ("text", "found", "instead", "message"),
    [
        (SET, "a kgb:ScoreSet", "a kgb:ScoreSet ; skos:notation 'two'", "several values of <.*not"),
        (SET, 'kgb:taskGlob "*" ;', "", "has no <.*taskGlob>"),
        (SET, "kgb:round 1", 'kgb:round "first"', "<.*round> of .* cannot be 'first'"),
        (SET, "kgb:round 1", "kgb:round -1", "cannot be '-1': rounds are counted from 0"),
        (GROUPS, "2.0", '"1/0"', "<.*weight> of .* cannot be '1/0'"),
        (GROUPS, "2.0", "0.0", "<.*weight> of .* cannot be '0': a weight is a positive"),
        (GROUPS, '"B"', '"A"', "has two <.*axis> called 'A'"),
        (
            GROUPS,
            "kgb:axis <urn:a>",
            "kgb:scoreSelector <urn:s> ; kgb:axis <urn:a>",
            "<urn:g> has axes and selectors: leave one out",
        ),
        (FORMATS, '"Y"', '"X"', "both formats of <urn:f> are called 'X'"),
        (FORMATS, '"B"', '"A"', "has two <.*formatPair> called 'A'"),
        (FORMATS, '"B"', '"All tasks"', "has a pair called 'All tasks', as a column"),
        (FORMATS, "; kgb:formatPair <urn:p> , <urn:q>", "", "has no <.*formatPair>"),
        (SET, "@prefix", "@prefixes", "declarations .* cannot be read"),
        (COMPASS, "kgb:bandWidth 1.0 ;", "", "<urn:c> has no <.*bandWidth>"),
        (COMPASS, "kgb:bandWidth 1.0 ;", 'kgb:bandWidth "wide" ;', "cannot be 'wide'"),
        (COMPASS, "kgb:bandWidth 1.0 ;", "kgb:bandWidth -1.0 ;", "cannot be '-1'"),
        (COMPASS, "kgb:bandWidth 1.0 ;", 'kgb:bandWidth "NaN" ;', "cannot be 'NaN'"),
        (COMPASS, '"B" ; rdfs', '"A" ; rdfs', "has two <.*axis> called 'A'"),
        (COMPASS, "; kgb:axis <urn:b> , <urn:a>", "", "has no <.*axis>"),
        (
            COMPASS,
            "<urn:a> sh",
            COMPASS.replace("<urn:c>", "<urn:d>").partition("\n<urn:a>")[0] + "<urn:a> sh",
            "several resources are called 'mine'",
        ),
        (COMPASS, "sh:order 2", 'sh:order "last"', "<.*order> of <urn:b> cannot be 'last'"),
        (MODEL, "7.0e0", "0", "parameterCount> of <urn:m> cannot be '0': a size must"),
        (MODEL, "8000", '"INF"^^<http://www.w3.org/2001/XMLSchema#double>', "'INF': a size must"),
        (MODEL, "7.0e0", '"seven"', "cannot be 'seven'"),
        (MODEL, "2025-01-31", "last year", "issued> of <urn:m> cannot be 'last year'"),
    ],
)
def test_damaged_declarations_are_named(tmp_path, text, found, instead, message):
    """A missing, repeated or non-numeric value is refused, with the file and the property."""
    file = tmp_path / "own.ttl"
    whole = PREFIXES + text
    assert found in whole
    file.write_text(whole.replace(found, instead, 1), encoding="utf-8")
    with pytest.raises(ResourceError, match=message) as raised:
        READERS[text](file)
    assert str(file) in str(raised.value)


def test_an_absent_file_is_named(tmp_path):
    """A missing file is refused by name."""
    with pytest.raises(ResourceError, match=r"declarations .*none\.ttl cannot be read"):
        score_set("main", tmp_path / "none.ttl")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield a folder of queries to damage, which replaces the shipped ones."""
    place = tmp_path / "queries"
    place.mkdir()
    shipped = resources.folder("queries")
    for name in ("parameters.ttl", "columns.ttl", "list-models.rq", "list-models.ttl"):
        shutil.copy(shipped / name, place)
    shipped = resources.folder
    monkeypatch.setattr(resources, "folder", lambda n: place if n == "queries" else shipped(n))
    caches = (queries.names, queries.load, queries._shared)
    for cache in caches:
        cache.cache_clear()
    yield place
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("file", "found", "instead", "message"),
    [
        ("list-models.rq", "SELECT", "CONSTRUCT", r"list-models.rq has the columns \[\]"),
        ("list-models.rq", "?label", "?name", r"describes the columns .*'label'.*, but .*'name'"),
        ("list-models.rq", "# PARAMETERS", "", "has parameters but no line '# PARAMETERS'"),
        ("list-models.ttl", "sh:SPARQLExecutable", "sh:Other", "must describe one SPARQLExec"),
        ("list-models.ttl", '"list-models"', '"other"', "list-models.ttl describes 'other'"),
        ("list-models.ttl", "rdfs:label", "rdfs:comment", "has no <.*label>"),
        ("parameters.ttl", 'sh:name "id"', 'sh:message "id"', "which has no <.*name>"),
        ("parameters.ttl", 'sh:name "id" ; sh:datatype xsd:string',
         'sh:name "id" ; sh:datatype xsd:date', "no parameter can be .*date"),
    ],
)  # fmt: skip
def test_descriptions_that_disagree_are_named(folder, file, found, instead, message):
    """A query whose description is damaged or contradicts it cannot be run."""
    assert "list-models" in queries.names()
    text = (folder / file).read_text(encoding="utf-8")
    assert found in text
    (folder / file).write_text(text.replace(found, instead), encoding="utf-8")
    with pytest.raises(ResourceError, match=message):
        queries.load("list-models")


def parameter(datatype):
    """Return a query with one parameter."""
    wanted = QueryParameter("p", datatype, optional=False, description="")
    return Query("q", "SELECT ?p WHERE {\n# PARAMETERS\n}", "", "", (), (wanted,), ())


@pytest.mark.parametrize(
    ("datatype", "value", "written"),
    [
        (XSD.string, 'a"b', '"a\\"b"'),
        (XSD.integer, 2.0, '"2"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        (XSD.boolean, "0", '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
        (None, "outcome:empty", "<https://w3id.org/kgbench/outcome/empty>"),
    ],
)
def test_values_are_written_as_terms(datatype, value, written):
    """A value becomes a serialised term of its datatype."""
    assert f"VALUES (?p) {{ ({written}) }}" in bind(parameter(datatype), p=value)


@pytest.mark.parametrize(
    ("datatype", "value", "message"),
    [
        (XSD.integer, 1.5, "must be integer, and 1.5 is not: it is not a whole number"),
        (XSD.integer, float("inf"), "inf is not: it is not a whole number"),
        (XSD.integer, "many", "must be integer, and 'many' is not"),
        (XSD.boolean, "perhaps", "neither true nor false"),
        (XSD.string, "\ud800", "must be string"),
        (None, "no iri", "must be an IRI"),
    ],
)
def test_values_of_another_kind_are_refused(datatype, value, message):
    """A value outside its datatype is refused, not coerced."""
    with pytest.raises(QueryError, match=message):
        bind(parameter(datatype), p=value)
