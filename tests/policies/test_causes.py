# SPDX-License-Identifier: Apache-2.0
"""Causes of differences between a published score and kgbench's under the same policy."""

from __future__ import annotations

import pytest

from kgbench.model import Case, Outcome, Verdict
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation.causes import likely_cause, proven_cause

PLAIN = "SELECT ?x { ?x <urn:p> 1 }"
FOUND = {0: ScoredEvaluation("e", {"f1": 1.0})}
NOTHING = {0: ScoredEvaluation("e", {"f1": 0.0})}
RUNS = {"result": {"head": {"vars": []}, "results": {"bindings": []}}}


def case(reference: str = PLAIN) -> Case:
    """Return a case with this reference query."""
    return Case("urn:c", "grasp", "GraspQuestions", {}, {"refSparql": reference}, "c")


def verdict(query: str = PLAIN, outcome: Outcome = Outcome.SCORED, **infos: object) -> Verdict:
    """Return a verdict as a policy records it."""
    return Verdict({"f1": 0.5}, {"policy": "grasp", "sparql": query, **RUNS, **infos}, outcome)


def noted(**sides: object) -> dict[str, object]:
    """Return the details that GRASP publishes with a score."""
    return {"published": sides}


@pytest.mark.parametrize(
    ("said", "before", "more", "begins"),
    [
        (verdict(), NOTHING, noted(prediction={"err": "Prefix rdfs\nmore"}), "other engine: it"),
        (verdict(), NOTHING, noted(target={"err": "x" * 999}), "other engine: it does not execute"),
        (verdict(result={"error": "syntax error"}), FOUND, {}, "refused here: the engine"),
        (verdict(outcome=Outcome.TIMEOUT), FOUND, {}, "limit: "),
        (verdict(f"{PLAIN} LIMIT 3"), FOUND, {}, "limit without order: "),
        (verdict(tieAtLimit=["reference"]), FOUND, {}, "tie at a limit: "),
    ],
)
def test_causes_that_are_shown(said, before, more, begins):
    """An error of either engine and a limit that leaves a choice are causes, in one line."""
    found = proven_cause(case(), [said], before, more)

    assert found is not None
    assert found.startswith(begins)
    assert len(found.splitlines()) == 1
    assert len(found) < 300


@pytest.mark.parametrize("more", [{}, {"published": "odd"}, noted(prediction=None, target=3)])
def test_nothing_is_shown_where_nothing_is_known(more):
    """A plain query that both engines execute has no cause, whatever was published with it."""
    assert proven_cause(case(), [verdict()], FOUND, more) is None
    assert likely_cause(case(), [verdict()], FOUND, more) is None


@pytest.mark.parametrize(
    ("reference", "query", "before", "begins"),
    [
        (PLAIN, "SELECT ?x { ?x <urn:p>* 1 }", FOUND, "property path: "),
        ("SELECT ?x { ?x <urn:p>+ 1 }", PLAIN, FOUND, "property path: "),
        (PLAIN, "SELECT ?x { ?x rdfs:label 1 }", NOTHING, "undeclared prefix: the answer uses"),
    ],
)
def test_causes_that_texts_suggest(reference, query, before, begins):
    """Features that engines treat differently are found in both queries."""
    assert str(likely_cause(case(reference), [verdict(query)], before, {})).startswith(begins)


def test_numbers_of_rows_that_differ_are_told():
    """Different numbers of rows, published and here, are a cause."""
    more = noted(prediction={"err": None, "size": 969}, target={"err": None, "size": 3})
    said = verdict(resultLength=0, referenceLength=3)
    wanted = "semantics: engines find other rows (the answer has 969 rows there and 0 here)"
    assert likely_cause(case(), [said], FOUND, more) == wanted
