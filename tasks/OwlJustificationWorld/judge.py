# SPDX-License-Identifier: Apache-2.0
"""OwlJustificationWorld: list a minimal set of axioms that entail a statement.

The reasoner (:mod:`kgbench.reasoning`) checks the listed axioms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.api import Case, DrawnFamily, Executor, Feedback, Json, Score, Task, TurtleFamily
from kgbench.families.ontology_answers import answer_axioms, fenced, parse_lines
from kgbench.reasoning.closure import entails
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import document


class OwlJustificationWorld(DrawnFamily, TurtleFamily):
    """Ontologies, each with an entailed statement."""

    shows = ("ontology", "statement")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw an ontology, a statement and its justification."""
        names, level = task.parameters["names"], task.parameters["level"]
        exercise = owl_cases.justified(owl_cases.seed_of(seed), names, level, number)
        axioms = exercise.axioms
        return {
            "version": owl_cases.JUSTIFICATIONS_VERSION,
            "ontology": document(axioms),
            "axioms": [axiom.turtle for axiom in axioms],
            "statement": exercise.goal.turtle,
            "justification": [axiom.turtle for axiom in axioms if axiom in exercise.justification],
        }

    def score(self, case: Case, answer: Iterable[ox.Triple] | None, executor: Executor) -> Score:
        """Check that the listed axioms entail the statement, and that none of them is needless."""
        given, others = answer_axioms(case, answer or ())
        holds = bool(given) and _entails(case, given)
        needed = _minimal_axioms(case, given) if holds else ()
        spare = len(given) - len(needed)
        needless = spare + others
        scores = {
            "entails": float(holds),
            "minimal": float(holds and not spare),
            "onlyGiven": float(bool(given) and not others),
            "justification": _justification(len(needed), needless, len(case.data["axioms"])),
            "exact": float(holds and not spare and not others),
        }
        if holds:
            scores["needless"] = float(needless)

        def feedback() -> Feedback:
            if not given:
                return self.feedback("no-axioms", "format")
            return self.feedback("spare" if holds else "not-entailed", number=str(needless))

        infos = {"listed": len(given), "others": others}
        return Score(scores, infos, usable=bool(given), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return a justification."""
        return fenced(reversed(case.data["justification"]))


family: Final = OwlJustificationWorld(__file__)


def _justification(needed: int, needless: int, known: int) -> float:
    """Return the score of an answer from the numbers of its axioms and those of the ontology.

    The whole ontology has 0, as an answer that does not entail the statement (with none needed).

    >>> [_justification(4, needless, 8) for needless in (0, 2, 4)]
    [1.0, 0.3333333333333333, 0.0]
    """
    if not needless:
        return float(needed > 0)
    left_out = max(0.0, 1 - needless / (known - needed)) if known > needed else 0.0
    return needed / (needed + needless) * left_out


def _entails(case: Case, axioms: Sequence[str]) -> bool:
    (statement,) = parse_lines([case.data["statement"]])
    return entails(parse_lines(axioms), statement)


def _minimal_axioms(case: Case, axioms: Sequence[str]) -> tuple[str, ...]:
    """Return the axioms that remain when needless ones are removed one by one."""
    kept = list(axioms)
    for axiom in axioms:
        remaining = [other for other in kept if other != axiom]
        if _entails(case, remaining):
            kept = remaining
    return tuple(kept)
