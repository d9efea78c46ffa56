# SPDX-License-Identifier: Apache-2.0
"""OwlRepairWorld: make a generated ontology consistent by removing as few axioms as possible.

Ontologies and their inconsistencies follow from the seed of the plan
(:mod:`kgbench.worlds.owl_faults`). The reasoner (:mod:`kgbench.reasoning`) tries what is kept.
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
    """``count`` inconsistent ontologies."""
    chosen = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        found = owl_faults.inconsistent(source, chosen["names"], chosen["level"], iteration)
        return {
            "version": owl_cases.VERSION,
            "ontology": document(found.axioms),
            "axioms": [one.turtle for one in found.axioms],
            "removed": [one.turtle for one in found.axioms if one in found.removed],
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The ontology."""
    return texts.filled(NAME, "prompt.txt", ontology=case.data["ontology"])


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Try the axioms that the last answer keeps, and count those that it removes and adds."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    kept, added = ontology_answers.named(case, read.triples or ())
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
        said = (texts.text(NAME, "feedback-no-axioms.txt"), "format")
        if read.triples is None:
            said = read.feedback
        return Verdict(scores, infos, outcome, *(said if goes_on else (None, None)))
    closure = Closure(ontology_answers.parsed(kept))
    least = len(case.data["removed"])
    changed = len(case.data["axioms"]) - len(kept) + added
    if not closure.consistent:
        said = (_told(closure), "content")
        return Verdict(scores, infos, Outcome.SCORED, *(said if goes_on else (None, None)))
    scores |= {
        "consistent": 1.0,
        "needless": float(changed - least),
        "repair": least / changed,
        "exact": float(changed == least),
    }
    return Verdict(scores, infos, Outcome.SCORED)


def reference(case: Case) -> str:
    """The ontology without as few axioms as make it consistent."""
    kept = [line for line in case.data["axioms"] if line not in case.data["removed"]]
    return ontology_answers.fenced(reversed(kept))


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    turtle_answers.prepare()


def _told(closure: Closure) -> str:
    """The feedback about an inconsistency."""
    assert closure.clash is not None
    rule, premises = closure.clash
    lines = "\n".join(f"* {' '.join(map(_short, one))}" for one in premises)
    return texts.filled(NAME, "feedback-inconsistent.txt", rule=rule, premises=lines)


def _short(term: str) -> str:
    """A term of a closure as people read it; names of blank nodes say nothing."""
    if term.startswith("_:"):
        return "[]"
    for iri, prefix in _SHORT.items():
        if term.startswith(f"<{iri}"):
            return prefix + term[len(iri) + 1 : -1]
    return term
