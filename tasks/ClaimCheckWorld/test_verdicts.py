# SPDX-License-Identifier: Apache-2.0
"""What capable models may write instead of the three words of ClaimCheckWorld."""

from __future__ import annotations

import pytest

from kgbench.families.ClaimCheckWorld.verdicts import read_verdict

ENTAILED = """\
entailed
The graph entails the claim.
**Entailment**
The claim follows from the graph.
It is implied by the axioms.
The claim is true.
The claim must be true.
The claim holds.
The claim can be derived from the graph.
This can be inferred.
It is a logical consequence of the graph.
The graph supports the claim.
The graph proves it.
The graph confirms the claim.
The claim is necessarily true.
It is provable.
The graph guarantees that the claim is true.
The graph makes the claim true.
The negation of the claim is contradicted.
Its negation contradicts the graph.
Its negation is ruled out
The claim cannot be false
Yes: the claim follows logically.
It logically follows.
The claim is not only consistent with the graph but entailed by it.
entailed, as the opposite would be a contradiction
The claim's negation would contradict the graph, so it is entailed.
Not just possible: it follows.
The graph implies it, because companies are organisations.
No doubt the claim is entailed.
"""
CONTRADICTED = """\
contradicted
The graph contradicts the claim.
The graph rules the claim out.
The graph rules out the claim.
The claim is ruled out by the graph.
The claim cannot be true.
The claim can't be true.
The claim is false.
The claim must be false.
It contradicts the claim
Verdict: contradiction
The claim conflicts with the graph.
The claim is inconsistent with the graph.
The claim is not consistent with the graph.
The graph refutes the claim.
The claim is refuted.
The graph entails that the claim is false.
The graph entails the negation of the claim.
Its negation is entailed.
Its negation follows from the graph.
The opposite is entailed.
The claim is impossible.
The claim would contradict the disjointness of the classes.
The claim does not follow and contradicts the graph.
The claim is not entailed but contradicted.
The claim violates the disjointness axiom.
The graph excludes it.
It is incompatible with the graph.
The claim does not follow, because it is in conflict with the axioms.
The claim cannot hold.
The graph disproves it.
The claim is not entailed; its negation follows.
The claim is not entailed, but its negation follows.
The claim is not compatible with the graph.
The graph supports the negation of the claim.
"""
UNKNOWN = """\
unknown
The claim is left open.
The graph leaves it open.
The graph leaves this claim open.
It cannot be determined.
It can't be determined whether the claim is true.
The claim can neither be proved nor disproved.
The graph neither entails nor contradicts the claim.
Neither entailed nor contradicted
Neither the claim nor its negation follows.
Neither the claim nor its negation follows from the graph.
Neither the claim nor its negation is entailed.
Neither the claim nor its negation can be derived.
The claim does not follow, nor does its negation.
The claim is not entailed, nor is its negation.
The claim does not follow, and neither does its negation.
The graph does not entail the claim or its negation.
The graph entails neither the claim nor its negation.
The claim is neither true nor false according to the graph.
The claim is not entailed or contradicted by the graph.
There is not enough information.
There is insufficient information to decide.
The claim may or may not be true.
The claim could be true or false.
It is undetermined.
Undecided.
The claim is consistent with the graph but not entailed by it.
It may be true, but it does not follow from the graph.
Both the claim and its negation are consistent with the graph.
It does not follow from the graph, and does not conflict with it.
The claim does not follow, and nothing contradicts it.
The graph does not say whether the claim is true.
The graph does not determine whether the claim holds.
The claim is possible but does not follow.
We cannot tell from the graph.
It cannot be known
The graph is silent on the claim.
The graph says nothing about it.
The claim does not follow and its negation does not either.
Nothing in the graph entails or contradicts the claim.
Whether the claim is true cannot be determined.
It isn't entailed, and it isn't contradicted.
The claim is neither implied nor ruled out.
The graph supports neither the claim nor its negation.
The claim can neither be confirmed nor refuted.
Neither it nor its opposite is implied.
The claim does not hold in all models, nor does its negation
The claim is neither provable nor refutable.
neutral
The claim isn't entailed; neither is its negation.
Open.
The graph does not contain enough information.
The graph gives no information about this.
I can't say whether it holds.
The claim cannot be derived, and neither can its negation.
"""
UNREADABLE = """\
yes
no
true
The graph does not entail the claim.
The claim does not follow.
The graph does not contradict the claim.
It cannot be ruled out.
It entails it, or contradicts it.
The claim may be true.
The claim might be false.
The claim could follow.
entailed or contradicted
Decide whether the graph entails the claim, contradicts it, or leaves it open.
If the graph entailed it, the claim would be true.
It cannot be shown to be true.
It is not true that the graph entails the claim.
The claim is not false.
The reasons are as follows: Vabia is a place.
It follows that Vabia is a place.
I cannot be certain.
Not entailed.
not contradicted
The claim is not necessarily true.
The claim is not necessarily false.
Imon has as supported organisation something.
Both the claim and its negation are entailed.
The claim might be entailed.
Perhaps the claim is entailed.
The claim is not true.
The claim is wrong, or right.
The graph implies the claim and its negation.
"""


@pytest.mark.parametrize(
    ("verdict", "answers"),
    [
        ("entailed", ENTAILED),
        ("contradicted", CONTRADICTED),
        ("unknown", UNKNOWN),
        (None, UNREADABLE),
    ],
)
def test_plain_phrasings_of_verdicts(verdict, answers):
    """Each phrasing has its verdict, and what is ambiguous has none."""
    lines = answers.splitlines()

    assert len(lines) >= 25
    assert {line: read_verdict(line) for line in lines} == dict.fromkeys(lines, verdict)


def test_clauses_may_be_in_lines_and_after_the_claim():
    """A blank line ends a clause; a line that is only wrapped does not."""
    assert read_verdict("Sumo Caro is not mentioned\n\n**The claim follows**") == "entailed"
    assert read_verdict("The claim is not\nentailed") is None
