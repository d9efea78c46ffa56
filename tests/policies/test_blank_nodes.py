# SPDX-License-Identifier: Apache-2.0
"""Sets of rows are compared up to the names of blank nodes only."""

from __future__ import annotations

import random

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from kgbench.model import QueryResult
from kgbench.policies.blank_nodes import (
    compare_changes,
    compare_rows,
    node_numbers,
    pair_blank_nodes,
)

TERMS = st.sampled_from(["<urn:a>", "<urn:b>", '"1"', "_:a", "_:b", "_:c", "_:d"])
SUBJECTS = st.sampled_from(["<urn:a>", "<urn:b>", "_:a", "_:b", "_:c", "_:d"])
ROWS = st.frozensets(
    st.tuples(SUBJECTS, st.sampled_from(["<urn:p>", "<urn:q>"]), TERMS), min_size=1, max_size=8
)


def renamed(rows, seed):
    """Return the rows with other names of blank nodes."""
    names = ["_:a", "_:b", "_:c", "_:d"]
    others = [f"_:x{n}" for n in range(4)]
    random.Random(seed).shuffle(others)
    known = dict(zip(names, others, strict=True))
    return {tuple(known.get(cell, cell) for cell in row) for row in rows}


def renamed_all(rows):
    """Return the rows with other names of any blank nodes."""
    return {tuple(f"_:z{cell[2:]}" if cell[0] == "_" else cell for cell in row) for row in rows}


def graph(rows):
    """Return rows as an rdflib graph."""
    return rdflib.Graph().parse(data="".join(f"{' '.join(row)} .\n" for row in rows), format="nt")


@given(ROWS, st.integers(0, 100))
def test_names_of_blank_nodes_do_not_matter(rows, seed):
    """A set equals itself with renamed blank nodes; no row is missing or surplus."""
    found = compare_rows(rows, renamed(rows, seed))

    assert found.agreement == (1, 1, 1)
    assert not found.missing
    assert not found.surplus


@given(ROWS, ROWS)
@settings(max_examples=300)
def test_only_isomorphic_sets_are_equal(one, other):
    """Exactly the sets that rdflib calls isomorphic have an F1 of 1."""
    assert (compare_rows(one, other).agreement.f1 == 1) == isomorphic(graph(one), graph(other))


@given(ROWS, ROWS)
def test_partners_are_different_nodes_of_both_sides(one, other):
    """Each blank node has at most one partner, and the scores count rows."""
    other = renamed(other, 1)
    names = pair_blank_nodes(one, other)
    found = compare_rows(one, other)
    hits = len(one) - len(found.missing)

    assert len(set(names.values())) == len(names)
    assert set(names) <= {cell for row in other for cell in row if cell.startswith("_:")}
    assert set(names.values()) <= {cell for row in one for cell in row if cell.startswith("_:")}
    assert hits == len(other) - len(found.surplus)
    assert found.agreement.precision == pytest.approx(hits / len(other))
    assert found.agreement.recall == pytest.approx(hits / len(one))


@given(ROWS, ROWS, st.integers(0, 100), st.integers(0, 100))
@settings(max_examples=300)
def test_agreement_does_not_depend_on_labels(one, other, seed, other_seed):
    """Two sets agree to the same degree however their blank nodes are labelled."""
    found = compare_rows(renamed(one, seed), renamed(other, other_seed))

    assert found.agreement == compare_rows(one, other).agreement


def test_pairs_that_seem_equally_good_do_not_depend_on_labels():
    """Statements with further values, between which several pairings are possible, get one F1."""
    expected, answer = set(), set()
    for n in range(12):
        expected |= {(f"_:e{n}", "<urn:about>", f"<urn:{n}>")}
        expected |= {(f"_:e{n}", "<urn:value>", f'"{n % 3}"')}
        answer |= {(f"_:a{n}", "<urn:about>", f"<urn:{n * k % 12}>") for k in (3, 5)}
        answer |= {(f"_:a{n}", "<urn:value>", f'"{n % 4}"'), (f"_:a{n}", "<urn:in>", f"_:a{n % 5}")}
    scores = set()
    for seed in range(20):
        labels = [f"_:l{n}" for n in range(12)]
        random.Random(seed).shuffle(labels)
        relabelled = {
            tuple(labels[int(cell[3:])] if cell.startswith("_:") else cell for cell in row)
            for row in answer
        }
        scores.add(compare_rows(expected, relabelled).agreement)

    assert len(scores) == 1


@pytest.mark.parametrize("count", [1, 50, 3_000])
def test_numbers_follow_from_the_rows(count):
    """Chains, stars and trees of blank nodes get the same numbered rows for any labels."""
    pairs = [(n, n + 1) for n in range(count)]
    pairs += [(-1, -n) for n in range(2, count)]
    pairs += [(-count - n, -count - n // 2) for n in range(1, count)]
    numbered_rows = set()
    for seed in range(3):
        nodes = sorted({node for pair in pairs for node in pair})
        labels = list(nodes)
        random.Random(seed).shuffle(labels)
        label = {node: f"_:{text}" for node, text in zip(nodes, labels, strict=True)}
        rows: dict[str, list[tuple[str | None, ...]]] = {text: [] for text in label.values()}
        for one, other in pairs:
            row = (label[one], "<urn:p>", label[other], None)
            for node in {label[one], label[other]}:
                rows[node].append(row)
        numbers = node_numbers(rows)
        numbered_rows.add(frozenset((numbers[label[a]], numbers[label[b]]) for a, b in pairs))
        assert sorted(numbers.values()) == list(range(len(nodes)))

    assert len(numbered_rows) == 1


def test_nodes_with_a_part_of_their_rows_are_paired_by_what_is_left():
    """A row that is missing at each blank node costs only that row."""
    expected = {
        (f"_:n{n}", predicate, f'"{predicate}{n}"')
        for n in range(20)
        for predicate in ("<urn:p>", "<urn:q>", "<urn:r>")
    }
    given_rows = {row for row in renamed_all(expected) if row[1] != "<urn:r>"}
    found = compare_rows(expected, given_rows)

    assert found.agreement.precision == 1
    assert found.agreement.recall == pytest.approx(2 / 3)


@pytest.mark.parametrize("shape", ["circle", "clique", "chain", "alike"])
def test_regular_graphs_are_compared_in_bounded_time(shape):
    """Circles, cliques, chains and indistinguishable nodes are found equal in bounded time."""
    count = 40
    pairs = {
        "circle": [(n, (n + 1) % count) for n in range(count)],
        "clique": [(n, m) for n in range(count) for m in range(count) if n != m],
        "chain": [(n, n + 1) for n in range(count)],
        "alike": [],
    }[shape]
    rows = {(f"_:n{n}", "<urn:p>", f"_:n{m}") for n, m in pairs}
    rows |= {(f"_:n{n}", "<urn:q>", '"same"') for n in range(count)}

    assert compare_rows(rows, renamed_all(rows)).agreement.f1 == 1
    longer = {(f"_:n{n}", "<urn:p>", f"_:n{n + 1}") for n in range(30_000)}
    assert compare_rows(rows, longer).agreement.f1 < 1


def test_what_cannot_be_executed_is_wrong():
    """An error has a reason and no agreement, even if nothing is expected."""
    expected = QueryResult(("s", "p", "o"), (("<urn:a>", "<urn:b>", "_:c"),))

    assert compare_changes(expected, expected).scores == {"f1": 1.0, "exact": 1.0}
    wrong = compare_changes(QueryResult(), QueryResult(error="no"))
    assert (wrong.scores["exact"], wrong.reason) == (0.0, "it cannot be executed: no")
