# SPDX-License-Identifier: Apache-2.0
"""Questions about generated worlds: they have one right answer, which prompts do not show."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.families.Text2SparqlWorld.judge import family
from kgbench.tasks import graphs
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import questions
from kgbench.worlds.clauses import KINDS
from tests.support.families import cases

LEVELS = range(1, questions.LEVELS + 1)
LABELS = [f"{family.NAME}-{names}-{level}" for names in ("natural", "opaque") for level in LEVELS]


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_answers(label):
    """A prompt has no value of the expected result, except numbers."""
    executor = PlainExecutor()
    for case in cases(label, 15):
        rows = executor.results(
            case.data["refSparql"], graphs.text(case.data["graphName"]), questions.PREFIXES
        ).rows
        said = family.prompt(case)
        values = {ox_value(term) for row in rows for term in row if term is not None}
        assert not [v for v in values if not v.isdecimal() and v in said]


def ox_value(term):
    """Return the lexical value of a term as in results."""
    return next(iter(ox.parse(f"<urn:s> <urn:p> {term} .", ox.RdfFormat.N_TRIPLES))).object.value


@pytest.mark.parametrize("level", LEVELS)
def test_a_query_that_leaves_out_a_condition_is_wrong(level):
    """Each condition matters: a query without one of them is wrong."""
    executor = PlainExecutor()
    tried = 0
    for case in cases(f"{family.NAME}-natural-{level}", 10):
        lines = case.data["refSparql"].splitlines()
        if "MAX" in case.data["refSparql"]:  # such a query has every condition twice
            continue
        for number, line in enumerate(lines):
            # Lines that hold one condition each; the class and the selected variables stay.
            if "FILTER" not in line or "SELECT" in line:
                continue
            left = "\n".join(one for k, one in enumerate(lines) if k != number)
            open_, close = line.count("{"), line.count("}")
            if open_ != close:
                continue
            verdict = family.judge(case, [f"```sparql\n{left}\n```"], executor)
            assert verdict.scores["exact"] < 1, (case.data["question"], left)
            tried += 1

    assert tried


def test_all_features_occur():
    """Every clause and form of the generator occurs at some level."""
    met = {
        feature
        for level in LEVELS
        for case in cases(f"{family.NAME}-natural-{level}", 60)
        for feature in case.data["features"]
    }

    assert met >= {*KINDS, "names", "count", "optional", "grouped", "above", "sorted", "total"}
    assert "hierarchy" in met


def test_feedback_says_what_an_engine_can_say():
    """A query that does not parse or finds nothing is asked for again, at most twice."""
    executor = PlainExecutor()
    (case,) = cases(f"{family.NAME}-natural-1", 1)
    nothing = "```sparql\nSELECT ?x WHERE { ?x a <urn:nothing> }\n```"
    wrong = "```sparql\nSELECT ?x WHERE { ?x a w:Person }\n```"
    broken = "```sparql\nSELECT ?x WHERE { ?x a \n```"
    verdicts = [family.judge(case, [answer], executor) for answer in (nothing, wrong, broken)]

    assert [verdict.feedback for verdict in verdicts] == ["empty-result", None, "syntax"]
    assert family.judge(case, [broken] * 3, executor).next_prompt is None


def test_keywords_may_be_in_lower_case():
    """A query in lower case is judged, and prose with the word "select" is not taken for one."""
    executor = PlainExecutor()
    (case,) = cases(f"{family.NAME}-natural-1", 1)
    query = f"```sparql\n{case.data['refSparql']}\n```"
    prose = "```text\nI select what is asked for.\n```\n"
    for answer in (query, query.replace("SELECT", "select"), prose + query):
        assert family.judge(case, [answer], executor).scores["exact"] == 1, answer
