# SPDX-License-Identifier: Apache-2.0
"""Axioms in words, with probes that test whether other axioms are equivalent.

A probe consists of facts about new things and a conclusion. The conclusion of a positive probe
follows from the facts and all axioms, but not without the axiom under test. The conclusion of a
negative probe does not follow from the facts and all axioms: such as that of an axiom read
backwards, or of an axiom about two names that no axiom links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Final, NamedTuple

from kgbench.reasoning.closure import MOST_STEPS, Budget
from kgbench.worlds.axioms import Axiom, in_short, is_regular, signature
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import Draft, Recipe, rules_of
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
