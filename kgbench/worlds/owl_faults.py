# SPDX-License-Identifier: Apache-2.0
"""Inconsistent ontologies, with the smallest number of axioms whose removal helps.

An inconsistency is made of a fact that axioms entail, and of one or two things that contradict it.
Inconsistencies of an ontology share no axioms, so that each needs an axiom to be removed: the
number of inconsistencies is the smallest number of removals, where as many removals are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from kgbench.reasoning.closure import Closure
from kgbench.worlds.axioms import Axiom, axiom, regular, triples
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import RECIPES, Draft, Recipe
from kgbench.worlds.owl_cases import KEPT, USELESS, attempts, beside, draft, no_case, proves


class Inconsistent(NamedTuple):
    """An inconsistent ontology; without the axioms ``removed``, as few as can be, it is not."""

    axioms: tuple[Axiom, ...]
    removed: tuple[Axiom, ...]


class Clash(NamedTuple):
    """Axioms that are inconsistent together; ``key`` is one whose removal is enough."""

    axioms: tuple[Axiom, ...]
    key: Axiom


@lru_cache(maxsize=KEPT)
def inconsistent(seed: str, names: str, level: int, number: int) -> Inconsistent:
    """Return an inconsistent ontology."""
    for chance in attempts("faults", seed, names, level, number):
        try:
            found = _drawn(draft(names, level, chance), RECIPES[level], chance)
        except USELESS:
            continue
        if found is not None:
            return found
    raise no_case(level)


def _drawn(made: Draft, recipe: Recipe, chance: Chance) -> Inconsistent | None:
    steps = max(1, recipe.steps // recipe.clashes)
    clashes: list[Clash] = []
    for _ in range(recipe.clashes):
        kinds = [kind for kind in _CLASHES if kind in recipe.kinds]
        clashes.append(_CLASHES[chance.one(kinds)](made, steps))
    stated = [one for clash in clashes for one in clash.axioms]
    if len(set(stated)) < len(stated) or not regular(stated):
        return None
    axioms = beside(made, stated, recipe.noise)
    removed = tuple(clash.key for clash in clashes)
    if not all(proves(clash.axioms, None) for clash in clashes):
        return None
    if not Closure(triples(one for one in axioms if one not in removed)).consistent:
        return None
    return Inconsistent(axioms, removed)


def _entailed(made: Draft, goal: Axiom, steps: int) -> tuple[Axiom, ...]:
    return made.derivation(goal, steps).axioms


def _two_classes(made: Draft, steps: int, kind: str) -> Clash:
    """Return a thing has a class, and once or twice another that shares nothing with it."""
    one, of = made.fresh("i"), made.fresh("c")
    shared = _entailed(made, axiom("type", one, of), steps)
    found = list(shared)
    for number in range(made.chance.between(1, 2)):
        other = made.fresh("c")
        pair = made.chance.shuffled([of, other]) if kind == "disjoint" else [of, other]
        found += [axiom(kind, *pair)]
        found += _entailed(made, axiom("type", one, other), steps // 2 * (1 - number))
    return Clash(tuple(found), made.chance.one(shared))


def _disjoint(made: Draft, steps: int) -> Clash:
    return _two_classes(made, steps, "disjoint")


def _complement(made: Draft, steps: int) -> Clash:
    return _two_classes(made, steps, "complement")


def _asymmetric(made: Draft, steps: int) -> Clash:
    by, one, other = made.fresh("p"), made.fresh("i"), made.fresh("i")
    made.only_simple(by)
    found = [
        axiom("asymmetric", by),
        *_entailed(made, axiom("link", one, by, other), steps),
        *_entailed(made, axiom("link", other, by, one), steps // 2),
    ]
    return Clash(tuple(found), made.chance.one(found))


def _irreflexive(made: Draft, steps: int) -> Clash:
    by, one = made.fresh("p"), made.fresh("i")
    made.only_simple(by)
    found = [axiom("irreflexive", by), *_entailed(made, axiom("link", one, by, one), steps)]
    return Clash(tuple(found), made.chance.one(found))


def _disjoint_properties(made: Draft, steps: int) -> Clash:
    by, also, one, other = made.fresh("p"), made.fresh("p"), made.fresh("i"), made.fresh("i")
    made.only_simple(by)
    made.only_simple(also)
    found = [
        axiom("disjoint-properties", by, also),
        *_entailed(made, axiom("link", one, by, other), steps),
        *_entailed(made, axiom("link", one, also, other), steps // 2),
    ]
    return Clash(tuple(found), made.chance.one(found))


def _functional(made: Draft, steps: int) -> Clash:
    by, owner, one, other = made.fresh("p"), made.fresh("i"), made.fresh("i"), made.fresh("i")
    made.only_simple(by)
    found = [
        axiom("functional", by),
        axiom("different", *made.chance.shuffled([one, other])),
        *_entailed(made, axiom("link", owner, by, one), steps),
        *_entailed(made, axiom("link", owner, by, other), steps // 2),
    ]
    return Clash(tuple(found), made.chance.one(found))


def _most(made: Draft, steps: int) -> Clash:
    whole, by, owner = made.fresh("c"), made.fresh("p"), made.fresh("i")
    one, other = made.fresh("i"), made.fresh("i")
    made.only_simple(by)
    found = [
        axiom("most", whole, by),
        axiom("different", *made.chance.shuffled([one, other])),
        *_entailed(made, axiom("type", owner, whole), steps),
        axiom("link", owner, by, one),
        axiom("link", owner, by, other),
    ]
    return Clash(tuple(found), made.chance.one(found))


_CLASHES: Final[dict[str, Callable[[Draft, int], Clash]]] = {
    "disjoint": _disjoint,
    "complement": _complement,
    "asymmetric": _asymmetric,
    "irreflexive": _irreflexive,
    "disjoint-properties": _disjoint_properties,
    "functional": _functional,
    "most": _most,
}
