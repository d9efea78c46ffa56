# SPDX-License-Identifier: Apache-2.0
"""Mappings of CSV, JSON, XML and tables: terms, joins, graphs, and refusals."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.mapping import execution, paths
from kgbench.mapping.execution import execute_mapping
from kgbench.mapping.limits import MappingError
from kgbench.mapping.sources import Data, Table
from kgbench.policies.blank_nodes import compare_rows

PREFIXES = """
@prefix r: <http://w3id.org/rml/> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix o: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <urn:> .
"""
XSD = "http://www.w3.org/2001/XMLSchema#"
FILES = {
    "a.csv": 'id,name,of,tag\n1,"Ann, A.",x,en\n2,Bö b,,de\n3,C,y,fr\n',
    "b.csv": "code,label\nx,X\ny,Y\ny,Z\n",
    "a.json": '{"things": [{"id": 1, "of": ["x", "y"], "on": true, "size": 1.50, "no": null, '
    '"in": {"deep": "d"}}, {"id": 2, "of": [], "size": 30, "kinds": [{"k": "p"}, {"k": "q"}]}]}',
    "a.xml": '<all><thing id="1"><of>x</of><of>y</of><in><deep>d &amp; e</deep></in></thing>'
    '<thing id="2"><kind k="p">P</kind><kind k="q">Q</kind></thing></all>',
}
TABLES = {
    "People": Table(
        (("id", "INTEGER"), ("Name", "TEXT"), ("boss", "INTEGER"), ("size", "REAL")),
        ((1, "Ann", None, 1.5), (2, "Bob", 1, None), (3, "Cy", 1, 20.0)),
    )
}
SOURCES = {
    "csv": '[ r:source [ r:path "a.csv" ] ; r:referenceFormulation r:CSV ]',
    "json": '[ r:source "a.json" ; r:referenceFormulation r:JSONPath ; r:iterator "$.things[*]" ]',
    "xml": '[ r:source "a.xml" ; r:referenceFormulation ql:XPath ; r:iterator "/all/thing" ]',
    "table": '[ rr:tableName "people" ]',
}
SUBJECTS = {"csv": "{id}", "json": "{$.id}", "xml": "{@id}", "table": '{\\"ID\\"}'}


def made(mapping, base=None):
    """Return the rows that a mapping generates."""
    quads = ox.parse(PREFIXES + mapping, ox.RdfFormat.TURTLE)
    return execute_mapping([quad.triple for quad in quads], Data(FILES, TABLES), base)


def objects(kind, said, more=""):
    """Return the subjects and objects of triples generated with an object map."""
    found = made(
        f':m r:logicalSource {SOURCES[kind]} ; r:subjectMap [ r:template "urn:{SUBJECTS[kind]}" ] ;'
        f" r:predicateObjectMap [ r:predicate :p ; r:objectMap [ {said} ] ] . {more}"
    )
    return sorted(f"{subject[5:-1]} {value}" for subject, _, value in found)


def refused(mapping, why):
    """Assert that a mapping is refused for a reason."""
    with pytest.raises(MappingError, match=why):
        made(mapping)


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        ("csv", 'r:reference "name"', ['1 "Ann, A."', '2 "Bö b"', '3 "C"']),
        ("csv", 'r:reference "of"', ['1 "x"', '3 "y"']),
        ("csv", 'r:template "urn:{name}"', ["1 <urn:Ann%2C%20A.>", "2 <urn:Bö%20b>", "3 <urn:C>"]),
        (
            "csv",
            'r:template "urn:{name}" ; r:termType r:URI',
            ["1 <urn:Ann%2C%20A.>", "2 <urn:B%C3%B6%20b>", "3 <urn:C>"],
        ),
        ("csv", 'r:template "{id} {of}" ; r:termType r:Literal', ['1 "1 x"', '3 "3 y"']),
        (
            "csv",
            'r:reference "id" ; r:languageMap [ r:reference "tag" ]',
            ['1 "1"@en', '2 "2"@de', '3 "3"@fr'],
        ),
        (
            "csv",
            'r:reference "of" ; r:datatype xsd:token',
            [f'{n}"^^<{XSD}token>' for n in ('1 "x', '3 "y')],
        ),
        ("csv", 'r:constant "c"@EN', ['1 "c"@en', '2 "c"@en', '3 "c"@en']),
        ("json", 'r:reference "$.of[*]"', ['1 "x"', '1 "y"']),
        ("json", 'r:reference "of[0]"', ['1 "x"']),
        ("json", 'r:reference "$.on"', [f'1 "true"^^<{XSD}boolean>']),
        ("json", 'r:reference "$.no"', []),
        ("json", 'r:reference "$..deep"', ['1 "d"']),
        ("json", "r:reference \"$.kinds[?(@.k == 'q')].k\"", ['2 "q"']),
        (
            "json",
            'r:reference "$.size"',
            [f'1 "1.5E0"^^<{XSD}double>', f'2 "30"^^<{XSD}integer>'],
        ),
        ("json", 'r:reference "$.size" ; r:datatype xsd:string', ['1 "1.50"', '2 "30"']),
        ("xml", 'r:reference "of"', ['1 "x"', '1 "y"']),
        ("xml", 'r:reference "of[2]/text()"', ['1 "y"']),
        ("xml", 'r:reference "in"', ['1 "d & e"']),
        ("xml", 'r:reference ".//deep"', ['1 "d & e"']),
        ("xml", "r:reference \"kind[@k = 'q']\"", ['2 "Q"']),
        ("xml", 'r:reference "kind[last()]/@k"', ['2 "q"']),
        ("xml", "r:reference \"kind[. != 'Q']/../@id\"", ['2 "2"']),
        ("table", 'rr:column "\\"NAME\\""', ['1 "Ann"', '2 "Bob"', '3 "Cy"']),
        ("table", 'rr:column "boss"', [f'2 "1"^^<{XSD}integer>', f'3 "1"^^<{XSD}integer>']),
        ("table", 'rr:column "size"', [f'1 "1.5E0"^^<{XSD}double>', f'3 "2.0E1"^^<{XSD}double>']),
    ],
)
def test_object_maps(kind, said, expected):
    """Values, templates, constants, languages, datatypes and term types work in each format."""
    assert objects(kind, said) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [("9e999", "INF"), ("-9e999", "-INF"), ("9e307", "9.0E307"), ("9e307 * 10", "INF")],
)
def test_numbers_of_sql_that_are_not_finite(number, expected):
    """The natural mapping of a double without a finite value is a value of xsd:double, too."""
    found = made(
        f':m rr:logicalTable [ rr:sqlQuery "SELECT {number} AS x, 1 AS y" ] ;'
        ' rr:subjectMap [ rr:template "urn:{y}" ] ;'
        ' rr:predicateObjectMap [ rr:predicate :p ; rr:objectMap [ rr:column "x" ] ] .'
    )

    assert [value for _, _, value in found] == [f'"{expected}"^^<{XSD}double>']


def test_joins_compare_values_of_two_sources():
    """Each parent with the same value is linked, once for each record with the value."""
    parent = (
        ':other r:logicalSource [ r:source "b.csv" ; r:referenceFormulation r:CSV ] ;\n'
        'r:subjectMap [ r:template "urn:o-{label}" ] .'
    )
    said = 'r:parentTriplesMap :other ; r:joinCondition [ r:child "of" ; r:parent "code" ]'

    assert objects("csv", said, parent) == ["1 <urn:o-X>", "3 <urn:o-Y>", "3 <urn:o-Z>"]


def test_a_table_is_joined_with_itself_or_with_a_query():
    """An R2RML table can be joined with itself, by a join condition or in SQL."""
    said = 'rr:parentTriplesMap :m ; rr:joinCondition [ rr:child "boss" ; rr:parent "id" ]'
    assert objects("table", said) == ["2 <urn:1>", "3 <urn:1>"]
    found = made(
        ':m a rr:TriplesMap ; rr:logicalTable [ rr:sqlQuery "SELECT a.id AS x, b.Name AS y '
        'FROM People a JOIN People b ON a.boss = b.id;" ] ; rr:subjectMap [ rr:template '
        '"urn:{x}" ] ; rr:predicateObjectMap [ rr:predicate :p ; rr:objectMap [ rr:column "y" ] ] .'
    )
    assert found == {("<urn:2>", "<urn:p>", '"Ann"'), ("<urn:3>", "<urn:p>", '"Ann"')}


def test_graphs_and_classes():
    """Subject graphs also hold the classes; predicate-object graphs are added to them."""
    found = made(
        f':m r:logicalSource {SOURCES["xml"]} ; r:subjectMap [ r:template "urn:{{@id}}" ;\n'
        'r:class :C ; r:graphMap [ r:template "urn:g{@id}" ] ] ; r:predicateObjectMap [\n'
        "r:predicate :p ; r:object 5 ; r:graph r:defaultGraph , :h ] ."
    )
    five = ("<urn:1>", "<urn:p>", f'"5"^^<{XSD}integer>')
    assert {row for row in found if row[0] == "<urn:1>"} == {
        ("<urn:1>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<urn:C>", "<urn:g1>"),
        five,
        (*five, "<urn:g1>"),
        (*five, "<urn:h>"),
    }


def test_blank_nodes_are_one_where_their_values_are():
    """Two triples maps generate the same blank node for the same values."""
    node = 'r:template "n{id}" ; r:termType r:BlankNode'
    found = made(
        f":m r:logicalSource {SOURCES['csv']} ; r:subjectMap [ {node} ] ;\n"
        'r:predicateObjectMap [ r:predicate :p ; r:objectMap [ r:reference "id" ] ] .\n'
        f':n r:logicalSource {SOURCES["csv"]} ; r:subjectMap [ r:template "urn:{{id}}" ] ;\n'
        f"r:predicateObjectMap [ r:predicate :q ; r:objectMap [ {node} ] ] ."
    )
    wanted = {
        row
        for n in "123"
        for row in ((f"_:{n}", "<urn:p>", f'"{n}"'), (f"<urn:{n}>", "<urn:q>", f"_:{n}"))
    }
    compared = compare_rows(wanted, found)
    assert not compared.missing
    assert not compared.surplus


def test_the_older_vocabularies():
    """The older RML vocabulary, R2RML terms in it, and tables by iterator are supported."""
    old = (
        ':m rr:subjectMap [ rr:template "urn:{id}" ; rr:class :C ] ;\n'
        'o:logicalSource [ o:source "a.csv" ; o:referenceFormulation ql:CSV ] ;\n'
        'rr:predicateObjectMap [ rr:predicate :p ; rr:objectMap [ o:reference "of" ] ] .'
    )
    assert ("<urn:3>", "<urn:p>", '"y"') in made(old)
    new = ':m r:logicalSource [ r:referenceFormulation r:SQL2008Table ; r:iterator "People" ] ;\n'
    assert len(made(f'{new} r:subjectMap [ r:template "urn:{{id}}" ; r:class :C ] .')) == 3


ENDLESS = "WITH RECURSIVE t(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM t) SELECT id FROM t"
SUBJECT = 'r:subjectMap [ r:template "urn:{id}" ; r:class :C ]'


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('[ r:source "/etc/passwd" ; r:referenceFormulation r:CSV ]', "does not have: /etc/passwd"),
        ('[ r:source "../a.csv" ; r:referenceFormulation r:CSV ]', "does not have: ../a.csv"),
        (
            '[ r:source "http://127.0.0.1:9/" ; r:referenceFormulation r:CSV ]',
            "does not have: http",
        ),
        ('[ r:source [ :url "x" ] ; r:referenceFormulation r:CSV ]', "does not have"),
        ('[ r:source [ r:root :x ; r:path "a.csv" ] ; r:referenceFormulation r:CSV ]', "no place"),
        ('[ r:source "a.csv" ; r:referenceFormulation :Excel ]', "no reference formulation"),
        ('[ r:source "a.csv" ]', "neither a reference formulation"),
        ('[ r:source "a.json" ; r:referenceFormulation r:JSONPath ]', "lacks an iterator"),
        ('[ r:source "a.xml" ; r:referenceFormulation r:JSONPath ; r:iterator "$" ]', "is no JSON"),
        ('[ r:source "a.csv" ; r:referenceFormulation r:XPath ; r:iterator "/a" ]', "is no XML"),
        ('[ r:source "a.xml" ; r:referenceFormulation r:XPath ; r:iterator "/a[" ]', "ill-formed"),
        ('[ rr:tableName "nothing" ]', "the table nothing"),
        ('[ rr:sqlQuery "SELECT * FROM sqlite_master" ]', "cannot be executed"),
        ("[ rr:sqlQuery \"ATTACH '/tmp/x' AS x\" ]", "cannot be executed"),
        ('[ rr:sqlQuery "PRAGMA database_list" ]', "cannot be executed"),
        ("[ rr:sqlQuery \"SELECT load_extension('x')\" ]", "cannot be executed"),
        ('[ rr:sqlQuery "SELECT random() AS id" ]', "cannot be executed"),
        ('[ rr:sqlQuery "DROP TABLE People" ]', "cannot be executed"),
        ('[ rr:sqlQuery "DELETE FROM People" ]', "cannot be executed"),
        ('[ rr:sqlQuery "SELECT 1 AS id; SELECT 2" ]', "cannot be executed"),
        ('[ rr:sqlQuery "SELECT id, id FROM People" ]', "have one name"),
        (f'[ rr:sqlQuery "{ENDLESS}" ]', "cannot be executed"),
        (
            '[ rr:sqlQuery "SELECT count(*) AS id FROM '
            + ", ".join(f"People p{n}" for n in range(40))
            + '" ]',
            "too many steps",
        ),
        ('[ r:source "a.csv" ; r:referenceFormulation r:CSV ; r:strategy :s ]', "no property"),
    ],
)
def test_sources_that_are_refused(source, why):
    """A source that is not passed in, and SQL that does more than read, are refused."""
    refused(f":m r:logicalSource {source} ; {SUBJECT} .", why)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('r:reference "nothing"', "no column"),
        ('r:reference "id" ; r:template "{id}"', "more than one of"),
        ('r:reference "id" ; r:termType :Thing', "no term type"),
        ('r:reference "name" ; r:termType r:IRI', "relative IRI"),
        ('r:template "urn: {id}"', "characters that no IRI has"),
        ('r:reference "id" ; r:language "too-long-a-languagetag"', "no language tag"),
        ('r:reference "id" ; r:language "en" ; r:datatype xsd:int', "both a language"),
        ('r:template "urn:{id" ', "not closed"),
        ("r:termType r:Literal", "no template, reference or constant"),
        ("r:parentTriplesMap :nowhere", "no triples map"),
        ("r:parentTriplesMap :other", "sources differ"),
    ],
)
def test_terms_that_are_refused(said, why):
    """A term map that makes no valid RDF term is refused with the reason."""
    other = f":other r:logicalSource {SOURCES['json']} ; r:subject :s ."
    refused(
        f":m r:logicalSource {SOURCES['csv']} ; {SUBJECT} ; r:predicateObjectMap [\n"
        f"r:predicate :p ; r:objectMap [ {said} ] ] . {other}",
        why,
    )


def test_what_explodes_is_stopped():
    """The number of terms and the length of a text are limited; a constant join is not."""
    many = "{$.things[*].id}" * 40
    source = '[ r:source "a.json" ; r:referenceFormulation r:JSONPath ; r:iterator "$" ]'
    refused(f':m r:logicalSource {source} ; r:subjectMap [ r:template "urn:{many}" ] .', "terms")
    long = "x" * 7_000_000
    refused(
        f':m r:logicalSource {SOURCES["csv"]} ; r:subjectMap [ r:template "urn:{long}{{id}}" ] .',
        "characters",
    )
    maps = "\n".join(
        f":m{n} r:logicalSource {SOURCES['csv']} ; r:subject :s ; r:predicateObjectMap [\n"
        "r:predicate :p ; r:objectMap [ r:parentTriplesMap :m0 ; r:joinCondition [\n"
        'r:childMap [ r:constant "1" ] ; r:parentMap [ r:constant "1" ] ] ] ] .'
        for n in range(3)
    )
    assert made(maps) == {("<urn:s>", "<urn:p>", "<urn:s>")}


@pytest.mark.parametrize(
    ("said", "is_right"),
    [
        ("r:encoding r:UTF-8 ; r:compression r:none", True),
        ("r:compression <http://semweb.mmlab.be/ns/rml-compression#none>", True),
        ("r:encoding r:UTF-16", False),
        ("r:compression r:gzip", False),
    ],
)
def test_encoding_and_compression_of_sources(said, is_right):
    """A mapping may say that its files are in UTF-8 and not compressed, as they are."""
    source = f'[ a r:RelativePathSource ; r:path "a.csv" ; {said} ]'
    mapping = (
        f":m r:logicalSource [ r:source {source} ; r:referenceFormulation r:CSV ] ;\n"
        'r:subjectMap [ r:template "urn:{id}" ; r:class :C ] .'
    )
    if is_right:
        assert made(mapping)
    else:
        with pytest.raises(MappingError, match="of the sources"):
            made(mapping)


@pytest.mark.parametrize(
    "path", ["$.a[", "$.", "$a b", "$.a]", "$['a", "", "a..", "$.a[?(@)]", "x" * 3_000]
)
def test_ill_formed_json_paths(path):
    """An ill-formed JSONPath is refused as a whole."""
    with pytest.raises(MappingError, match=r"JSONPath|more than"):
        list(paths.select_json(path, {}))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", [{"a": [1, 2, {"b": 3}], "b c": 4}]),
        ("$.a[-1].b", [3]),
        ("$.a[0:2]", [1, 2]),
        ("$['a','b c']", [[1, 2, {"b": 3}], 4]),
        ("$.*", [[1, 2, {"b": 3}], 4]),
        ("$..b", [3]),
        ("$.a[0,1]", [1, 2]),
        ("$.a[?@.b > 2].b", [3]),
        ("$.a[?(@.b)].b", [3]),
        ("$.a[?(@.b == '3')].b", []),
        ("$.a[?(@.b != 4)].b", [3]),
        ("$.a[9]", []),
        ('$["b c"]', [4]),
    ],
)
def test_json_paths(path, expected):
    """Each path finds its values in document order."""
    assert list(paths.select_json(path, {"a": [1, 2, {"b": 3}], "b c": 4})) == expected


def test_entities_are_not_read():
    """XML with a document type declaration is refused."""
    bomb = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    mapping = (
        ':m r:logicalSource [ r:source "x" ; r:referenceFormulation r:XPath ; r:iterator "/a" ] ;'
    )
    quads = ox.parse(f"{PREFIXES}{mapping} r:subject :s .", ox.RdfFormat.TURTLE)
    with pytest.raises(MappingError, match="document type"):
        execute_mapping([quad.triple for quad in quads], Data({"x": bomb}, {}))


def test_templates_keep_what_is_escaped():
    """Backslashes escape braces and themselves in templates."""
    assert execution.parse_template(r"\{{a\\b}\}") == execution.Template(("{", "}"), ("a\\b",))
