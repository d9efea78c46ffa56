# SPDX-License-Identifier: Apache-2.0
"""The faulty Turtle document of 2023."""

from __future__ import annotations

import pytest

from kgbench.api import EvaluationError, Outcome, PlainExecutor, Verdict, make_case
from kgbench.families.TurtleErrorsStatic.judge import family
from tests.support.families import only_case

EXECUTOR = PlainExecutor()


def errors(answer: str) -> Verdict:
    """Return the verdict on an answer about the faulty document."""
    return family.judge(only_case("TurtleErrorsStatic"), [answer], EXECUTOR)


def test_the_faulty_document_does_not_parse() -> None:
    """The only case has two faults, and its correct document parses."""
    case = only_case("TurtleErrorsStatic")
    assert EXECUTOR.parse(case.data["task"], "turtle").triples is None
    assert EXECUTOR.parse(case.data["optimal"], "turtle").triples is not None
    assert len(case.data["optimal"]) - len(case.data["task"]) == 4


def test_the_unchanged_document_improves_nothing() -> None:
    """DiffRatio is relative to the faulty document, and negative for less similar texts."""
    case = only_case("TurtleErrorsStatic")
    unchanged = errors(case.data["task"]).scores
    assert unchanged["diffRatio"] < 0
    assert unchanged["onlyTurtle"] < 1
    assert errors(case.data["optimal"]).scores["diffRatio"] == 1.0


def test_prose_around_turtle_costs_only_turtle() -> None:
    """Prose around the document lowers onlyTurtle only."""
    optimal = only_case("TurtleErrorsStatic").data["optimal"]
    scores = errors(f"Of course!\n{optimal}").scores
    assert scores["normAnswerF1Score"] == 1.0
    assert scores["onlyTurtle"] == 1 / 11


def test_nothing_parsable() -> None:
    """Without a triple, precision and recall are 0 and the outcome is unparsable."""
    verdict = errors("I see no errors.")
    assert verdict.outcome is Outcome.UNPARSABLE
    assert verdict.scores["normAnswerPrecision"] == verdict.scores["normAnswerRecall"] == 0.0
    assert verdict.scores["parsableTripleRatio"] == 0.0


def test_more_triples_than_asked_for() -> None:
    """ParsableTripleRatio is not clamped."""
    optimal = only_case("TurtleErrorsStatic").data["optimal"]
    scores = errors(f"{optimal}\n:x :y :z .").scores
    assert scores["parsableTripleRatio"] > 1
    assert scores["normAnswerPrecision"] < 1


def test_published_cases_without_their_document() -> None:
    """A case whose correct document was not published cannot be judged, and the error says so."""
    case = make_case("llm-kg-bench-1", family.NAME, {}, {"task": "x"})
    with pytest.raises(EvaluationError, match="it was not published"):
        family.judge(case, ["x"], EXECUTOR)
