# SPDX-License-Identifier: Apache-2.0
"""OwlRepairWorld: make a generated ontology consistent by removing as few axioms as possible.

Ontologies and their inconsistencies are generated from the seed of the plan
(:mod:`kgbench.worlds.owl_faults`). The reasoner (:mod:`kgbench.reasoning`) checks the kept axioms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.reasoning.closure import Closure
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds import owl_cases, owl_faults
from kgbench.worlds.axioms import ONTOLOGY, document

NAME: Final = "OwlRepairWorld"
_SHORT: Final = {ONTOLOGY: "o:", str(OWL): "owl:", str(RDFS): "rdfs:", str(RDF): "rdf:"}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: inconsistent ontologies."""
    parameters = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = owl_faults.inconsistent(
            source, parameters["names"], parameters["level"], iteration
        )
        return {
            "version": owl_cases.VERSION,
            "ontology": document(exercise.axioms),
            "axioms": [axiom.turtle for axiom in exercise.axioms],
            "removed": [axiom.turtle for axiom in exercise.axioms if axiom in exercise.removed],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the ontology."""
    return texts.filled(NAME, "prompt.txt", ontology=case.data["ontology"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Check the axioms that the last answer keeps, and count removed and added ones."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    kept, added = ontology_answers.answer_axioms(case, read.triples or ())
    infos: dict[str, Json] = {"parseError": read.error, "kept": len(kept), "added": added}
    outcome = turtle_answers.outcome(answer, usable=bool(kept))
    goes_on = len(answers) < turtle_answers.ROUNDS
    scores = {
        "answerParse": float(read.triples is not None),
        "consistent": 0.0,
        "repair": 0.0,
        "exact": 0.0,
    }
    if not kept:
        feedback = (texts.text(NAME, "feedback-no-axioms.txt"), "format")
        if read.triples is None:
            feedback = read.feedback
        return Verdict(scores, infos, outcome, *(feedback if goes_on else (None, None)))
    closure = Closure(ontology_answers.parse_lines(kept))
    least = len(case.data["removed"])
    changed = len(case.data["axioms"]) - len(kept) + added
    if not closure.consistent:
        feedback = (_inconsistency_feedback(closure), "content")
        return Verdict(scores, infos, Outcome.SCORED, *(feedback if goes_on else (None, None)))
    scores |= {
        "consistent": 1.0,
        "needless": float(changed - least),
        "repair": least / changed,
        "exact": float(changed == least),
    }
    return Verdict(scores, infos, Outcome.SCORED)


def reference(case: Case) -> str:
    """Return the reference answer: the ontology made consistent by the fewest removals."""
    kept = [line for line in case.data["axioms"] if line not in case.data["removed"]]
    return ontology_answers.fenced(reversed(kept))


def _inconsistency_feedback(closure: Closure) -> str:
    """Return the feedback on an inconsistency."""
    assert closure.clash is not None
    rule, premises = closure.clash
    lines = "\n".join(f"* {' '.join(map(_readable, premise))}" for premise in premises)
    return texts.filled(NAME, "feedback-inconsistent.txt", rule=rule, premises=lines)


def _readable(term: str) -> str:
    """Return a term of a closure in readable form, with prefixes; blank nodes without labels."""
    if term.startswith("_:"):
        return "[]"
    for iri, prefix in _SHORT.items():
        if term.startswith(f"<{iri}"):
            return prefix + term[len(iri) + 1 : -1]
    return term
