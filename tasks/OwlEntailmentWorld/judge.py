# SPDX-License-Identifier: Apache-2.0
"""OwlEntailmentWorld: select the statements that a generated ontology entails.

Entailment is defined by the rules of OWL 2 RL (:mod:`kgbench.reasoning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from random import Random
from typing import Final

import pyoxigraph as ox

from kgbench.api import (
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
    compare,
)
from kgbench.families.ontology_answers import axiom_labels, fenced, parse_lines
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import document


class OwlEntailmentWorld(DrawnFamily, TurtleFamily):
    """Ontologies with statements, some of which they entail."""

    shows = ("ontology", "statements")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw an ontology and statements."""
        names, level = task.parameters["names"], task.parameters["level"]
        exercise = owl_cases.entailments(owl_cases.seed_of(seed), names, level, number)
        statements = exercise.statements
        return {
            "version": owl_cases.VERSION,
            "ontology": document(exercise.axioms),
            "statements": [one.turtle for one in statements],
            "entailed": [one.turtle for one in statements if one in exercise.entailed],
        }

    def score(self, case: Case, answer: Iterable[ox.Triple] | None, executor: Executor) -> Score:
        """Compare the statements of an answer with the entailed ones."""
        offered, entailed = (_labels(case.data[name]) for name in ("statements", "entailed"))
        given = axiom_labels(answer or ())
        compared = compare(entailed, given)
        wrong = offered - entailed
        refrained = len(wrong - given) / len(wrong)
        asked = len(given & offered) / len(given) if given else 0.0
        scores = {
            **compared.agreement.named(),
            "informedness": max(0.0, compared.agreement.recall + refrained * asked - 1),
            "exact": compared.exact,
        }
        usable = bool(given & offered)

        def feedback() -> Feedback | None:
            return None if usable else self.feedback("no-statements", "format")

        return Score(scores, compared.infos(), usable=usable, feedback=feedback)

    def guess(self, case: Case, chance: Random) -> str:
        """Return some of the statements at random, each choice of at least one equally often."""
        statements = case.data["statements"]
        chosen = chance.randrange(1, 2 ** len(statements))
        return fenced(s for k, s in enumerate(statements) if chosen >> k & 1)

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric, informedness, over all guesses.

        Of a choice with x of r entailed statements and y of w others, informedness is
        max(0, x / r - y / w); C(r, x) C(w, y) choices are of this kind.
        """
        r = len(case.data["entailed"])
        w = len(case.data["statements"]) - r
        total: float = sum(
            comb(r, x) * comb(w, y) * max(0.0, x / r - y / w)
            for x in range(r + 1)
            for y in range(w + 1)
        )
        return total / ((1 << r + w) - 1)

    def reference(self, case: Case) -> str:
        """Return the entailed statements."""
        return fenced(reversed(case.data["entailed"]))


family: Final = OwlEntailmentWorld(__file__)


def _labels(lines: Sequence[str]) -> set[str]:
    return axiom_labels(parse_lines(lines))
