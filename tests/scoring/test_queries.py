# SPDX-License-Identifier: Apache-2.0
"""Formulas for lists of values, result sets and names in queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.scoring import result_sets
from kgbench.scoring.result_sets import compare_names, names

GHI = {"": "https://abc.def/ghi/", "org": "http://www.w3.org/ns/org#"}


@pytest.mark.parametrize(
    ("answer", "f1"),
    [
        (":bob", (1, 1, 1, 1)),
        (" :bob ", (0, 1, 1, 1)),
        ("<https://abc.def/ghi/bob>", (0, 0, 1, 1)),
        ("https://abc.def/ghi/bob", (0, 0, 1, 1)),
        ("0:bob", (0, 0, 1, 1)),
        ('":bob"', (0, 0, 1, 1)),
        ("Bob", (0, 0, 0, 1)),
        (":bob\n:anne", (2 / 3, 2 / 3, 2 / 3, 2 / 3)),
        (":bob\n\n:bob\n", (1, 1, 1, 1)),
        ("", (0, 0, 0, 0)),
    ],
)
def test_four_degrees_of_strictness(answer: str, f1: tuple[float, ...]) -> None:
    """Each degree of strictness forgives what its name says and what stricter ones forgive."""
    found = result_sets.comparisons([":bob"], answer)
    assert list(found) == ["", "trim", "fixed", "relaxed"]
    assert [each.f1 for each in found.values()] == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "f1"),
    [("2", 1.0), (":anne\n:bob", 1.0), (":anne", 0.0), ("```\n2\n```", 0.0), ("3", 0.0), ("", 0.0)],
)
def test_listing_what_should_be_counted(answer: str, f1: float) -> None:
    """If one number is expected, an answer that is not a number counts as its number of colons."""
    assert result_sets.comparisons(["2"], answer)["relaxed"].f1 == f1


@pytest.mark.parametrize(
    ("value", "relaxed"),
    [(" 0:Bob ", "bob"), (":0:Bob", "bob"), (":Bob", "bob"), ("Bob:0:", "bob:0:"), ("Bob", "bob")],
)
def test_relaxed_values(value: str, relaxed: str) -> None:
    """A relaxed value is in lower case, without a leading colon or zero with colon."""
    assert result_sets.relaxed(value) == relaxed


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *(("12", True), ("-3.25", True), (" +4 ", True)),
        *(("", False), ("1.", False), (".5", False), ("1x5", False), ("1,5", False), ("x", False)),
    ],
)
def test_which_values_are_numbers(value: str, number: bool) -> None:
    """A number has digits, and may have a sign and a fraction."""
    assert result_sets.is_number(value) is number


@given(st.lists(st.text(max_size=8), max_size=4), st.text(max_size=40))
def test_comparisons_never_fail(expected: list[str], answer: str) -> None:
    """Any expectation and any answer can be compared."""
    for each in result_sets.comparisons(expected, answer).values():
        assert 0.0 <= each.f1 <= 1.0


@pytest.mark.parametrize(
    ("term", "value"),
    [
        ("<https://abc.def/ghi/bob>", ":bob"),
        ("<http://www.w3.org/ns/org#Role>", "org:Role"),
        ("<http://other.example/x>", "<http://other.example/x>"),
        ('"Bob"', "Bob"),
        ('"Bob"@en', "Bob"),
        ('"2"^^<http://www.w3.org/2001/XMLSchema#integer>', "2"),
        (r'"a\"b\\c\nd\u00E9\U0001F600"', 'a"b\\c\ndé\U0001f600'),
        (r'"\t\r\n\b\f\""', '\t\r\n\b\f"'),
        (r'"\u019A\u02BC\u0DEF\u0abc\u0def"', "\u019a\u02bc\u0def\u0abc\u0def"),
        (r'"\U0001F9AC\U0001f9ad\U000E01EF"', "\U0001f9ac\U0001f9ad\U000e01ef"),
        ("_:b0", "_:b0"),
    ],
)
def test_values_of_result_sets(term: str, value: str) -> None:
    """IRIs are shortened if a prefix fits, and literals lose their datatype and language."""
    assert result_sets.term_value(term, GHI) == value


def test_the_longest_namespace_shortens() -> None:
    """The longest fitting namespace shortens, whatever the prefixes and their order."""
    prefixes = {"z": "http://e.org/", "a": "http://e.org/a/", "m": ""}
    for each in (prefixes, dict(reversed(prefixes.items()))):
        assert result_sets.shorten_iri("http://e.org/a/b", each) == "a:b"
        assert result_sets.shorten_iri("http://e.org/b", each) == "z:b"


def test_rows_are_flattened() -> None:
    """All bound values of all columns form one set; rows without a value do not count."""
    rows = [("<https://abc.def/ghi/bob>", '"1"'), (None, None), (None, '"1"')]
    assert result_sets.values(rows, GHI) == {":bob", "1"}
    assert result_sets.bound_rows(rows) == 2
    assert result_sets.bound_rows([*rows, ("_:b", '"2"')]) == 3


def test_names_in_queries() -> None:
    """Prefixed names are kept, `a` is rdf:type, IRIs are shortened, strings are ignored."""
    query = """PREFIX org: <http://www.w3.org/ns/org#>
    SELECT ?a WHERE { ?a a org:Role ; rdfs:label ":no:name" ; org:x/:bob ?b .
    <https://abc.def/ghi/anne> <http://other.example/p> "a" }"""
    assert names(query, GHI) == {
        *("rdf:type", "org:Role", "rdfs:label", "org:x", ":bob", ":anne"),
        "<http://other.example/p>",
    }


@pytest.mark.parametrize(
    "declaration",
    [
        *("PREFIX e: <http://e.org/>", "prefix  e:<http://e.org/>", "PREFIX : <http://e.org/>"),
        *("PREFIX\n\ts1: \n <http://e.org/>", "PREFIX e-f.g: <>"),
    ],
)
def test_declarations_are_no_names(declaration: str) -> None:
    """Neither the prefix nor the IRI of a declaration counts as a used name."""
    assert names(f"{declaration} {declaration} SELECT * {{ ?s e:x ?o }}", {}) == {"e:x"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"""a :b " :c\n:d""" """\n""" :e', {":e"}),
        ("'''a :b ' :c\n:d''' '''\n''' :e", {":e"}),
        ('"""x""" :y """z"""', {":y"}),
        ("'''x''' :y '''z'''", {":y"}),
        (r'"say \" :b" :c "d"', {":c"}),
        (r"'say \' :b' :c 'd'", {":c"}),
        ('"x\n:b" :c', {":b", ":c"}),
        ("'x\n:b' :c", {":b", ":c"}),
    ],
)
def test_no_names_in_strings(query: str, expected: set[str]) -> None:
    """Strings of all four kinds are skipped, escapes included; only long ones span lines."""
    assert names(query, {}) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("e:a.b", {"e:a.b"}),
        ("e:a.", {"e:a"}),
        ("e:a-b%20/f:c", {"e:a-b%20", "f:c"}),
        ("e.f-g:h", {"e.f-g:h"}),
        ("?e:f $g:h", set()),
        ("e:f:g", {"e:f"}),
        ("?s a ?o", {"rdf:type"}),
        ("[]a[]", {"rdf:type"}),
        ("?a a:b $a , -a , as , a. a-b", {"a:b"}),
        ("<a> <>", {"<a>", "<>"}),
        ("?x < 5 && ?y > 3", set()),
        ("?x<?y", set()),
    ],
)
def test_where_names_begin_and_end(query: str, expected: set[str]) -> None:
    """Variables are not names, a final period is not part of a name, and IRIs have no spaces."""
    assert names(query, {}) == expected


def test_names_with_other_prefixes_agree_in_their_suffix() -> None:
    """The suffix variant ignores the prefix."""
    whole, suffix = compare_names(
        "SELECT ?x { ?x ns1:eats :fish }", "SELECT ?x { ?x best:eats :fish }", {}
    )
    assert whole.f1 == 0.5
    assert suffix.f1 == 1.0


def test_iris_and_names_agree() -> None:
    """An IRI and a prefixed name for it are the same name."""
    query, other = "{ ?x <https://abc.def/ghi/a:b> ?y }", "{ ?x :c ?y }"
    for whole, suffix in (compare_names(query, query, GHI), compare_names(other, other, GHI)):
        assert whole.f1 == suffix.f1 == 1.0
    assert compare_names("{ ?x :c ?y }", "{ ?x <https://abc.def/ghi/c> ?y }", GHI)[0].f1 == 1.0
    assert compare_names("{ ?x <https://abc.def/ghi/c> ?y }", "{ ?x :c ?y }", GHI)[0].f1 == 1.0


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("{ ?x :fish ?y }", "{ ?x :fowl ?y }"),
        ("{ ?x <https://abc.def/ghi/a:b> ?y }", "{ ?x :b ?y }"),
        ("{ ?x <http://e.org/x> ?y }", "{ ?x <https://e.org/x> ?y }"),
    ],
)
def test_suffixes_that_differ(one: str, two: str) -> None:
    """A suffix is the part after the first colon, or the whole of an IRI without a prefix."""
    assert compare_names(one, two, GHI)[1].f1 == 0.0


def test_a_declaration_separates() -> None:
    """A name directly after a prefix declaration is a separate name."""
    assert names("prefix e: <http://e.org/>e:x", {}) == {"e:x"}
