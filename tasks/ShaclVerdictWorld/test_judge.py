# SPDX-License-Identifier: Apache-2.0
"""Validation reports about generated worlds: compared as sets of violations."""

from __future__ import annotations

import pytest

from kgbench.api import Outcome, PlainExecutor
from kgbench.families.ShaclVerdictWorld import judge
from tests.execution.judging import harm
from tests.support.families import cases, generated

NAME, family = judge.family.NAME, judge.family
LABELS = generated()[NAME]
HEAD = "@prefix sh: <http://www.w3.org/ns/shacl#> ."
COMPONENT = "sh:sourceConstraintComponent sh:MinCountConstraintComponent"


def fenced(*lines):
    """Return lines of a report as an answer."""
    return "\n".join(["```turtle", HEAD, *lines, "```"])


@pytest.mark.parametrize("label", LABELS)
def test_prompts_do_not_reveal_violations(label):
    """A prompt shows no focus node in a report."""
    for case in cases(label, 3):
        assert "focusNode <" not in family.prompt(case)


def test_reports_are_compared_as_sets():
    """A partial report has recall, invented results lower precision, invalid ones are ignored."""
    (case,) = cases(f"{NAME}-natural-5", 1)
    results = family.reference(case).split("\n")[2:-1]
    double = "[] sh:focusNode <urn:x> , <urn:y> ; sh:sourceConstraintComponent <urn:c> ."

    def judged(*lines):
        return family.judge(case, [fenced(*lines)], PlainExecutor())

    half = judged(*results[: len(results) // 2]).scores
    assert (half["recall"], half["precision"]) == (len(results) // 2 / len(results), 1.0)
    assert judged(*results, *results).scores["exact"] == 1.0
    more = judged(*results, f"[] sh:focusNode <urn:x> ; {COMPONENT} .").scores
    assert (more["recall"], more["exact"]) == (1.0, 0.0)
    assert more["precision"] == len(results) / (len(results) + 1)
    assert judged(*results, double).scores["exact"] == 1.0
    nothing = judged(double)
    assert (nothing.outcome, nothing.feedback) == (Outcome.UNPARSABLE, "format")


FOCI = " , ".join(f"<urn:a{k}>" for k in range(20_000))
COMPONENTS = " , ".join(f"sh:c{k}" for k in range(20_000))
USABLE = ["\n".join(f"[] sh:focusNode <urn:a{k}> ; {COMPONENT} ." for k in range(60_000))]
REFUSED = [
    f"[] sh:focusNode {FOCI} ; sh:sourceConstraintComponent {COMPONENTS} .",
    '[] sh:focusNode "x" ; sh:sourceConstraintComponent "y" .',
    f"[] sh:focusNode <<( sh:a sh:b sh:c )>> , sh:b ; {COMPONENT} .",
    f"<urn:o> <http://www.w3.org/2002/07/owl#imports> <{harm.URL}> .",
]


def test_hostile_answers_do_no_harm():
    """Reports that are large or of no use have the outcomes of their kinds."""
    labels = [f"{NAME}-natural-{level}" for level in (1, 3)]
    harm.assert_harmless(labels, [fenced(one) for one in USABLE], [fenced(one) for one in REFUSED])
