# SPDX-License-Identifier: Apache-2.0
"""Questions about generated worlds: what prompts do not show, and what is read as a query.

What they share with other families of SPARQL is tested in ``tests/families/test_sparql.py``.
"""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.api import PlainExecutor
from kgbench.families.Text2SparqlWorld.judge import family
from kgbench.tasks import graphs
from kgbench.worlds import questions
from tests.support.families import cases


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", range(1, questions.LEVELS + 1))
def test_prompts_do_not_reveal_answers(names, level):
    """A prompt has no value of the expected result, except numbers."""
    executor = PlainExecutor()
    for case in cases(f"{family.NAME}-{names}-{level}", 15):
        rows = executor.results(
            case.data["refSparql"], graphs.text(case.data["graphName"]), questions.PREFIXES
        ).rows
        said = family.prompt(case)
        values = {ox_value(term) for row in rows for term in row if term is not None}
        assert not [v for v in values if not v.isdecimal() and v in said]


def ox_value(term):
    """Return the lexical value of a term as in results."""
    return next(iter(ox.parse(f"<urn:s> <urn:p> {term} .", ox.RdfFormat.N_TRIPLES))).object.value


def test_keywords_may_be_in_lower_case():
    """A query in lower case is judged, and prose with the word "select" is not taken for one."""
    executor = PlainExecutor()
    (case,) = cases(f"{family.NAME}-natural-1", 1)
    query = f"```sparql\n{case.data['refSparql']}\n```"
    prose = "```text\nI select what is asked for.\n```\n"
    for answer in (query, query.replace("SELECT", "select"), prose + query):
        assert family.judge(case, [answer], executor).scores["exact"] == 1, answer
