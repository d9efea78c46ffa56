# SPDX-License-Identifier: Apache-2.0
"""The formulas of kgbench.scoring, by examples and properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.scoring.agreement import (
    agreement,
    compare_graphs,
    compare_sets,
    harmonic,
    line_set,
    terms,
    with_uniform_blank_nodes,
)
from kgbench.scoring.formulas import aggregate, by_blanks, by_block, by_length, improvement, ratio

# Shares of counts: 0, or large enough that the product of two of them keeps its digits.
UNIT = st.just(0.0) | st.floats(1e-100, 1)
NAMES = st.sets(st.sampled_from("abcdefgh"))
TEXTS = st.text(max_size=200)


@given(UNIT, UNIT)
def test_harmonic_mean_lies_between(precision: float, recall: float) -> None:
    """F1 is at most the greater of precision and recall, and 0 only if one of them is."""
    found = harmonic(precision, recall)
    assert 0 <= found <= max(precision, recall) * (1 + 1e-15)
    assert harmonic(recall, precision) == found


def test_harmonic_mean_of_nothing() -> None:
    """F1 is 0, not undefined, if precision and recall are 0."""
    assert harmonic(0.0, 0.0) == 0.0


@given(NAMES, NAMES)
def test_set_agreement_by_definition(expected: set[str], found: set[str]) -> None:
    """Precision and recall are the shares of hits; with nothing given, precision is 1."""
    result = compare_sets(expected, found)
    hits = len(expected & found)
    assert result.precision == (hits / len(found) if found else 1.0)
    assert result.recall == (hits / len(expected) if expected else 1.0)
    assert (result.f1 == 1.0) == (expected == found)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_precision_of_nothing_is_a_parameter(value: float) -> None:
    """The caller chooses the precision of an empty answer."""
    assert agreement(0, 0, 5, precision_of_nothing=value) == (value, 0.0, 0.0)


def test_agreement_under_score_names() -> None:
    """Score names may have the prefix of a task."""
    found = agreement(1, 2, 4, precision_of_nothing=1.0)
    assert found.named("listTrim", f1="F1") == {
        "listTrimPrecision": 0.5,
        "listTrimRecall": 0.25,
        "listTrimF1": pytest.approx(1 / 3),
    }
    assert list(found.named(f1="f1measure")) == ["precision", "recall", "f1measure"]
    assert found.named() == {"precision": 0.5, "recall": 0.25, "f1": pytest.approx(1 / 3)}


def test_blank_nodes_are_alike_but_not_in_text() -> None:
    """Blank nodes lose their names; IRIs and strings that look like them are unchanged."""
    assert with_uniform_blank_nodes("_:x1 <http://e/p> _:y .") == "_:b <http://e/p> _:b ."
    line = '<http://e/_:x> <http://e/p> "say \\"_:y\\" or _:z"@en .'
    assert with_uniform_blank_nodes(line) == line
    assert (
        with_uniform_blank_nodes("_:s <http://e/p> <<( _:x <http://e/q> _:y )>> .").count("_:b ")
        == 3
    )
    assert with_uniform_blank_nodes("<<_:s<http://e/p>_:o>>") == "<<_:b<http://e/p>_:b>>"


def test_lines_that_graphs_are_compared_by() -> None:
    """The compared lines are those of the graph, with blank nodes alike, and an empty line."""
    assert line_set(["_:x <http://e/p> _:y ."]) == {"", "_:b <http://e/p> _:b ."}


def test_graphs_share_an_empty_line() -> None:
    """The published scores count an empty line on both sides, so an empty graph has some recall."""
    lines = [f"<http://e/{k}> <http://e/p> <http://e/o> ." for k in range(27)]
    found = compare_graphs(lines, [])
    assert found.precision == 1.0
    assert found.recall == 1 / 28
    assert compare_graphs(lines, reversed(lines)).f1 == 1.0


def test_swapped_blank_node_values_are_not_noticed() -> None:
    """Graphs that only swap the values of blank nodes count as equal."""
    one = [
        "_:a <http://e/p> 1 .",
        "_:a <http://e/q> 1 .",
        "_:b <http://e/p> 2 .",
        "_:b <http://e/q> 2 .",
    ]
    two = [
        "_:a <http://e/p> 1 .",
        "_:a <http://e/q> 2 .",
        "_:b <http://e/p> 2 .",
        "_:b <http://e/q> 1 .",
    ]
    assert compare_graphs(one, two).f1 == 1.0


def test_similarity_depends_on_the_order_of_its_arguments() -> None:
    """The ratio is difflib's with the arguments in this order and is not symmetric."""
    assert ratio("tide", "diet") == 0.25
    assert ratio("diet", "tide") == 0.5


def test_similarity_keeps_the_popularity_heuristic() -> None:
    """In texts of 200 characters and more, frequent characters do not start a match."""
    assert ratio("x" + "ab" * 100, "ab" * 100) == 0.0
    assert ratio("x" + "ab" * 99, "ab" * 99) > 0.99


def test_texts_of_another_magnitude_are_not_compared() -> None:
    """A text fifty times as long as the reference has ratio 0; a shorter one is compared."""
    assert ratio("ab" * 25, "a") == 2 / 51
    assert ratio("ab" * 25 + "a", "a") == 0.0
    assert ratio("", "") == 1.0


@given(UNIT, UNIT)
def test_improvement_is_continuous_and_bounded(value: float, baseline: float) -> None:
    """Improvement is at most 0.2 up to the baseline and at most 1 above it, apart from rounding."""
    found = improvement(value, baseline)
    assert 0.0 <= found <= 1.0000000000000002
    if value < baseline:
        assert found <= 0.2
    if value > baseline:
        assert found >= 0.2


def test_improvement_may_exceed_one_by_rounding() -> None:
    """The value may exceed 1 by rounding, as the published ones do."""
    baseline = next(k / 2000 for k in range(1, 2000) if improvement(1.0, k / 2000) > 1.0)
    assert improvement(1.0, baseline) == 1.0000000000000002


def test_improvement_at_the_ends() -> None:
    """No similarity gives 0, the baseline's own 0.2, and a perfect text 1."""
    assert improvement(0.0, 0.5) == 0.0
    assert improvement(0.0, 0.0) == 0.0
    assert improvement(0.5, 0.5) == 0.2
    assert improvement(1.0, 0.5) == 1.0


@given(TEXTS, TEXTS)
def test_brevities_stay_in_range(one: str, two: str) -> None:
    """Every brevity is from 0 to 1."""
    assert 0.0 <= by_length(len(one), two) <= 1.0
    assert 0.0 < by_blanks(one, two) <= 1.0
    assert by_block(None, two) == 0.0
    if two.strip():
        assert by_block(two.strip(), two) == 1.0


def test_brevity_by_length() -> None:
    """Brevity is the needed length divided by the actual length, and at most 1."""
    assert by_length(3, "123456") == 0.5
    assert by_length(6, "123") == 1.0
    assert by_length(3, "") == 1.0


def test_brevity_by_blanks() -> None:
    """Brevity is one more than the expected blanks divided by one more than the actual blanks."""
    assert by_blanks("a b", "a b c d") == 2 / 4
    assert by_blanks("a b c", "a b c d e") == 3 / 5
    assert by_blanks("a b c", "a\nb\tc") == 1.0


def test_brevity_of_a_block_with_prose() -> None:
    """A block's brevity is its share of the answer; white space around it costs nothing."""
    block = "```\nx\n```"
    assert by_block(block, f"\n{block}\n") == 1.0
    assert by_block(block, f"So: {block}") == len(block) / (len(block) + 4)


def test_aggregates_of_three_rounds() -> None:
    """last, max, mean and meanExt are as defined; a round without a score counts 0."""
    rounds = [{"a": 0.0}, {"a": 1.0, "b": 0.5}, {"a": 0.5}]
    names = [f"{how}_{score}" for how in ("last", "mean", "max", "meanExt") for score in "abc"]
    assert aggregate(rounds, names, 3) == {
        "last_a": 0.5,
        "mean_a": 0.5,
        "mean_b": 0.5 / 3,
        "max_a": 1.0,
        "max_b": 0.5,
        "meanExt_a": 0.5,
        "meanExt_b": 0.5 / 3,
    }


def test_aggregates_of_a_short_dialogue() -> None:
    """MeanExt repeats the last value up to the greatest number of rounds."""
    found = aggregate([{"a": 0.0}, {"a": 1.0}], ["mean_a", "meanExt_a"], 3)
    assert found == {"mean_a": 0.5, "meanExt_a": 2 / 3}


@given(st.lists(UNIT, min_size=1, max_size=3))
def test_aggregates_lie_between_the_rounds(values: list[float]) -> None:
    """Means lie between the smallest and the greatest value; max is the greatest."""
    names = ["last_x", "mean_x", "max_x", "meanExt_x"]
    found = aggregate([{"x": value} for value in values], names, 3)
    assert found["last_x"] == values[-1]
    assert found["max_x"] == max(values)
    for name in ("mean_x", "meanExt_x"):
        assert min(values) - 1e-15 <= found[name] <= max(values) + 1e-15
        assert math.isfinite(found[name])


def test_score_names_may_have_underscores() -> None:
    """The aggregation ends at the first underscore; the rest is the score's name."""
    assert aggregate([{"onto_conf": 0.5}], ["max_onto_conf"], 1) == {"max_onto_conf": 0.5}


def test_aggregate_names_are_checked() -> None:
    """A name with an unknown aggregation is refused as a defect."""
    for name in ("f1", "mean", "median_f1"):
        with pytest.raises(ValueError, match=f"^'{name}' is not an aggregation and a score"):
            aggregate([{"f1": 1.0}], [name], 3)
    assert aggregate([], ["mean_f1", "last_f1"], 3) == {}


def test_terms_of_a_line() -> None:
    """Only the object may contain spaces, and the final period is not part of it."""
    assert terms('<http://e/s> <http://e/p> "one . two three ." .') == (
        "<http://e/s>",
        "<http://e/p>",
        '"one . two three ."',
    )
    assert terms("<http://e/no\u00a0break> <http://e/p> _:o .")[0] == "<http://e/no\u00a0break>"
    assert terms("_:s <http://e/p> _:o .")._asdict() == {
        "subject": "_:s",
        "predicate": "<http://e/p>",
        "object": "_:o",
    }
