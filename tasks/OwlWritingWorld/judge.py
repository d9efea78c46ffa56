# SPDX-License-Identifier: Apache-2.0
"""OwlWritingWorld: write axioms for sentences, judged by what they entail together with facts.

In turn, the sentences must entail each axiom of the answer. The reasoner
(:mod:`kgbench.reasoning`) has a limit of steps for all probes and axioms of an answer.

A probe consists of facts about new things and a conclusion. The conclusion of a positive probe
follows from the facts and all axioms, but not without the axiom under test. The conclusion of a
negative probe does not follow from the facts and all axioms: such as that of an axiom read
backwards, or of an axiom about two names that no axiom links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, islice, product
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    Case,
    Chance,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
)
from kgbench.families.ontology_answers import fenced, has_axioms, parse_lines
from kgbench.reasoning import implications
from kgbench.reasoning.closure import MOST_STEPS, Budget, Closure, TooMuchWork
from kgbench.scoring.agreement import Discrimination, discrimination
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import Axiom, declarations, in_short, is_regular, signature
from kgbench.worlds.ontologies import Draft, Recipe, label_lines, rules_of
from kgbench.worlds.owl_cases import drawn_again, proves

VERSION: Final = 2
"""Rises when the same seed gives other sentences or probes."""
_NEGATIVE: Final = 2  # most negative probes about an axiom

Claim = Axiom | None


class Probe(NamedTuple):
    """Facts and a conclusion that follows or does not; ``None`` stands for an inconsistency.

    ``kind`` is that of the axiom under test.
    """

    kind: str
    facts: tuple[Axiom, ...]
    goal: Claim
    follows: bool


class Sentences(NamedTuple):
    """Axioms to be written, the labels of their names, and the probes."""

    axioms: tuple[Axiom, ...]
    labels: Mapping[str, str]
    probes: tuple[Probe, ...]

    @property
    def words(self) -> list[str]:
        """The axioms as sentences."""
        return [sentence.words(self.labels) for sentence in self.axioms]


@drawn_again("sentences")
def sentences(ontology: Draft, recipe: Recipe) -> Sentences | None:
    """Draw an ontology in words."""
    chance = ontology.chance
    axioms: list[Axiom] = []
    for _ in range(recipe.sentences):
        axioms += rules_of(ontology.derivation(ontology.goal(), recipe.steps).axioms)
        if len(axioms) >= recipe.sentences // 2:
            break
    axioms = list(dict.fromkeys(axioms))[: recipe.sentences]
    for rule in rules_of(ontology.noise(axioms, 4 * recipe.sentences)):
        if len(axioms) < recipe.sentences and rule not in axioms and is_regular([*axioms, rule]):
            axioms.append(rule)
    if len(axioms) < recipe.sentences or not is_regular(axioms):
        return None
    probes: list[Probe] = []
    budget = Budget(MOST_STEPS // 2)
    for rule in axioms:
        rule_probes = _probes_about(rule, axioms, chance, budget)
        if not any(probe.follows for probe in rule_probes):
            return None
        probes += rule_probes
    probes += islice(_probes_of_unlinked(axioms, chance, budget), recipe.sentences)
    if all(probe.follows for probe in probes):
        return None
    used = {name for sort_names in signature(axioms).values() for name in sort_names}
    labels = {name: label for name, label in ontology.labels.items() if name in used}
    return Sentences(tuple(chance.shuffled(axioms)), labels, tuple(probes))


def _probes_about(
    tested: Axiom, axioms: Sequence[Axiom], chance: Chance, budget: Budget
) -> list[Probe]:
    """Return the probes about an axiom: one for each positive conclusion, and some negative ones.

    The budget of steps is below that of an answer, so that judging stays well within limits.
    """
    others = [other for other in axioms if other != tested]
    positive, negative = (_claims(text, tested.terms) for text in _PROBES[tested.kind])
    result = [
        Probe(tested.kind, facts, goal, follows=True)
        for facts, goal in positive
        if proves([*axioms, *facts], goal, budget) and not proves([*others, *facts], goal)
    ]
    negative_probes = (
        Probe(tested.kind, facts, goal, follows=False)
        for facts, goal in chance.shuffled(negative)
        if not proves([*axioms, *facts], goal, budget)
    )
    return [*result, *islice(negative_probes, _NEGATIVE)]


def _probes_of_unlinked(axioms: Sequence[Axiom], chance: Chance, budget: Budget) -> Iterator[Probe]:
    """Yield negative probes of axioms about two names that no axiom links, in random order."""
    names = signature(axioms)
    pairs = {
        "subclass": combinations(chance.shuffled(names["c"]), 2),
        "disjoint": combinations(chance.shuffled(names["c"]), 2),
        "subproperty": combinations(chance.shuffled(names["p"]), 2),
        "domain": product(names["p"], names["c"]),
        "range": product(names["p"], names["c"]),
    }
    linked = {frozenset(pair) for item in axioms for pair in combinations(item.terms, 2)}
    unlinked = [
        (kind, pair)
        for kind, kind_pairs in pairs.items()
        for pair in kind_pairs
        if frozenset(pair) not in linked
    ]
    for kind, pair in chance.shuffled(unlinked):
        ((facts, goal),) = _claims(_PROBES[kind][0], pair)
        if not proves([*axioms, *facts], goal, budget):
            yield Probe(kind, facts, goal, follows=False)


def _claims(text: str, terms: Sequence[str]) -> list[tuple[tuple[Axiom, ...], Claim]]:
    """Return facts with conclusions, from short notation with the numbers of terms."""
    names = {letter: f"probe-{letter}" for letter in "xyz"}
    names |= {str(number): term for number, term in enumerate(terms)}
    claims = (item.split(" > ") for item in text.split("; "))
    return [
        (tuple(in_short(facts, names)), None if goal == "!" else in_short(goal, names)[0])
        for facts, goal in claims
    ]


_PROBES: Final[Mapping[str, tuple[str, str]]] = {
    "subclass": ("x 0 > x 1", "x 1 > x 0"),
    "equivalent": ("x 0 > x 1; x 1 > x 0", "x 0 > !"),
    "intersection": ("x 0, x 1 > x 2", "x 0 > x 2; x 1 > x 2; x 2 > x 0"),
    "union": ("x 0 > x 2; x 1 > x 2", "x 2 > x 0; x 2 > x 1"),
    "disjoint": ("x 0, x 1 > !", "x 0 > !; x 1 > !; x 0 > x 1"),
    "complement": ("x 0, x 1 > !", "x 0 > !; x 1 > !; x 0 > x 1"),
    "domain": ("x 0 y > x 1", "x 0 y > y 1"),
    "range": ("x 0 y > y 1", "x 0 y > x 1"),
    "subproperty": ("x 0 y > x 1 y", "x 1 y > x 0 y; x 0 y > y 1 x"),
    "inverse": ("x 0 y > y 1 x; x 1 y > y 0 x", "x 0 y > x 1 y; x 1 y > x 0 y"),
    "symmetric": ("x 0 y > y 0 x", "x 0 y, y 0 z > x 0 z"),
    "transitive": ("x 0 y, y 0 z > x 0 z", "x 0 y > y 0 x; x 0 y, y 0 z > z 0 x"),
    "chain": (
        "x 0 y, y 1 z > x 2 z",
        "x 1 y, y 0 z > x 2 z; x 0 y, y 1 z > z 2 x; x 0 y > x 2 y; x 1 y > x 2 y",
    ),
    "some": ("x 0 y, y 1 > x 2", "x 0 y > x 2; y 0 x, y 1 > x 2; x 0 y, x 2 > y 1"),
    "all": ("x 0, x 1 y > y 2", "x 1 y > y 2; x 1 y, y 0 > x 2; x 1 y, y 2 > x 0"),
    "with": ("x 0 1 > x 2", "x 0 y > x 2; x 2 > x 0 1"),
    "value": ("x 0 > x 1 2", "x 1 2 > x 0; x 0 > 2 1 x"),
    "functional": ("x 0 y, x 0 z > same y z", "y 0 x, z 0 x > same y z"),
    "inverse-functional": ("y 0 x, z 0 x > same y z", "x 0 y, x 0 z > same y z"),
    "most": (
        "x 1 y, x 1 z, x 0 > same y z",
        "x 1 y, x 1 z > same y z; y 1 x, z 1 x, x 0 > same y z; x 1 y, x 1 z, y 0 > same y z",
    ),
    "asymmetric": ("x 0 y, y 0 x > !", "x 0 y > !; x 0 y, y 0 z > !"),
    "irreflexive": ("x 0 x > !", "x 0 y > !; x 0 y, y 0 x > !"),
    "disjoint-properties": ("x 0 y, x 1 y > !", "x 0 y, y 1 x > !; x 0 y, x 1 z > !"),
}
"""Facts and conclusions of an axiom with these terms (``!``: inconsistency), and others."""


_NOTHING: Final = dict.fromkeys(
    ("consistent", "precision", "entailed", "refrained", "balancedAccuracy", "informedness"), 0.0
)
_SHOWN: Final = 10  # axioms that the infos of a verdict list
_LONGEST: Final = 500  # characters of such an axiom


class OwlWritingWorld(DrawnFamily, TurtleFamily):
    """Sentences that are to be written as axioms, with probes of what these entail."""

    shows = ("labels", "declarations")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a set of sentences with their axioms and probes."""
        names, level = task.parameters["names"], task.parameters["level"]
        exercise = sentences(owl_cases.seed_of(seed), names, level, number)
        return {
            "version": VERSION,
            "sentences": exercise.words,
            "labels": label_lines(exercise.labels),
            "declarations": declarations(signature(exercise.axioms)),
            "axioms": [item.turtle for item in exercise.axioms],
            "probes": [
                {
                    "about": item.kind,
                    "facts": [fact.turtle for fact in item.facts],
                    "goal": None if item.goal is None else item.goal.turtle,
                    "follows": item.follows,
                }
                for item in exercise.probes
            ],
        }

    def prompt(self, case: Case) -> str:
        """Return the prompt: the names with their labels, and the numbered sentences."""
        numbered = (f"{n}. {words}" for n, words in enumerate(case.data["sentences"], 1))
        shown = {name: "\n".join(case.data[name]) for name in self.shows}
        return self.text("prompt", sentences="\n".join(numbered), **shown)

    def score(self, case: Case, answer: Sequence[ox.Triple] | None, executor: Executor) -> Score:
        """Test the axioms of an answer."""
        infos: dict[str, Json] = {"reasoningError": None}
        if not answer or not has_axioms(answer):
            none = partial(self.feedback, "no-axioms", "format")
            return Score(_NOTHING, infos, usable=False, feedback=none)
        budget = Budget(MOST_STEPS)
        try:
            alone = Closure(answer, budget=budget)
            proved = [*_proved(case, answer, budget)]
            tested = _test_probes(case, alone)
        except TooMuchWork as error:
            message = infos["reasoningError"] = str(error)
            much = partial(self.feedback, "too-much", message=message)
            return Score(_NOTHING, infos, usable=False, feedback=much)
        unsaid = [triple for triple, follows in proved if not follows]
        precision = (len(proved) - len(unsaid)) / len(proved) if proved else 0.0
        result = Discrimination(tested.accepted * precision, tested.by_component)
        scores = {
            "consistent": float(alone.consistent),
            "precision": precision,
            "entailed": tested.refused,
            "refrained": tested.accepted,
            "balancedAccuracy": result.balanced_accuracy,
            "informedness": result.informedness,
            "exact": float(result.accepted == result.refused == 1),
        }
        infos["unsaid"] = [_shown(triple) for triple in unsaid[:_SHOWN]]
        infos["balancedAccuracyByKind"] = result.accuracies

        def feedback() -> Feedback | None:
            return None if alone.consistent else self.feedback("inconsistent")

        return Score(scores, infos, feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the axioms that express the sentences."""
        return fenced([*case.data["declarations"], *case.data["axioms"]])


family: Final = OwlWritingWorld(__file__)


def _shown(triple: ox.Triple) -> str:
    """Return a triple as text; labels of blank nodes differ between processes and say nothing."""
    terms = ("[]" if isinstance(term, ox.BlankNode) else str(term) for term in triple)
    return " ".join(terms)[:_LONGEST]


def _proved(
    case: Case, triples: Sequence[ox.Triple], budget: Budget
) -> Iterator[tuple[ox.Triple, bool]]:
    """Yield each axiom of an answer, and whether the sentences entail it."""
    said = Closure(parse_lines(case.data["axioms"]), budget=budget)
    names = {triple.subject for triple in parse_lines(case.data["declarations"])}
    for triple, axiom in implications.axioms(triples, names, budget):
        try:
            follows = all(said.entails_with(facts, goal) for facts, goal in axiom)
        except implications.NoImplications:
            follows = False
        yield triple, follows


def _test_probes(case: Case, axioms: Closure) -> Discrimination:
    """Check for each probe whether axioms and facts entail its goal, as they should or not."""
    refrained: list[bool] = []
    missed: list[tuple[str, bool]] = []
    for probe in case.data["probes"]:
        goal = None if probe["goal"] is None else parse_lines([probe["goal"]])[0]
        follows = axioms.entails_with(parse_lines(probe["facts"]), goal)
        if probe["follows"]:
            missed.append((probe["about"], not follows))
        else:
            refrained.append(not follows)
    return discrimination(refrained, missed)
