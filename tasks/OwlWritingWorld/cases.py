# SPDX-License-Identifier: Apache-2.0
"""Axioms in words, with probes that test whether other axioms are equivalent.

A probe consists of facts about new things and a conclusion. The conclusion of a positive probe
follows from the facts and all axioms, but not without the axiom under test. The conclusion of a
negative probe does not follow from the facts and all axioms: such as that of an axiom read
backwards, or of an axiom about two names that no axiom links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice, product
from typing import Final, NamedTuple

from kgbench.reasoning.closure import MOST_STEPS, Budget
from kgbench.worlds.axioms import Axiom, axiom, is_regular, signature
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import RECIPES, Draft, rules_of
from kgbench.worlds.owl_cases import CACHED_CASES, FAILED_ATTEMPT, attempts, no_case, proves
from kgbench.worlds.vocabularies import Vocabulary

VERSION: Final = 2
"""Rises when the same seed gives other sentences or probes."""
_NEGATIVE: Final = 2  # most negative probes about an axiom
_X, _Y, _Z = "probe-x", "probe-y", "probe-z"

Claim = Axiom | None
Probes = list[tuple[tuple[Axiom, ...], Claim]]


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


@lru_cache(maxsize=CACHED_CASES)
def sentences(seed: str, names: str, level: int, number: int) -> Sentences:
    """Draw an ontology in words.

    Raises :class:`~kgbench.errors.TaskError` if no attempt succeeds.
    """
    for chance in attempts("sentences", seed, names, level, number):
        try:
            case = _draw_sentences(names, level, chance)
        except FAILED_ATTEMPT:
            continue
        if case is not None:
            return case
    raise no_case(level)


def _draw_sentences(names: str, level: int, chance: Chance) -> Sentences | None:
    recipe = RECIPES[level]
    vocabulary = Vocabulary(names, chance)
    ontology = Draft(vocabulary, recipe, chance)
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
    labels = {name: label for name, label in vocabulary.labels.items() if name in used}
    return Sentences(tuple(chance.shuffled(axioms)), labels, tuple(probes))


def _probes_about(
    tested: Axiom, axioms: Sequence[Axiom], chance: Chance, budget: Budget
) -> list[Probe]:
    """Return the probes about an axiom: one for each positive conclusion, and some negative ones.

    The budget of steps is below that of an answer, so that judging stays well within limits.
    """
    others = [other for other in axioms if other != tested]
    positive, negative = _PROBES[tested.kind](*tested.terms)
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
        ((facts, goal),), _ = _PROBES[kind](*pair)
        if not proves([*axioms, *facts], goal, budget):
            yield Probe(kind, facts, goal, follows=False)


def _type(subject: str, kind: str) -> Axiom:
    return axiom("type", subject, kind)


def _link(subject: str, prop: str, value: str) -> Axiom:
    return axiom("link", subject, prop, value)


def _same(first: str, second: str) -> Axiom:
    return axiom("same", first, second)


Both = tuple[Probes, Probes]
"""Positive and negative probes."""


def _subclass(c: str, d: str) -> Both:
    return [((_type(_X, c),), _type(_X, d))], [((_type(_X, d),), _type(_X, c))]


def _equivalent(c: str, d: str) -> Both:
    forth, back = _subclass(c, d)
    return [*forth, *back], [((_type(_X, c),), None)]


def _disjoint(c: str, d: str) -> Both:
    wrong: Probes = [
        ((_type(_X, c),), None),
        ((_type(_X, d),), None),
        ((_type(_X, c),), _type(_X, d)),
    ]
    return [((_type(_X, c), _type(_X, d)), None)], wrong


def _intersection(c: str, d: str, e: str) -> Both:
    wrong: Probes = [((_type(_X, part),), _type(_X, e)) for part in (c, d)]
    wrong.append(((_type(_X, e),), _type(_X, c)))
    return [((_type(_X, c), _type(_X, d)), _type(_X, e))], wrong


def _union(c: str, d: str, e: str) -> Both:
    right: Probes = [((_type(_X, part),), _type(_X, e)) for part in (c, d)]
    return right, [((_type(_X, e),), _type(_X, part)) for part in (c, d)]


def _domain(p: str, c: str) -> Both:
    link = _link(_X, p, _Y)
    return [((link,), _type(_X, c))], [((link,), _type(_Y, c))]


def _range(p: str, c: str) -> Both:
    link = _link(_X, p, _Y)
    return [((link,), _type(_Y, c))], [((link,), _type(_X, c))]


def _subproperty(p: str, q: str) -> Both:
    wrong: Probes = [
        ((_link(_X, q, _Y),), _link(_X, p, _Y)),
        ((_link(_X, p, _Y),), _link(_Y, q, _X)),
    ]
    return [((_link(_X, p, _Y),), _link(_X, q, _Y))], wrong


def _inverse(p: str, q: str) -> Both:
    right: Probes = [((_link(_X, a, _Y),), _link(_Y, b, _X)) for a, b in ((p, q), (q, p))]
    return right, [((_link(_X, a, _Y),), _link(_X, b, _Y)) for a, b in ((p, q), (q, p))]


def _symmetric(p: str) -> Both:
    step = (_link(_X, p, _Y), _link(_Y, p, _Z))
    return [((_link(_X, p, _Y),), _link(_Y, p, _X))], [(step, _link(_X, p, _Z))]


def _transitive(p: str) -> Both:
    step = (_link(_X, p, _Y), _link(_Y, p, _Z))
    wrong: Probes = [((_link(_X, p, _Y),), _link(_Y, p, _X)), (step, _link(_Z, p, _X))]
    return [(step, _link(_X, p, _Z))], wrong


def _chain(p: str, q: str, r: str) -> Both:
    step = (_link(_X, p, _Y), _link(_Y, q, _Z))
    turned = (_link(_X, q, _Y), _link(_Y, p, _Z))
    wrong: Probes = [
        (turned, _link(_X, r, _Z)),
        (step, _link(_Z, r, _X)),
        ((_link(_X, p, _Y),), _link(_X, r, _Y)),
        ((_link(_X, q, _Y),), _link(_X, r, _Y)),
    ]
    return [(step, _link(_X, r, _Z))], wrong


def _some(p: str, d: str, c: str) -> Both:
    wrong: Probes = [
        ((_link(_X, p, _Y),), _type(_X, c)),
        ((_link(_Y, p, _X), _type(_Y, d)), _type(_X, c)),
        ((_link(_X, p, _Y), _type(_X, c)), _type(_Y, d)),
    ]
    return [((_link(_X, p, _Y), _type(_Y, d)), _type(_X, c))], wrong


def _all(c: str, p: str, d: str) -> Both:
    wrong: Probes = [
        ((_link(_X, p, _Y),), _type(_Y, d)),
        ((_link(_X, p, _Y), _type(_Y, c)), _type(_X, d)),
        ((_link(_X, p, _Y), _type(_Y, d)), _type(_X, c)),
    ]
    return [((_type(_X, c), _link(_X, p, _Y)), _type(_Y, d))], wrong


def _with(p: str, i: str, c: str) -> Both:
    wrong: Probes = [((_link(_X, p, _Y),), _type(_X, c)), ((_type(_X, c),), _link(_X, p, i))]
    return [((_link(_X, p, i),), _type(_X, c))], wrong


def _value(c: str, p: str, i: str) -> Both:
    wrong: Probes = [((_link(_X, p, i),), _type(_X, c)), ((_type(_X, c),), _link(i, p, _X))]
    return [((_type(_X, c),), _link(_X, p, i))], wrong


def _functional(p: str) -> Both:
    values, owners = _shared_ends(p)
    return [(values, _same(_Y, _Z))], [(owners, _same(_Y, _Z))]


def _inverse_functional(p: str) -> Both:
    values, owners = _shared_ends(p)
    return [(owners, _same(_Y, _Z))], [(values, _same(_Y, _Z))]


def _most(c: str, p: str) -> Both:
    values, owners = _shared_ends(p)
    wrong: Probes = [
        (values, _same(_Y, _Z)),
        ((*owners, _type(_X, c)), _same(_Y, _Z)),
        ((*values, _type(_Y, c)), _same(_Y, _Z)),
    ]
    return [((*values, _type(_X, c)), _same(_Y, _Z))], wrong


def _asymmetric(p: str) -> Both:
    link = _link(_X, p, _Y)
    wrong: Probes = [((link,), None), ((link, _link(_Y, p, _Z)), None)]
    return [((link, _link(_Y, p, _X)), None)], wrong


def _irreflexive(p: str) -> Both:
    wrong: Probes = [((_link(_X, p, _Y),), None), ((_link(_X, p, _Y), _link(_Y, p, _X)), None)]
    return [((_link(_X, p, _X),), None)], wrong


def _disjoint_properties(p: str, q: str) -> Both:
    wrong: Probes = [
        ((_link(_X, p, _Y), _link(_Y, q, _X)), None),
        ((_link(_X, p, _Y), _link(_X, q, _Z)), None),
    ]
    return [((_link(_X, p, _Y), _link(_X, q, _Y)), None)], wrong


def _shared_ends(p: str) -> tuple[tuple[Axiom, ...], tuple[Axiom, ...]]:
    """Return facts for two values of a thing, and for two things with the same value."""
    return (_link(_X, p, _Y), _link(_X, p, _Z)), (_link(_Y, p, _X), _link(_Z, p, _X))


_PROBES: Final[Mapping[str, Callable[..., Both]]] = {
    "subclass": _subclass,
    "equivalent": _equivalent,
    "intersection": _intersection,
    "union": _union,
    "disjoint": _disjoint,
    "complement": _disjoint,
    "domain": _domain,
    "range": _range,
    "subproperty": _subproperty,
    "inverse": _inverse,
    "symmetric": _symmetric,
    "transitive": _transitive,
    "chain": _chain,
    "some": _some,
    "all": _all,
    "with": _with,
    "value": _value,
    "functional": _functional,
    "inverse-functional": _inverse_functional,
    "most": _most,
    "asymmetric": _asymmetric,
    "irreflexive": _irreflexive,
    "disjoint-properties": _disjoint_properties,
}
