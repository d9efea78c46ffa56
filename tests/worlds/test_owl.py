# SPDX-License-Identifier: Apache-2.0
"""Cases about generated ontologies: sound, reproducible, judged by entailment."""

from __future__ import annotations

import pytest

from kgbench.errors import TaskError
from kgbench.model import Outcome
from kgbench.tasks import catalogue, ontology_answers
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import axioms, owl_cases, owl_faults, owl_probes, vocabularies
from kgbench.worlds.axioms import axiom
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import LEVELS as COUNT
from kgbench.worlds.ontologies import RECIPES
from tests.support import families

ENTAILMENT, JUSTIFICATION = "OwlEntailmentWorld", "OwlJustificationWorld"
REPAIR, WRITING = "OwlRepairWorld", "OwlWritingWorld"
LEVELS = range(1, COUNT + 1)
NAMES = (ENTAILMENT, JUSTIFICATION, REPAIR, WRITING)


def cases(name, level, count, names="natural", seed=7):
    """Return the first cases of a labelled task."""
    return families.cases(f"{name}-{names}-{level}", count, seed)


def judged(case, answer, rounds=1):
    """Return the verdict on an answer that is given in each round."""
    return catalogue.module(case.task_class).judge(case, [answer] * rounds, PlainExecutor())


def scores(case, lines, rounds=1):
    """Return the scores of lines of Turtle."""
    return judged(case, ontology_answers.fenced(lines), rounds).scores


@pytest.mark.parametrize("names", ["natural", "opaque"])
@pytest.mark.parametrize("level", LEVELS)
def test_prompts_do_not_reveal_axioms(level, names):
    """A prompt that asks for axioms shows none of them."""
    module = catalogue.module(WRITING)
    for case in cases(WRITING, level, 2, names):
        assert not any(line in module.prompt(case) for line in case.data["axioms"])


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_is_another_case(name):
    """Another seed gives other cases."""
    first, other = (cases(name, 1, 1, seed=seed)[0] for seed in (7, 8))

    assert first.iri != other.iri


def test_a_level_without_cases_is_refused(monkeypatch):
    """If no attempt gives a case, an error says so."""
    monkeypatch.setattr(owl_cases, "_entailments", lambda *_: None)
    with pytest.raises(TaskError, match="no ontology of level 1 was found in 400 attempts"):
        owl_cases.entailments("a", "natural", 1, 0)


# ontologies


def test_names_are_drawn_once_each():
    """Each name is drawn once; opaque names are numbers, with invented labels."""
    natural = vocabularies.Vocabulary("natural", Chance("a"))
    drawn = [natural.fresh("p") for _ in range(30)]
    with pytest.raises(vocabularies.NoMoreNames):
        [natural.fresh("p") for _ in range(100)]
    opaque = vocabularies.Vocabulary("opaque", Chance("a"))
    numbers = [opaque.fresh(sort) for sort in "cpi" for _ in range(20)]

    assert len(set(drawn)) == 30
    assert all(name[0] in "cpi" and name[1:].isdecimal() for name in numbers)
    assert len(set(opaque.labels.values())) == len(numbers)


@pytest.mark.parametrize(
    ("stated", "fits"),
    [
        ([("transitive", "p"), ("subproperty", "q", "p"), ("functional", "q")], True),
        ([("transitive", "p"), ("subproperty", "p", "q"), ("functional", "q")], False),
        ([("transitive", "p"), ("inverse", "p", "q"), ("asymmetric", "q")], False),
        ([("chain", "p", "q", "r"), ("irreflexive", "r")], False),
        ([("chain", "p", "q", "r"), ("most", "c", "r")], False),
        ([("chain", "p", "q", "r"), ("functional", "p")], True),
        ([("chain", "p", "q", "r"), ("subproperty", "r", "p")], False),
        ([("chain", "p", "q", "r"), ("inverse", "r", "s"), ("subproperty", "s", "q")], False),
        ([("subproperty", "p", "q"), ("subproperty", "q", "p")], False),
    ],
)
def test_restrictions_on_properties_are_known(stated, fits):
    """The restrictions of OWL 2 DL on chains and composite properties are checked."""
    assert axioms.is_regular([axiom(*one) for one in stated]) is fits


@pytest.mark.parametrize("level", LEVELS)
def test_all_kinds_of_a_level_are_asked_for(level):
    """Every kind of axiom of a level occurs in sentences and in ontologies."""
    met = {
        one.kind
        for number in range(30)
        for one in owl_probes.sentences("kinds", "opaque", level, number).axioms
    }

    assert met == RECIPES[level].kinds


def test_no_axiom_has_the_sentence_of_another():
    """Sentences of all kinds differ."""
    said = {kind.words for kind in axioms.KINDS.values()}

    assert len(said) == len(axioms.KINDS)


# scoring


@pytest.mark.parametrize("level", LEVELS)
def test_affirming_or_denying_everything_is_worth_nothing(level):
    """Affirming all statements, or only wrong ones, has an informedness of 0."""
    for case in cases(ENTAILMENT, level, 3):
        statements = case.data["statements"]
        everything = scores(case, statements)
        assert (everything["recall"], everything["informedness"]) == (1.0, 0.0)
        assert everything["precision"] <= 2 / 3
        follows = set(case.data["entailed"])
        assert len(statements) == RECIPES[level].statements
        wrong = scores(case, [one for one in statements if one not in follows])
        assert wrong["f1"] == wrong["informedness"] == 0.0


def test_statements_that_nobody_asked_for_cost_precision_and_informedness():
    """An additional statement is not exact, and declarations are ignored."""
    case = cases(ENTAILMENT, 2, 1)[0]
    right = case.data["entailed"]
    more = scores(case, [*right, "o:a o:b o:c ."])

    assert more["precision"] == len(right) / (len(right) + 1)
    assert more["informedness"] == pytest.approx(more["precision"])
    assert more["exact"] == 0.0
    assert scores(case, ["o:C a owl:Class .", *right])["exact"] == 1.0
    none = judged(case, ontology_answers.fenced(["o:C a owl:Class ."]))
    assert (none.outcome, none.feedback) == (Outcome.UNPARSABLE, "format")


@pytest.mark.parametrize("level", LEVELS)
def test_each_axiom_of_a_justification_is_needed(level):
    """With one axiom less the statement is not entailed; with one more it is not minimal."""
    for case in cases(JUSTIFICATION, level, 2):
        right = case.data["justification"]
        for one in right:
            less = scores(case, [other for other in right if other != one])
            assert (less["entails"], less["justification"]) == (0.0, 0.0)
        spare = next(one for one in case.data["axioms"] if one not in right)
        more = scores(case, [*right, spare])
        assert (more["entails"], more["minimal"], more["onlyGiven"]) == (1.0, 0.0, 1.0)
        assert (more["needless"], more["exact"]) == (1.0, 0.0)
        spared = 1 - 1 / (len(case.data["axioms"]) - len(right))
        assert more["justification"] == pytest.approx(len(right) / (len(right) + 1) * spared)
        assert scores(case, case.data["axioms"])["justification"] == 0.0
        foreign = scores(case, [*right, case.data["statement"]])
        assert (foreign["minimal"], foreign["onlyGiven"], foreign["exact"]) == (1.0, 0.0, 0.0)
        alone = scores(case, [case.data["statement"]])
        assert (alone["entails"], alone["justification"]) == (0.0, 0.0)


@pytest.mark.parametrize("level", LEVELS)
def test_no_short_cut_replaces_a_justification(level):
    """Each axiom of the justification is needed in the whole ontology: there is no other."""
    for case in cases(JUSTIFICATION, level, 6, "opaque"):
        right, known = case.data["justification"], case.data["axioms"]
        for one in right:
            others = scores(case, [other for other in known if other != one])
            assert others["entails"] == 0.0, one


def test_another_justification_counts_as_much():
    """Any minimal set that entails the statement is right."""
    case = cases(JUSTIFICATION, 1, 1)[0]
    goal = "o:x a o:D ."
    stated = ["o:x a o:C .", "o:C rdfs:subClassOf o:D .", "o:p rdfs:domain o:D .", "o:x o:p o:y ."]
    data = {**case.data, "statement": goal, "axioms": stated, "justification": stated[:2]}
    other = type(case)(**{**{f: getattr(case, f) for f in case.__slots__}, "data": data})

    assert scores(other, stated[2:])["exact"] == 1.0
    assert scores(other, stated)["needless"] == 2.0


def test_feedback_about_justifications():
    """An answer that does not entail the statement, or has needless axioms, has feedback twice."""
    case = cases(JUSTIFICATION, 2, 1)[0]
    right, known = case.data["justification"], case.data["axioms"]
    spare = judged(case, ontology_answers.fenced(known))
    few = judged(case, ontology_answers.fenced(right[1:]))
    none = judged(case, ontology_answers.fenced(["o:a o:b o:c ."]))

    assert (spare.feedback, few.feedback, none.feedback) == ("content", "content", "format")
    assert str(len(known) - len(right)) in spare.next_prompt
    assert not any(line in f"{spare.next_prompt} {few.next_prompt}" for line in right)
    assert judged(case, ontology_answers.fenced(known), 3).next_prompt is None


@pytest.mark.parametrize("level", LEVELS)
def test_as_few_removals_as_can_be_are_known(level):
    """Each inconsistency requires a removal of its own."""
    for number in range(3):
        found = owl_faults.inconsistent("few", "opaque", level, number)
        assert len(found.removed) == RECIPES[level].clashes
        assert owl_cases.proves(found.axioms, None)
        for one in found.removed:
            left = [each for each in found.axioms if each not in found.removed or each == one]
            assert owl_cases.proves(left, None)


def test_removing_and_adding_without_need_costs():
    """An empty answer repairs nothing, and needless removals and additions are counted."""
    case = cases(REPAIR, 2, 1)[0]
    known, removed = case.data["axioms"], case.data["removed"]
    kept = [line for line in known if line not in removed]

    assert scores(case, kept[1:])["needless"] == 1.0
    assert scores(case, kept[1:])["repair"] == 1 / 2
    assert scores(case, [*kept, "o:new a o:Thing ."])["repair"] == 1 / 2
    one = scores(case, kept[:1])
    assert one["consistent"] == 1.0
    assert one["repair"] == 1 / (len(known) - 1)
    nothing = judged(case, ontology_answers.fenced([]))
    assert (nothing.outcome, nothing.feedback) == (Outcome.UNPARSABLE, "format")
    assert nothing.scores["repair"] == 0.0


def test_the_inconsistency_that_is_left_is_told():
    """Feedback names the rule of the remaining inconsistency and its premises, twice."""
    case = cases(REPAIR, 3, 1)[0]
    verdicts = [judged(case, ontology_answers.fenced(case.data["axioms"]), n) for n in (1, 2, 3)]

    assert [one.feedback for one in verdicts] == ["content", "content", None]
    assert "of OWL 2 RL applies" in verdicts[0].next_prompt
    assert "* o:" in verdicts[0].next_prompt
    assert verdicts[0].scores["consistent"] == 0.0
