# SPDX-License-Identifier: Apache-2.0
"""Repairs of graphs about generated worlds: judged by validation and by what they change."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.api import Outcome
from kgbench.families.ShaclRepairWorld import judge
from kgbench.worlds import shape_cases
from tests.execution.judging import harm
from tests.execution.judging.hostile import Hostile
from tests.support import families
from tests.support.families import cases, fenced

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, shape_cases.LEVELS + 1)


def judged(case, *documents):
    """Return the verdict on the last answer."""
    return families.judged(case, *map(fenced, documents))


def test_needless_changes_are_counted():
    """A repair with needless changes still conforms, but has a lower score."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    triples = [quad.triple for quad in ox.parse(case.data["repaired"], ox.RdfFormat.TURTLE)]
    least = sum(fault["least"] for fault in case.data["faults"])
    strange = "<urn:s> <urn:p> _:b"

    def scores(*rows):
        return judged(case, "\n".join(f"{row} ." for row in rows)).scores

    assert scores(*triples)["exact"] == 1.0
    more = scores(*triples, strange)
    assert (more["conforms"], more["needless"]) == (1.0, 1.0)
    assert more["repair"] == least / (least + 1)
    # A node without a class is no target, so that it conforms; but everything else is lost.
    few = scores(strange)
    assert few["conforms"] == 1.0
    assert few["repair"] < 0.05


@pytest.mark.parametrize("level", LEVELS)
def test_classes_are_no_place_of_a_repair(level):
    """A change of a class counts as needless, and the prompt says that classes are right."""
    found = cases(f"{NAME}-natural-{level}", 4)
    sites = [site for case in found for fault in case.data["faults"] for site in fault["sites"]]
    said = "add and remove no triple with rdf:type or rdfs:subClassOf"

    assert not [site for site in sites if site[1].endswith(("#type", "#subClassOf"))]
    assert all(said in family.prompt(case) for case in found)


def test_what_is_still_wrong_is_told():
    """If the shown graph is returned, feedback names its violations, twice."""
    (case,) = cases(f"{NAME}-natural-3", 1)
    verdicts = [judged(case, *[case.data["graph"]] * count) for count in (1, 2, 3)]

    assert [verdict.feedback for verdict in verdicts] == ["content", "content", None]
    for focus, component in case.data["violations"]:
        assert focus in verdicts[0].next_prompt
        assert f"sh:{component}ConstraintComponent" in verdicts[0].next_prompt
    scores = verdicts[0].scores
    assert (scores["conforms"], scores["mended"], scores["repair"]) == (0.0, 0.0, 0.0)
    empty = judged(case, "")
    assert (empty.outcome, empty.feedback) == (Outcome.UNPARSABLE, "format")


HEAD = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix w: <https://w3id.org/kgbench/world/> . "
    "@prefix r: <https://w3id.org/kgbench/world/resource/> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
CIRCLE = "w:Person rdfs:subClassOf w:Company . w:Company rdfs:subClassOf w:Person . "
ODD = (
    f"<urn:o> <http://www.w3.org/2002/07/owl#imports> <{harm.URL}> .",
    CIRCLE + 'r:a a w:Person ; rdfs:label "a" .',
    "r:a a w:Person ; w:advises r:a .",
    " ".join(f"w:c{k} rdfs:subClassOf w:c{k + 1} ." for k in range(5_000)) + " r:a a w:c0 .",
    '<< r:a w:born "x" >> w:p 1 .',
    "r:a w:p <<( r:a w:p 1 )>> ; w:price '4'^^<http://www.w3.org/2001/XMLSchema#int> .",
    'r:a w:slogan "x"@en--ltr .',
    f"[] a sh:NodeShape ; sh:sparql [ sh:select 'SELECT $this {{ SERVICE <{harm.URL}> {{}} }}' ] .",
    "r:a w:price " + "9" * 100_000 + " .",
    'r:a rdfs:label "' + "A" * 2_000_000 + '" .',
)
LARGE = "\n".join(
    f"r:a{k} a w:Person ; w:advises r:a{k + 1} ; w:price {k} ." for k in range(60_000)
)


def test_hostile_answers_do_no_harm():
    """Graphs that are odd or large are judged, or end at a limit."""
    odd = Hostile(tuple(fenced(HEAD + one) for one in ODD), (Outcome.SCORED, Outcome.UNPARSABLE))
    large = Hostile((fenced(HEAD + LARGE),), harm.JUDGED_OR_ENDED)
    harm.assert_outcomes(f"{NAME}-natural-3", [odd, large])
