# SPDX-License-Identifier: Apache-2.0
"""OwlRepairWorld: make a generated ontology consistent by removing as few axioms as possible.

The reasoner (:mod:`kgbench.reasoning`) checks the kept axioms. A clash consists of a derivation of
a fact and one or two contradictions of it. The clashes of an ontology share no axioms, so each of
them requires a removal. The number of clashes is therefore the smallest number of removals,
provided that one removal per clash is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    OWL,
    RDF,
    RDFS,
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
)
from kgbench.families.comparing import readable
from kgbench.families.ontology_answers import answer_axioms, fenced, parse_lines
from kgbench.reasoning.closure import Closure
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import ONTOLOGY, Axiom, axiom, document, in_short, is_regular, triples
from kgbench.worlds.ontologies import Draft, Recipe
from kgbench.worlds.owl_cases import add_noise, drawn_again, proves


class Inconsistent(NamedTuple):
    """An inconsistent ontology, and a smallest set of axioms whose removal makes it consistent."""

    axioms: tuple[Axiom, ...]
    removed: tuple[Axiom, ...]


class Clash(NamedTuple):
    """Axioms that are inconsistent together; removing ``key`` makes them consistent."""

    axioms: tuple[Axiom, ...]
    key: Axiom


@drawn_again("faults")
def inconsistent(ontology: Draft, recipe: Recipe) -> Inconsistent | None:
    """Draw an inconsistent ontology."""
    steps = max(1, recipe.steps // recipe.clashes)
    clashes: list[Clash] = []
    for _ in range(recipe.clashes):
        kinds = [kind for kind in (*_OF_CLASSES, *_OF_LINKS) if kind in recipe.kinds]
        kind = ontology.chance.one(kinds)
        clashes.append((_of_links if kind in _OF_LINKS else _of_classes)(ontology, steps, kind))
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


_OF_CLASSES: Final = ("disjoint", "complement")


def _of_classes(ontology: Draft, steps: int, kind: str) -> Clash:
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


_OF_LINKS: Final = {
    "asymmetric": ("sij", "asymmetric s", "i s j", "j s i"),
    "irreflexive": ("si", "irreflexive s", "i s i", ""),
    "disjoint-properties": ("stij", "disjoint-properties s t", "i s j", "i t j"),
    "functional": ("sijk", "functional s", "i s j", "i s k"),
    "most": ("csijk", "most c s", "i c", "i s j, i s k"),
}
"""Letters of names, an axiom, and facts against it: one with a derivation, and others."""


def _of_links(ontology: Draft, steps: int, kind: str) -> Clash:
    """Draw facts that contradict an axiom about a property."""
    letters, rule, derived, others = _OF_LINKS[kind]
    names = ontology.named(letters, {})
    axioms = in_short(rule, names)
    if "k" in names:
        axioms.append(axiom("different", *ontology.chance.shuffled([names["j"], names["k"]])))
    for goal in in_short(derived, names):
        axioms += _entailed(ontology, goal, steps)
    for goal in in_short(others, names):
        axioms += [goal] if kind == "most" else _entailed(ontology, goal, steps // 2)
    return Clash(tuple(axioms), ontology.chance.one(axioms))


_SHORT: Final = {ONTOLOGY: "o:", str(OWL): "owl:", str(RDFS): "rdfs:", str(RDF): "rdf:"}


class OwlRepairWorld(DrawnFamily, TurtleFamily):
    """Inconsistent ontologies."""

    shows = ("ontology",)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw an inconsistent ontology, and the axioms that are to be removed."""
        names, level = task.parameters["names"], task.parameters["level"]
        exercise = inconsistent(owl_cases.seed_of(seed), names, level, number)
        return {
            "version": owl_cases.VERSION,
            "ontology": document(exercise.axioms),
            "axioms": [axiom.turtle for axiom in exercise.axioms],
            "removed": [axiom.turtle for axiom in exercise.axioms if axiom in exercise.removed],
        }

    def score(self, case: Case, answer: Iterable[ox.Triple] | None, executor: Executor) -> Score:
        """Check the axioms that an answer keeps, and count removed and added ones."""
        kept, added = answer_axioms(case, answer or ())
        infos = {"kept": len(kept), "added": added}
        scores = {"consistent": 0.0, "repair": 0.0, "exact": 0.0}
        if not kept:
            none = partial(self.feedback, "no-axioms", "format")
            return Score(scores, infos, usable=False, feedback=none)
        closure = Closure(parse_lines(kept))
        if not closure.consistent:
            return Score(scores, infos, feedback=partial(self._inconsistent, closure))
        least = len(case.data["removed"])
        changed = len(case.data["axioms"]) - len(kept) + added
        scores |= {
            "consistent": 1.0,
            "repair": least / changed,
            "exact": float(changed == least),
            "needless": float(changed - least),
        }
        return Score(scores, infos)

    def reference(self, case: Case) -> str:
        """Return the ontology made consistent by the fewest removals."""
        kept = [line for line in case.data["axioms"] if line not in case.data["removed"]]
        return fenced(reversed(kept))

    def _inconsistent(self, closure: Closure) -> Feedback:
        """Return the feedback on an inconsistency: a rule and its premises."""
        assert closure.clash is not None
        rule, premises = closure.clash
        lines = (f"* {' '.join(map(_shown, premise))}" for premise in premises)
        return self.feedback("inconsistent", rule=rule, premises="\n".join(lines))


family: Final = OwlRepairWorld(__file__)


def _shown(term: str) -> str:
    """Return a term of a closure in readable form, with prefixes; blank nodes without labels."""
    return "[]" if term.startswith("_:") else readable(term, _SHORT)
