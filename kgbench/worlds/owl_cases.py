# SPDX-License-Identifier: Apache-2.0
"""Cases about entailment from generated ontologies, checked by the reasoner."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.reasoning.closure import Budget, Closure, TooMuchWork, entails
from kgbench.vocab import OWL, RDF
from kgbench.worlds.axioms import ONTOLOGY, Axiom, axiom, is_regular, signature, triples
from kgbench.worlds.naming import Chance
from kgbench.worlds.ontologies import (
    RECIPES,
    Derivation,
    Draft,
    NoMoreNames,
    Recipe,
    Vocabulary,
    rules_of,
)

VERSION: Final = 1
"""Rises when the same seed gives other cases, except justifications."""
JUSTIFICATIONS_VERSION: Final = 2
"""Rises when the same seed gives other cases about justifications."""
_CACHED: Final = 256  # cases of a kind
_TRIES: Final = 400
_AT_ONCE: Final = 4  # misread axioms in one closure
_EACH: Final = 4  # most statements from one such closure
Drawn = TypeVar("Drawn")
_DERIVATIONS: Final = 2  # in an ontology with statements to be judged


class Entailments(NamedTuple):
    """Axioms with statements, of which the axioms entail those in ``entailed``."""

    axioms: tuple[Axiom, ...]
    statements: tuple[Axiom, ...]
    entailed: frozenset[Axiom]


class Justified(NamedTuple):
    """Axioms with a fact that they entail, and the only minimal subset that entails it."""

    axioms: tuple[Axiom, ...]
    goal: Axiom
    justification: tuple[Axiom, ...]


def seed_of(seed: int) -> str:
    """Return the seed of cases for the seed of a plan."""
    return hashlib.sha256(str(seed).encode()).hexdigest()[:16]


def drawn_again(
    kind: str,
) -> Callable[[Callable[[Draft, Recipe], Drawn | None]], Callable[[str, str, int, int], Drawn]]:
    """Decorate a function that draws a case from an empty ontology, or ``None`` if it fails.

    The decorated one takes the seed, the kind of names, the level and the number of a case, and
    draws until a case is sound. It raises :class:`~kgbench.errors.TaskError` if none is.
    """

    def decorate(
        draw: Callable[[Draft, Recipe], Drawn | None],
    ) -> Callable[[str, str, int, int], Drawn]:
        @lru_cache(maxsize=_CACHED)
        def drawn(seed: str, names: str, level: int, number: int) -> Drawn:
            for attempt in range(_TRIES):
                chance = Chance(VERSION, "owl", kind, seed, names, level, number, attempt)
                recipe = RECIPES[level]
                # Names may run out, or the closure be too large.
                with suppress(NoMoreNames, TooMuchWork):
                    case = draw(Draft(Vocabulary(names, chance), recipe, chance), recipe)
                    if case is not None:
                        return case
            raise TaskError(f"no ontology of level {level} was found in {_TRIES} attempts")

        return drawn

    return decorate


def proves(axioms: Iterable[Axiom], goal: Axiom | None, budget: Budget | None = None) -> bool:
    """Return whether axioms entail a fact, or, if ``goal`` is ``None``, are inconsistent."""
    return entails(triples(axioms), None if goal is None else triple(goal), budget)


def triple(fact: Axiom) -> ox.Triple:
    """Return the triple of a fact."""
    (result,) = triples([fact])
    return result


def facts(closure: Closure, axioms: Sequence[Axiom]) -> set[Axiom]:
    """Return the facts of a closure about named individuals that the axioms do not state."""
    names = {sort: set(of) for sort, of in signature(axioms).items()}
    result: set[Axiom] = set()
    for atom in closure.triples:
        subject, predicate, object_ = (term[1:-1].removeprefix(ONTOLOGY) for term in atom)
        if subject not in names["i"]:
            continue
        if predicate == RDF.type and object_ in names["c"]:
            result.add(axiom("type", subject, object_))
        elif predicate in names["p"] and object_ in names["i"]:
            result.add(axiom("link", subject, predicate, object_))
        elif predicate == OWL.sameAs and object_ in names["i"] and subject != object_:
            result.add(axiom("same", subject, object_))
    return result.difference(axioms)


def add_noise(ontology: Draft, axioms: Sequence[Axiom], number: int) -> tuple[Axiom, ...]:
    """Add up to ``number`` unrelated axioms within OWL 2 DL, and return all in random order."""
    result = list(dict.fromkeys(axioms))
    for noise_axiom in ontology.noise(result, number):
        if noise_axiom not in result and is_regular([*result, noise_axiom]):
            result.append(noise_axiom)
    return tuple(ontology.chance.shuffled(result))


@drawn_again("entailments")
def entailments(ontology: Draft, recipe: Recipe) -> Entailments | None:
    """Draw statements about an ontology, of which it entails between a third and two thirds."""
    chance = ontology.chance
    derivations = [ontology.derivation(ontology.goal(), recipe.steps) for _ in range(_DERIVATIONS)]
    stated = [stated_axiom for derivation in derivations for stated_axiom in derivation.axioms]
    axioms = add_noise(ontology, stated, recipe.noise)
    closure = Closure(triples(axioms))
    if not is_regular(axioms) or not closure.consistent:
        return None
    true = facts(closure, axioms)
    goals = [derivation.goal for derivation in derivations if derivation.goal in true]
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
    """Return facts that do not follow, but would if some axioms were misread."""
    readings = [
        axiom(kind, *(rule.terms[index] for index in indexes))
        for rule in chance.shuffled(rules_of(axioms))
        for kind, indexes in _MISREAD.get(rule.kind, ())
    ]
    result: dict[Axiom, None] = {}
    for start in range(0, len(readings), _AT_ONCE):
        if len(result) >= number:
            break
        closure = Closure(triples([*axioms, *readings[start : start + _AT_ONCE]]))
        if closure.consistent:
            new = chance.shuffled(sorted(facts(closure, axioms).difference(known)))
            result |= dict.fromkeys(new[:_EACH])
    return list(result)[:number]


# Misreadings of axioms: the kind of the misread axiom, and the indexes of its terms.
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


@drawn_again("justifications")
def justified(ontology: Draft, recipe: Recipe) -> Justified | None:
    """Draw a fact that follows from an ontology without being stated in it."""
    first = ontology.derivation(ontology.goal(), recipe.steps)
    other: Derivation = ontology.derivation(ontology.goal(), recipe.steps // 2)
    axioms = add_noise(ontology, [*first.axioms, *other.axioms], recipe.noise)
    closure = Closure(triples(axioms))
    if first.goal in axioms or not is_regular(axioms) or not closure.consistent:
        return None
    if len(rules_of(first.axioms)) < recipe.steps or not closure.entails(triple(first.goal)):
        return None
    # Other axioms may allow a short cut. The axioms that cannot be left out are the only
    # justification if they entail the fact.
    necessary = [
        candidate
        for candidate in axioms
        if candidate in first.axioms
        and not proves([other for other in axioms if other != candidate], first.goal)
    ]
    if len(rules_of(necessary)) < recipe.steps or not proves(necessary, first.goal):
        return None
    return Justified(axioms, first.goal, tuple(ontology.chance.shuffled(necessary)))
