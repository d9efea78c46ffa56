# SPDX-License-Identifier: Apache-2.0
"""Inconsistent ontologies, with the smallest number of axioms to remove.

A clash consists of a derivation of a fact and one or two contradictions of it. The clashes of an
ontology share no axioms, so each of them requires a removal. The number of clashes is therefore the
smallest number of removals, provided that one removal per clash is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from kgbench.reasoning.closure import Closure
from kgbench.worlds.axioms import Axiom, axiom, is_regular, triples
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import RECIPES, Draft, Recipe
from kgbench.worlds.owl_cases import (
    CACHED_CASES,
    FAILED_ATTEMPT,
    add_noise,
    attempts,
    draft,
    no_case,
    proves,
)


class Inconsistent(NamedTuple):
    """An inconsistent ontology, and a smallest set of axioms whose removal makes it consistent."""

    axioms: tuple[Axiom, ...]
    removed: tuple[Axiom, ...]


class Clash(NamedTuple):
    """Axioms that are inconsistent together; removing ``key`` makes them consistent."""

    axioms: tuple[Axiom, ...]
    key: Axiom


@lru_cache(maxsize=CACHED_CASES)
def inconsistent(seed: str, names: str, level: int, number: int) -> Inconsistent:
    """Draw an inconsistent ontology.

    Raises :class:`~kgbench.errors.TaskError` if no attempt succeeds.
    """
    for chance in attempts("faults", seed, names, level, number):
        try:
            ontology = _drawn(draft(names, level, chance), RECIPES[level], chance)
        except FAILED_ATTEMPT:
            continue
        if ontology is not None:
            return ontology
    raise no_case(level)


def _drawn(ontology: Draft, recipe: Recipe, chance: Chance) -> Inconsistent | None:
    steps = max(1, recipe.steps // recipe.clashes)
    clashes: list[Clash] = []
    for _ in range(recipe.clashes):
        kinds = [kind for kind in _CLASHES if kind in recipe.kinds]
        clashes.append(_CLASHES[chance.one(kinds)](ontology, steps))
    stated = [clash_axiom for clash in clashes for clash_axiom in clash.axioms]
    if len(set(stated)) < len(stated) or not is_regular(stated):
        return None
    axioms = add_noise(ontology, stated, recipe.noise)
    removed = tuple(clash.key for clash in clashes)
    if not all(proves(clash.axioms, None) for clash in clashes):
        return None
    if not Closure(triples(kept for kept in axioms if kept not in removed)).consistent:
        return None
    return Inconsistent(axioms, removed)


def _entailed(ontology: Draft, goal: Axiom, steps: int) -> tuple[Axiom, ...]:
    return ontology.derivation(goal, steps).axioms


def _two_classes(ontology: Draft, steps: int, kind: str) -> Clash:
    """Give a thing a class, and one or two other classes that are disjoint with it."""
    individual, first = ontology.fresh("i"), ontology.fresh("c")
    shared = _entailed(ontology, axiom("type", individual, first), steps)
    axioms = list(shared)
    for number in range(ontology.chance.between(1, 2)):
        other = ontology.fresh("c")
        pair = ontology.chance.shuffled([first, other]) if kind == "disjoint" else [first, other]
        axioms += [axiom(kind, *pair)]
        axioms += _entailed(ontology, axiom("type", individual, other), steps // 2 * (1 - number))
    return Clash(tuple(axioms), ontology.chance.one(shared))


def _disjoint(ontology: Draft, steps: int) -> Clash:
    return _two_classes(ontology, steps, "disjoint")


def _complement(ontology: Draft, steps: int) -> Clash:
    return _two_classes(ontology, steps, "complement")


def _asymmetric(ontology: Draft, steps: int) -> Clash:
    prop, individual, other = ontology.fresh("p"), ontology.fresh("i"), ontology.fresh("i")
    ontology.only_simple(prop)
    axioms = [
        axiom("asymmetric", prop),
        *_entailed(ontology, axiom("link", individual, prop, other), steps),
        *_entailed(ontology, axiom("link", other, prop, individual), steps // 2),
    ]
    return Clash(tuple(axioms), ontology.chance.one(axioms))


def _irreflexive(ontology: Draft, steps: int) -> Clash:
    prop, individual = ontology.fresh("p"), ontology.fresh("i")
    ontology.only_simple(prop)
    axioms = [
        axiom("irreflexive", prop),
        *_entailed(ontology, axiom("link", individual, prop, individual), steps),
    ]
    return Clash(tuple(axioms), ontology.chance.one(axioms))


def _disjoint_properties(ontology: Draft, steps: int) -> Clash:
    prop, other_prop, individual, other = (
        ontology.fresh("p"),
        ontology.fresh("p"),
        ontology.fresh("i"),
        ontology.fresh("i"),
    )
    ontology.only_simple(prop)
    ontology.only_simple(other_prop)
    axioms = [
        axiom("disjoint-properties", prop, other_prop),
        *_entailed(ontology, axiom("link", individual, prop, other), steps),
        *_entailed(ontology, axiom("link", individual, other_prop, other), steps // 2),
    ]
    return Clash(tuple(axioms), ontology.chance.one(axioms))


def _functional(ontology: Draft, steps: int) -> Clash:
    prop, owner, individual, other = (
        ontology.fresh("p"),
        ontology.fresh("i"),
        ontology.fresh("i"),
        ontology.fresh("i"),
    )
    ontology.only_simple(prop)
    axioms = [
        axiom("functional", prop),
        axiom("different", *ontology.chance.shuffled([individual, other])),
        *_entailed(ontology, axiom("link", owner, prop, individual), steps),
        *_entailed(ontology, axiom("link", owner, prop, other), steps // 2),
    ]
    return Clash(tuple(axioms), ontology.chance.one(axioms))


def _most(ontology: Draft, steps: int) -> Clash:
    owner_class, prop, owner = ontology.fresh("c"), ontology.fresh("p"), ontology.fresh("i")
    individual, other = ontology.fresh("i"), ontology.fresh("i")
    ontology.only_simple(prop)
    axioms = [
        axiom("most", owner_class, prop),
        axiom("different", *ontology.chance.shuffled([individual, other])),
        *_entailed(ontology, axiom("type", owner, owner_class), steps),
        axiom("link", owner, prop, individual),
        axiom("link", owner, prop, other),
    ]
    return Clash(tuple(axioms), ontology.chance.one(axioms))


_CLASHES: Final[dict[str, Callable[[Draft, int], Clash]]] = {
    "disjoint": _disjoint,
    "complement": _complement,
    "asymmetric": _asymmetric,
    "irreflexive": _irreflexive,
    "disjoint-properties": _disjoint_properties,
    "functional": _functional,
    "most": _most,
}
