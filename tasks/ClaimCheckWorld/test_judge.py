# SPDX-License-Identifier: Apache-2.0
"""Claims about generated worlds: their verdicts are those of a reasoner."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations

import owlrl
import pytest
import rdflib
from rdflib.namespace import OWL, RDF, RDFS

from kgbench.api import Chance, Outcome, PlainExecutor, World, build_graph
from kgbench.families.ClaimCheckWorld import cases as claims
from kgbench.families.ClaimCheckWorld.cases import CONTRADICTED, ENTAILED, UNKNOWN, VERDICTS
from kgbench.families.ClaimCheckWorld.judge import family, read_verdict
from kgbench.worlds.generator import RESOURCE
from tests.support.families import cases, generated

NAME = family.NAME
LEVELS = range(1, claims.LEVELS + 1)
LABELS = generated()[NAME]


def reasoned(case):
    """Return the verdict of owlrl: whether a claim is in the closure or makes it inconsistent."""
    claim = case.data["claimTriples"]
    pattern = " ".join(claim).replace("_:some", "?some")
    closure, inconsistent = closed(case.data["graph"], [])
    assert not inconsistent
    if closure.query(f"ASK {{ {pattern} }}").askAnswer:
        return ENTAILED
    return CONTRADICTED if closed(case.data["graph"], claim)[1] else UNKNOWN


def closed(turtle, claim):
    """Return the closure of a graph with a claim, and whether it is inconsistent."""
    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    graph.parse(data="\n".join(claim), format="nt")
    things = {one for triple in graph for one in triple[::2] if str(one).startswith(RESOURCE)}
    for one, other in combinations(sorted(things), 2):
        graph.add((one, OWL.differentFrom, other))
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    told = any("error" in str(predicate).lower() for predicate in graph.predicates())
    return graph, told or (None, RDF.type, OWL.Nothing) in graph


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", LEVELS)
def test_verdicts_are_those_of_a_reasoner(level, names):
    """OWL 2 RL gives the verdict of each claim, if different names denote different things."""
    found = cases(f"{NAME}-{names}-{level}", 12)

    assert [reasoned(case) for case in found] == [case.data["verdict"] for case in found]
    assert len({case.data["verdict"] for case in found}) > 1


@pytest.mark.parametrize("level", LEVELS)
def test_verdicts_are_balanced_and_claims_differ(level):
    """The three verdicts are equally frequent, and no case occurs twice."""
    found = cases(f"{NAME}-natural-{level}", 300)
    counted = Counter(case.data["verdict"] for case in found)

    assert set(counted) == set(VERDICTS)
    assert min(counted.values()) > 300 / 3 * 0.7
    assert len({case.iri for case in found}) == len(found)


@pytest.mark.parametrize("level", LEVELS)
def test_each_form_of_claims_occurs_with_each_verdict(level):
    """A claim of any form can be entailed, contradicted and open, so that words tell nothing."""
    graph = build_graph(World("5", 400))
    for form in {form for group in claims.forms(level) for form in group}:
        for verdict in VERDICTS:
            chance = Chance(level, form, verdict)
            drawn = claims.draw_claim_of(graph, level, form, verdict, chance=chance, described=16)
            assert drawn.verdict == verdict


@pytest.mark.parametrize("level", LEVELS)
def test_labels_do_not_tell_which_links_are_left_out(level):
    """A thing that nothing is said of has a label if it is linked or named in the claim only."""
    for case in cases(f"{NAME}-opaque-{level}", 30):
        graph = rdflib.Graph().parse(data=case.data["graph"], format="turtle")
        claimed = " ".join(case.data["claimTriples"])
        labels = {str(label) for label in graph.objects(None, RDFS.label)}
        names = re.findall(r"[A-Z]\w+(?: [A-Z]\w+)+", case.data["claim"])
        assert names
        assert labels.issuperset(names)
        for thing in set(graph.subjects()):
            alone = set(graph.predicates(thing)) == {RDFS.label} and str(thing).startswith(RESOURCE)
            assert not alone or f"<{thing}>" in claimed or (None, None, thing) in graph


@pytest.mark.parametrize("level", LEVELS)
def test_claims_do_not_tell_their_verdicts(level):
    """The words of a claim without names predict its verdict no better than chance does."""
    label, names = f"{NAME}-natural-{level}", re.compile(r"[A-Z]\w+(?: [A-Z]\w+)+")
    counted = defaultdict(Counter)
    for seed in (5, 6, 8):
        for case in cases(label, 100, seed):
            counted[names.sub("X", case.data["claim"])][case.data["verdict"]] += 1
    unseen = Counter([UNKNOWN])
    hits = [
        (counted.get(names.sub("X", case.data["claim"])) or unseen).most_common(1)[0][0]
        == case.data["verdict"]
        for case in cases(label, 150, 9)
    ]

    assert sum(hits) / len(hits) < 0.4  # the standard error of a third is 0.04


@pytest.mark.parametrize("label", LABELS)
def test_prompts_differ_by_claim_and_graph_only(label):
    """Without its claim and its graph, a prompt is the same for all cases."""
    around = set()
    for case in cases(label, 5):
        shown = family.prompt(case).replace(case.data["claim"], "")
        around.add(shown.replace(case.data["graph"], ""))
    assert len(around) == 1


@pytest.mark.parametrize("seed", range(30))
def test_every_world_gives_claims(seed):
    """Worlds of the smallest size give claims of all levels and several verdicts."""
    for level in LEVELS:
        found = cases(f"{NAME}-natural-{level}", 12, seed)
        assert len({case.data["verdict"] for case in found}) > 1


@pytest.mark.parametrize(
    ("answer", "correct", "outcome"),
    [
        ("{right}", 1.0, Outcome.SCORED),
        ("**{right}**.", 1.0, Outcome.SCORED),
        ("The claim is {RIGHT}", 1.0, Outcome.SCORED),
        ("{wrong}", 0.0, Outcome.SCORED),
        ("{right} or {wrong}", 0.0, Outcome.UNPARSABLE),
        ("_{right}_", 1.0, Outcome.SCORED),
        ("{right}; it is neither {wrong} nor {other}", 1.0, Outcome.SCORED),
        ("not {right}", 0.0, Outcome.UNPARSABLE),
        ("It isn't necessarily *{right}*.", 0.0, Outcome.UNPARSABLE),
        ("un{right}", 0.0, Outcome.UNPARSABLE),
        ("yes", 0.0, Outcome.UNPARSABLE),
        ("", 0.0, Outcome.EMPTY),
    ],
)
def test_what_counts_as_an_answer(answer, correct, outcome):
    """An answer is exactly one of the three words."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    right = case.data["verdict"]
    wrong, other = (one for one in VERDICTS if one != right)
    said = answer.format(right=right, RIGHT=right.upper(), wrong=wrong, other=other)
    verdict = family.judge(case, [said], PlainExecutor())

    assert (verdict.scores["correct"], verdict.outcome) == (correct, outcome)


def test_errors_of_both_kinds_are_told_apart():
    """Claiming too much and abstaining without need have separate scores."""
    found = {case.data["verdict"]: case for case in cases(f"{NAME}-natural-2", 40)}
    told = {
        (right, said): family.judge(case, [said], PlainExecutor()).scores
        for right, case in found.items()
        for said in VERDICTS
    }

    assert {key for key, scores in told.items() if scores["correct"]} == {
        (one, one) for one in VERDICTS
    }
    assert {key for key, scores in told.items() if scores["overclaiming"]} == {
        ("unknown", "entailed"),
        ("unknown", "contradicted"),
    }
    assert {key for key, scores in told.items() if scores["abstaining"]} == {
        ("entailed", "unknown"),
        ("contradicted", "unknown"),
    }


SAYS_ENTAILED = """\
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
SAYS_CONTRADICTED = """\
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
SAYS_UNKNOWN = """\
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
        (ENTAILED, SAYS_ENTAILED),
        (CONTRADICTED, SAYS_CONTRADICTED),
        (UNKNOWN, SAYS_UNKNOWN),
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
