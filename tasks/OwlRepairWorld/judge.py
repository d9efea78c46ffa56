# SPDX-License-Identifier: Apache-2.0
"""OwlRepairWorld: make a generated ontology consistent by removing as few axioms as possible.

The reasoner (:mod:`kgbench.reasoning`) checks the kept axioms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import pyoxigraph as ox

from kgbench.families.comparing import readable
from kgbench.families.frame import DrawnFamily, Feedback, Score, TurtleFamily
from kgbench.families.ontology_answers import answer_axioms, fenced, parse_lines
from kgbench.model import Case, Executor, Json, Task
from kgbench.reasoning.closure import Closure
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import ONTOLOGY, document

from .cases import inconsistent

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
