# SPDX-License-Identifier: Apache-2.0
"""Causes of changed verdicts: computed and described in words."""

from __future__ import annotations

from typing import Any

import pytest

from kgbench.execution import oxigraph
from kgbench.execution.engines import engine
from kgbench.model import Outcome, Verdict
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation import causes
from kgbench.reevaluation.causes import cause

PREFIXES = {"e": "http://example.org/"}
SCORES = {"answerParse": 1.0, "combined": 1.0}
BEFORE = {0: ScoredEvaluation("e", SCORES)}
THEIRS = Verdict(SCORES, {"answerResultLength": 2}, Outcome.SCORED)
LATE = Verdict({}, {}, Outcome.TIMEOUT)

UNGROUPED = "although the query groups or aggregates"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?a (COUNT(?b) AS ?c) { ?b e:x ?d . ?d a ?a }\nGROUP BY ?d LIMIT 1", UNGROUPED),
        ("SELECT ?a { ?a e:x ?b FILTER(?b = MAX(?b)) }", UNGROUPED),
        ("SELECT ?a { ?b u:y ?a } ORDER BY COUNT(?b)", UNGROUPED),
        ("SELECT ?a { { ?b e:x ?a . BIND(1 AS ?a) } ?b e:y ?c OPTIONAL { ?c e:z ?d } }", "scope"),
        ("SELECT ?a (1 AS ?a) { ?b e:x ?a }", "a variable that has one already"),
        ("SELECT DISTINCT * { ?b e:x ?a } GROUP BY ?a", "SELECT * does not go with GROUP BY"),
        ("SELECT ?a COUNT(?b) { ?a e:x ?b }", None),
        ("SELECT ?a { ?a e:x 'b'@en^^e:y . ?a e:z ?b BIND(1 AS ?a) }", None),
        ("SELECT ?a ?b AS ?c { ?a e:x ?b }", None),
        ("SELECT ?a (COUNT(?b) AS ?c) { ?a e:x ?b ", None),
        ("SELECT ?a { ?a e:x ?b } LIMIT 1 GROUP BY ?b", None),
    ],
)
def test_errors_of_scope_are_named(query: str, said: str | None) -> None:
    """An error of scope, which rdflib's grammar check accepts, is told from one of grammar."""
    message = engine("oxigraph").check(query, PREFIXES)
    if said is None:
        assert "syntax error" in str(message)
        return
    assert message is not None
    assert message.startswith("line ")
    assert oxigraph.SCOPE_ERROR in message
    assert said in message
    assert engine("rdflib").check(query, PREFIXES) is None


def refused(message: str) -> Verdict:
    """Return the verdict on an answer whose query an engine refuses."""
    return Verdict(
        {"answerParse": 0.0, "combined": 0.0}, {"parseError": message}, Outcome.UNPARSABLE
    )


def found(rows: int, **infos: Any) -> Verdict:
    """Return the verdict on an answer whose query has ``rows``, none of them right."""
    scores = {"answerParse": 1.0, "combined": 0.2}
    return Verdict(scores, {"answerResultLength": rows, **infos}, Outcome.SCORED)


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        (refused(f"line 1, column 2: {oxigraph.SCOPE_ERROR}, a variable"), THEIRS, causes.SCOPE),
        (refused("line 1, column 2: syntax error"), THEIRS, causes.STRICTER),
        (found(0, EvaluationException="no prefix"), THEIRS, causes.STRICTER),
        (found(1), THEIRS, causes.SEMANTICS),
        (found(1), LATE, f"{causes.LIMIT}: rdflib"),
        (LATE, THEIRS, f"{causes.LIMIT}: Oxigraph"),
        (LATE, LATE, f"{causes.LIMIT}: rdflib"),
        (found(1), found(1), "unexplained"),
        (THEIRS, THEIRS, "unexplained"),
        (found(1, removedLines=2), found(1, removedLines=2), f"{causes.REPAIR}: the answer of"),
    ],
)
def test_kinds_of_causes(ours: Verdict, theirs: Verdict, kind: str) -> None:
    """The kind of a cause follows from the first round whose verdict differs."""
    assert str(cause(BEFORE, [ours], [theirs])).startswith(kind)


def test_causes_of_other_passes() -> None:
    """A more tolerant engine, engines in turn, no earlier scores and own runs have their causes."""
    theirs = refused("found '}'")
    said = cause({0: ScoredEvaluation("e", dict(theirs.scores))}, [found(1)], [theirs])
    assert said == f"{causes.LAXER}: rdflib refuses the answer of round 0: found '}}'"
    said = cause(BEFORE, [found(1)], [THEIRS], engines=("rdflib", "Oxigraph"))
    assert said == f"{causes.SEMANTICS}: rdflib finds 1 rows in round 0, Oxigraph 2"
    for before in ({0: ScoredEvaluation("e", {})}, {}):
        assert cause(before, [THEIRS], [THEIRS]).startswith(causes.NOT_BEFORE)
    removed = found(1, removedLines=2)  # unknown for published runs only
    assert cause(BEFORE, [removed], [removed], published=False) == "unexplained"


def test_new_metrics_and_decimals_are_no_difference() -> None:
    """New metrics, and values that agree when rounded, do not count as differences."""
    now = Verdict({"combined": 1 / 3, "strict": 1.0}, {}, Outcome.SCORED)
    later = Verdict({"combined": 0.0}, {"removedLines": 1}, Outcome.SCORED)
    before = {
        0: ScoredEvaluation("e", {"combined": 0.33}, 2),
        1: ScoredEvaluation("f", {"combined": 1.0}, 2),
    }
    said = cause(before, [now, later], [now, later], new={"strict"})
    assert said.startswith(f"{causes.REPAIR}: the answer of round 1")
