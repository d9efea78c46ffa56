# SPDX-License-Identifier: Apache-2.0
"""Comparison policies: the scores of each declared rule for small results."""

from __future__ import annotations

import pytest

from kgbench import resources
from kgbench.errors import EvaluationError, QueryError
from kgbench.model import QueryResult
from kgbench.policies.compare import Comparison, Reference, compare
from kgbench.policies.policy import policies, policy
from kgbench.policies.results import from_bindings, from_json, to_json
from kgbench.policies.values import by_value, format_term, parse_term
from kgbench.policies.whole_rows import TieGroup
from kgbench.rdf.declared import quads
from kgbench.vocab import XSD
from tests.support.validation import report

NAMES = ("grasp", "llm-kg-bench", "qald-macro", "rows", "spinach", "text2sparql-2025")


def table(variables: str, *rows: str) -> QueryResult:
    """Return a result: in ``table("a b", "x 1")`` words are IRIs and ``-`` is unbound."""
    return QueryResult(
        tuple(variables.split()), tuple(tuple(map(_term, row.split())) for row in rows)
    )


def _term(word: str) -> str | None:
    if word == "-":
        return None
    if word[0] in "0123456789":
        kind = "decimal" if "." in word else "integer"
        return f'"{word}"^^<{XSD}{kind}>'
    return word if word[0] in '"_' else f"<urn:{word}>"


def f1(name: str, expected: QueryResult, answer: QueryResult | None, **kwargs: object) -> float:
    """Return the main score under the policy called ``name``."""
    found = judged(name, expected, answer, **kwargs)
    return found.scores[policy(name).main]


def judged(
    name: str, expected: QueryResult, answer: QueryResult | None, **kwargs: object
) -> Comparison:
    """Return the comparison under the policy called ``name``."""
    return compare(policy(name), Reference(expected, **kwargs), answer)  # type: ignore[arg-type]


ASK_TRUE, ASK_FALSE = QueryResult(boolean=True), QueryResult(boolean=False)
ONE = table("x", "a", "b")


def test_policies_are_declared_by_name() -> None:
    """Each preset is declared; an unknown name is refused with the nearest one."""
    assert tuple(policies()) == NAMES
    with pytest.raises(QueryError, match="rows"):
        policy("row")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kgb:valueForm "whole"', 'kgb:valueForm "half"'),
        ('kgb:meanRule "harmonic" ;', ""),
        ("kgb:nothingIsPrecise true", 'kgb:nothingIsPrecise "yes"'),
        ("kgb:wholeRowsAbove 1024", "kgb:wholeRowsAbove 0"),
    ],
)
def test_declared_policies_conform_and_damaged_ones_do_not(old: str, new: str) -> None:
    """The shapes accept the declared policies and refuse one with an unknown value."""
    text = resources.text("ontology", "policies.ttl")
    assert old in text
    assert report(quads(text.encode()), "results") == []
    assert report(quads(text.replace(old, new).encode()), "results") != []


@pytest.mark.parametrize("name", NAMES)
def test_an_equal_result_is_right(name: str) -> None:
    """Every policy gives 1 to the expected result itself, and 0 to one that shares no value."""
    assert set(judged(name, ONE, ONE).scores.values()) == {1.0}
    assert f1(name, ONE, table("x", "c")) == 0.0


@pytest.mark.parametrize(
    ("name", "labels", "rows"),
    [
        *(("grasp", 1.0, 2 / 3), ("llm-kg-bench", 2 / 3, 1.0), ("qald-macro", 2 / 3, 1.0)),
        *(("rows", 1.0, 0.0), ("spinach", 1.0, 2 / 3), ("text2sparql-2025", 2 / 3, 1.0)),
    ],
)
def test_other_columns_and_other_rows(name: str, labels: float, rows: float) -> None:
    """An additional column costs precision only where results are flattened.

    Right values in wrong rows are right there, and partly where cells count.
    """
    assert f1(name, ONE, table("x l", "a la", "b lb")) == pytest.approx(labels)
    expected, answer = table("x y", "a b", "c d"), table("x y", "a d", "c b")
    assert f1(name, expected, answer) == pytest.approx(rows)


def test_truth_values() -> None:
    """TEXT2SPARQL does not compare truth values; the other policies do."""
    assert f1("text2sparql-2025", ASK_TRUE, ASK_FALSE) == 1.0
    assert f1("text2sparql-2025", ASK_FALSE, ASK_FALSE) == 0.0
    for name in set(NAMES) - {"text2sparql-2025"}:
        assert f1(name, ASK_FALSE, ASK_FALSE) == 1.0
        assert f1(name, ASK_TRUE, ASK_FALSE) == 0.0
    assert f1("grasp", ASK_TRUE, ONE) == 1.0
    assert f1("rows", ASK_TRUE, ONE) == f1("spinach", ASK_TRUE, ONE) == 0.0


def test_empty_against_empty() -> None:
    """An empty result equals an expected one, but not for TEXT2SPARQL; SPINACH has no score."""
    empty = table("x")
    assert judged("spinach", empty, empty).scores == {}
    assert f1("text2sparql-2025", empty, empty) == 0.0
    for name in ("grasp", "llm-kg-bench", "qald-macro", "rows"):
        assert f1(name, empty, empty) == 1.0
        assert f1(name, empty, ONE) == 0.0


def test_rows_without_values() -> None:
    """A row that binds nothing (MAX over nothing) is as empty as no row, for sets of values."""
    unbound, empty = QueryResult(("m",), ((None,),)), table("m")
    for expected, answer in ((unbound, unbound), (unbound, empty), (empty, unbound)):
        for name in ("llm-kg-bench", "qald-macro"):
            assert judged(name, expected, answer).scores["exact"] == 1.0
        assert f1("text2sparql-2025", expected, answer) == 0.0
    assert f1("qald-macro", unbound, ONE) == 0.0
    assert f1("rows", unbound, unbound) == 1.0


def test_no_answer() -> None:
    """A missing or failing query scores 0, although QALD's precision is then 1."""
    failing = QueryResult(error="no such function")
    for name in NAMES:
        assert f1(name, ONE, None) == f1(name, ONE, failing) == 0.0
    assert judged("qald-macro", ONE, None).scores["precision"] == 1.0
    assert f1("llm-kg-bench", table("x"), None) == 0.0
    assert f1("llm-kg-bench", table("x"), failing) == 1.0


def test_ndcg_does_not_see_order() -> None:
    """For TEXT2SPARQL, reversed rows are right if an order is demanded: values rank by text."""
    expected = table("x", "a", "b")
    name = "text2sparql-2025"
    assert f1(name, expected, table("x", "b", "a"), ordered=True) == 1.0
    assert f1(name, expected, table("x", "a", "b", "0"), ordered=True) == 1.0
    assert f1(name, expected, table("x", "a", "b", "c"), ordered=True) == pytest.approx(0.6934264)
    assert judged(name, expected, table("x", "b"), ordered=True).scores["set_F"] == 2 / 3


def test_rows_by_value_and_best_columns() -> None:
    """For ``rows``, numbers agree by value, columns by content, and blank nodes always."""
    expected = table("x n b", "a 1 _:b0", "b 2 _:b1")
    assert f1("rows", expected, table("m o p", "1.0 _:b7 a", "2.00 _:b8 b")) == 1.0
    assert f1("spinach", table("n", "1"), table("n", "1.0")) == 0.0


def test_rows_finds_columns_with_the_same_values() -> None:
    """Columns with the same values are told apart by their rows."""
    expected = table("x y", "a b", "b a", "a c", "c b", "b d")
    answer = table("y x z", *(f"{y} {x} q" for x, y in ("ab", "ba", "ac", "cb", "bd")))
    assert f1("rows", expected, answer) == 1.0


@pytest.mark.parametrize(("count", "width"), [(997, 5), (307, 8), (30_011, 3)])
def test_rows_finds_columns_with_the_same_values_in_long_results(count: int, width: int) -> None:
    """Columns are also told apart if there are too many rows or columns to try each order."""
    rows = [[f"<urn:{n * (2 * k + 1) % count}>" for k in range(width)] for n in range(count)]
    names = tuple(f"v{k}" for k in range(width))
    order = (*range(1, width), 0)
    right = [tuple(row[k] for k in order) for row in rows]
    wrong = [(*row[:-1], "<urn:wrong>") for row in right[: count // 2]]
    expected = QueryResult(names, tuple(map(tuple, rows)))

    assert f1("rows", expected, QueryResult(names, tuple(right))) == 1.0
    partly = QueryResult(names, (*wrong, *right[count // 2 :]))
    assert f1("rows", expected, partly) == pytest.approx(1 - (count // 2) / count)


def test_rows_in_a_demanded_order() -> None:
    """Only rows in the demanded order count; tied rows may have any order."""
    expected = table("x", "a", "b", "c")
    assert f1("rows", expected, table("x", "c", "b", "a")) == 1.0
    assert f1("rows", expected, table("x", "a", "c", "b"), ordered=True) == 2 / 3
    ties = (TieGroup((("<urn:a>",),), 1), TieGroup((("<urn:b>",), ("<urn:c>",)), 2))
    assert f1("rows", expected, table("x", "a", "c", "b"), ordered=True, groups=ties) == 1.0
    assert f1("rows", expected, table("x", "b", "a", "c"), ordered=True, groups=ties) == 2 / 3


def test_rows_at_a_limit_that_cuts_a_tie() -> None:
    """Tied rows are interchangeable at a LIMIT, but no more of them than it leaves places for."""
    ties = (TieGroup((("<urn:a>",),), 1), TieGroup((("<urn:b>",), ("<urn:c>",)), 1))
    expected = table("x", "a", "b")
    assert f1("rows", expected, table("x", "a", "c"), groups=ties) == 1.0
    assert judged("rows", expected, table("x", "a", "b", "c"), groups=ties).scores["precision"] == (
        pytest.approx(2 / 3)
    )


@pytest.mark.parametrize(
    ("tied", "places", "answer", "right", "expected_size"),
    [
        ("a a a b", 3, "a", 1, 1),
        ("a a a b", 3, "a b", 2, 2),
        ("a a a b", 3, "b", 1, 2),
        ("a a a b", 4, "a", 1, 2),
        ("a a b b", 3, "a", 1, 2),
        ("a a b b c", 1, "c", 1, 1),
        ("a a b b c", 1, "c a", 1, 1),
        ("a a b b c", 4, "c", 1, 3),
        ("a a b b c", 4, "b a", 2, 2),
        ("a a b b c", 4, "d", 0, 2),
    ],
)
def test_duplicates_among_rows_that_tie_at_a_limit(
    tied: str, places: int, answer: str, right: int, expected_size: int
) -> None:
    """Each choice of rows that fills the places is right; the answer is compared with the nearest.

    No choice gives fewer distinct rows that are missing in the answer.
    """
    ties = (TieGroup(table("x", *tied.split()).rows, places),)
    scores = judged("rows", table("x", "a"), table("x", *answer.split()), groups=ties).scores

    assert scores["recall"] == pytest.approx(right / expected_size)
    assert scores["precision"] == pytest.approx(right / len(answer.split()))


def test_tied_rows_that_an_earlier_group_has() -> None:
    """A row of an earlier group may fill a place of the last group, too."""
    ties = (
        TieGroup(table("x", "a", "b").rows, 2),
        TieGroup(table("x", "a", "c", "d").rows, 1),
    )
    for answer, recall in (("a b", 1), ("b a c", 1), ("b", 1 / 2), ("a b c d", 1)):
        given = table("x", *answer.split())
        scores = judged("rows", table("x", "a", "b"), given, ordered=True, groups=ties).scores
        assert scores["recall"] == pytest.approx(recall)
        assert (scores["precision"] == 1) == (answer != "a b c d")


def test_labels_are_left_out_by_spinach() -> None:
    """SPINACH ignores the columns of labels and descriptions."""
    expected = from_bindings(
        [{"x": {"type": "uri", "value": "urn:a"}, "xLabel": {"type": "literal", "value": "A"}}]
    )
    assert f1("spinach", expected, table("x", "a")) == 1.0
    assert f1("grasp", expected, table("x", "a")) == pytest.approx(2 / 3)


def test_whole_rows_above_the_limit() -> None:
    """Above 1,024 rows GRASP compares whole rows, so that an additional column scores 0."""
    rows = [f"a{number}" for number in range(1_025)]
    expected = table("x", *rows)
    assert f1("grasp", expected, expected) == 1.0
    assert f1("grasp", expected, table("x y", *(f"{row} b" for row in rows))) == 0.0
    assert f1("grasp", expected, table("x", *rows[:-25])) == pytest.approx(2 * 1000 / 2025)


def test_too_many_rows_to_match_are_refused() -> None:
    """Rows of one cell are matched in linear time; too many wider rows are refused."""
    one = table("x", *(f"a{number}" for number in range(6_000)))
    assert f1("spinach", one, one) == 1.0
    assert f1("spinach", one, table("x", *(f"a{number}" for number in range(3_000)))) == 2 / 3
    many = table("x y", *(f"a{number} b{number}" for number in range(6_000)))
    with pytest.raises(EvaluationError, match="6,000 rows cannot be matched with 6,000"):
        judged("spinach", many, many)


def test_results_there_and_back() -> None:
    """Typed results survive a round trip through SPARQL-JSON; invalid results are refused."""
    literals = ('"a\\"b\\\\"', '"x"@en-GB', f'"1"^^<{XSD.integer}>', '"\\n"')
    result = QueryResult(("a", "b"), tuple((literal, None) for literal in literals))
    for one in (result, ASK_TRUE, QueryResult(error="no"), table("x", "_:b0", "a")):
        assert from_json(to_json(one)) == one
    for wrong in ([], {}, {"head": {}, "results": {"bindings": []}}):
        with pytest.raises(EvaluationError):
            from_json(wrong)
    with pytest.raises(EvaluationError, match="unknown type 'iri'"):
        from_bindings([{"x": {"type": "iri", "value": "urn:a"}}])


@pytest.mark.parametrize("term", ["<urn:a>", "_:b", '""', '"a"@en', '"\\\\n"', '"1"^^<urn:d>'])
def test_terms_there_and_back(term: str) -> None:
    """A term that is parsed and formatted is unchanged."""
    assert format_term(parse_term(term)) == term


@pytest.mark.parametrize(
    ("one", "other"), [("3", "2.99999999999999"), ("1e2", "100"), ("-0", "0"), ("1E400", "1e400")]
)
def test_equal_numbers(one: str, other: str) -> None:
    """Numbers are equal if ten digits agree, whatever their notation."""
    keys = {by_value(f'"{text}"^^<{XSD.double}>') for text in (one, other.upper())}
    assert len(keys) == 1


def test_unequal_numbers() -> None:
    """Large integers differ by their last digit, and small numbers by their tenth."""
    for pair in (("10000000000000001", "10000000000000002"), ("1.000000001", "1.000000002")):
        assert len({by_value(f'"{text}"^^<{XSD.decimal}>') for text in pair}) == 2
