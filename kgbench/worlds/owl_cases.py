# SPDX-License-Identifier: Apache-2.0
"""Cases about what follows from generated ontologies, with proofs by the reasoner."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.reasoning.closure import Budget, Closure, TooMuchWork, entails
from kgbench.vocab import OWL, RDF
from kgbench.worlds.axioms import ONTOLOGY, Axiom, axiom, regular, signature, triples
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import RECIPES, Derivation, Draft, Recipe, rules_of
from kgbench.worlds.vocabularies import NoMoreNames, Vocabulary

VERSION: Final = 1
"""Rises when the same seed gives other cases."""
USELESS: Final = (NoMoreNames, TooMuchWork)
"""What makes an attempt useless: names end, or too much follows."""
KEPT: Final = 256
"""Cases of a kind that are kept, because they are made again wherever they are needed."""
_TRIES: Final = 400
_AT_ONCE: Final = 4  # axioms that are misread together
_EACH: Final = 4  # statements that one misreading gives at most
_DERIVATIONS: Final = 2  # in an ontology that statements are about


class Entailments(NamedTuple):
    """Axioms with statements of which some follow from them; ``entailed`` are those that do."""

    axioms: tuple[Axiom, ...]
    statements: tuple[Axiom, ...]
    entailed: frozenset[Axiom]


class Justified(NamedTuple):
    """Axioms with a fact that follows, and some of them that entail it without one to spare."""

    axioms: tuple[Axiom, ...]
    goal: Axiom
    justification: tuple[Axiom, ...]


def draft(names: str, level: int, chance: Chance) -> Draft:
    """Return an empty ontology of a level."""
    return Draft(Vocabulary(names, chance), RECIPES[level], chance)


def seed_of(seed: int) -> str:
    """Return what stands for the seed of a plan."""
    return hashlib.sha256(str(seed).encode()).hexdigest()[:16]


@lru_cache(maxsize=KEPT)
def entailments(seed: str, names: str, level: int, number: int) -> Entailments:
    """Statements about an ontology, between a third and two thirds of which follow."""
    for chance in attempts("entailments", seed, names, level, number):
        try:
            found = _entailments(draft(names, level, chance), RECIPES[level], chance)
        except USELESS:
            continue
        if found is not None:
            return found
    raise no_case(level)


@lru_cache(maxsize=KEPT)
def justified(seed: str, names: str, level: int, number: int) -> Justified:
    """Return a fact that follows from an ontology, which does not state it."""
    for chance in attempts("justifications", seed, names, level, number):
        try:
            found = _justified(draft(names, level, chance), RECIPES[level], chance)
        except USELESS:
            continue
        if found is not None:
            return found
    raise no_case(level)


def attempts(*seed: object) -> Iterator[Chance]:
    """Chances for one case after the other, until one is good."""
    return (Chance(VERSION, "owl", *seed, attempt) for attempt in range(_TRIES))


def no_case(level: int) -> TaskError:
    """Return the error where no attempt is good."""
    return TaskError(f"no ontology of level {level} was found in {_TRIES} attempts")


def proves(axioms: Iterable[Axiom], goal: Axiom | None, budget: Budget | None = None) -> bool:
    """Return whether axioms entail a fact, or for ``None`` are inconsistent."""
    return entails(triples(axioms), None if goal is None else triple(goal), budget)


def triple(fact: Axiom) -> ox.Triple:
    """Return the triple of a fact."""
    (found,) = triples([fact])
    return found


def minimal(axioms: Sequence[Axiom], goal: Axiom | None) -> tuple[Axiom, ...]:
    """A part of axioms that entail ``goal`` (``None``: an inconsistency), with none to spare."""
    kept = list(axioms)
    for one in axioms:
        rest = [other for other in kept if other != one]
        if proves(rest, goal):
            kept = rest
    return tuple(kept)


def facts(closure: Closure, axioms: Sequence[Axiom]) -> set[Axiom]:
    """Return what a closure has about the named individuals in axioms, and they do not state."""
    names = {sort: set(of) for sort, of in signature(axioms).items()}
    found: set[Axiom] = set()
    for atom in closure.triples:
        subject, predicate, object_ = (one[1:-1].removeprefix(ONTOLOGY) for one in atom)
        if subject not in names["i"]:
            continue
        if predicate == RDF.type and object_ in names["c"]:
            found.add(axiom("type", subject, object_))
        elif predicate in names["p"] and object_ in names["i"]:
            found.add(axiom("link", subject, predicate, object_))
        elif predicate == OWL.sameAs and object_ in names["i"] and subject != object_:
            found.add(axiom("same", subject, object_))
    return found.difference(axioms)


def beside(made: Draft, axioms: Sequence[Axiom], number: int) -> tuple[Axiom, ...]:
    """Axioms with ``number`` more in an order of chance: each once, all within OWL 2 DL."""
    known = list(dict.fromkeys(axioms))
    for one in made.noise(known, number):
        if one not in known and regular([*known, one]):
            known.append(one)
    return tuple(made.chance.shuffled(known))


def _entailments(made: Draft, recipe: Recipe, chance: Chance) -> Entailments | None:
    derivations = [made.derivation(made.goal(), recipe.steps) for _ in range(_DERIVATIONS)]
    axioms = beside(made, [one for each in derivations for one in each.axioms], recipe.noise)
    closure = Closure(triples(axioms))
    if not regular(axioms) or not closure.consistent:
        return None
    true = facts(closure, axioms)
    goals = [each.goal for each in derivations if each.goal in true]
    if len(goals) < _DERIVATIONS:
        return None
    known = true.union(axioms)
    number = chance.between(recipe.statements // 3 + 1, 2 * recipe.statements // 3)
    right = [*goals, *chance.shuffled(sorted(true.difference(goals)))][:number]
    wrong = _tempting(axioms, known, recipe.statements - len(right), chance)
    statements = chance.shuffled([*right, *wrong])
    enough = recipe.statements // 3 <= len(right) and len(statements) == recipe.statements
    return Entailments(axioms, tuple(statements), frozenset(right)) if enough else None


def _tempting(
    axioms: Sequence[Axiom], known: set[Axiom], number: int, chance: Chance
) -> list[Axiom]:
    """Facts that do not follow, but would if some axioms were read in wrong ways."""
    readings = [
        axiom(kind, *(one.terms[place] for place in places))
        for one in chance.shuffled(rules_of(axioms))
        for kind, places in _MISREAD.get(one.kind, ())
    ]
    found: dict[Axiom, None] = {}
    for start in range(0, len(readings), _AT_ONCE):
        if len(found) >= number:
            break
        closure = Closure(triples([*axioms, *readings[start : start + _AT_ONCE]]))
        if closure.consistent:
            new = chance.shuffled(sorted(facts(closure, axioms).difference(known)))
            found |= dict.fromkeys(new[:_EACH])
    return list(found)[:number]


# How axioms are misread: as an axiom of which kind, with the terms at which places.
_MISREAD: Final[dict[str, tuple[tuple[str, tuple[int, ...]], ...]]] = {
    "subclass": (("subclass", (1, 0)),),
    "intersection": (("subclass", (0, 2)), ("subclass", (1, 2)), ("subclass", (2, 0))),
    "union": (("subclass", (2, 0)), ("subclass", (2, 1))),
    "disjoint": (("subclass", (0, 1)),),
    "complement": (("subclass", (0, 1)),),
    "domain": (("range", (0, 1)),),
    "range": (("domain", (0, 1)),),
    "subproperty": (("subproperty", (1, 0)), ("inverse", (0, 1))),
    "inverse": (("subproperty", (0, 1)), ("subproperty", (1, 0))),
    "symmetric": (("transitive", (0,)),),
    "transitive": (("symmetric", (0,)),),
    "chain": (("chain", (1, 0, 2)), ("subproperty", (0, 2)), ("subproperty", (1, 2))),
    "some": (("domain", (0, 2)), ("subclass", (1, 2)), ("range", (0, 1))),
    "all": (("range", (1, 2)), ("subclass", (0, 2)), ("domain", (1, 0))),
    "with": (("domain", (0, 2)), ("value", (2, 0, 1))),
    "value": (("with", (1, 2, 0)),),
    "functional": (("inverse-functional", (0,)),),
    "inverse-functional": (("functional", (0,)),),
    "most": (("functional", (1,)), ("domain", (1, 0))),
    "asymmetric": (("symmetric", (0,)),),
    "irreflexive": (("symmetric", (0,)),),
    "disjoint-properties": (("subproperty", (0, 1)),),
}


def _justified(made: Draft, recipe: Recipe, chance: Chance) -> Justified | None:
    first = made.derivation(made.goal(), recipe.steps)
    other: Derivation = made.derivation(made.goal(), recipe.steps // 2)
    axioms = beside(made, [*first.axioms, *other.axioms], recipe.noise)
    closure = Closure(triples(axioms))
    if first.goal in axioms or not regular(axioms) or not closure.consistent:
        return None
    if len(rules_of(first.axioms)) < recipe.steps or not closure.entails(triple(first.goal)):
        return None
    kept = minimal([one for one in axioms if one in first.axioms], first.goal)
    if len(rules_of(kept)) < recipe.steps:
        return None
    return Justified(axioms, first.goal, tuple(chance.shuffled(kept)))
