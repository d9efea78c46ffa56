# SPDX-License-Identifier: Apache-2.0
"""OwlEntailmentWorld: say which statements follow from a generated ontology.

Ontologies and statements follow from the seed of the plan (:mod:`kgbench.worlds.owl_cases`). What
follows is what the rules of OWL 2 RL say (:mod:`kgbench.reasoning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring.agreement import compare_sets
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import document

NAME: Final = "OwlEntailmentWorld"
_MOST: Final = 50  # statements of a kind that the infos list; all are scored


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` ontologies with statements."""
    chosen = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        found = owl_cases.entailments(source, chosen["names"], chosen["level"], iteration)
        return {
            "version": owl_cases.VERSION,
            "ontology": document(found.axioms),
            "statements": [one.turtle for one in found.statements],
            "entailed": [one.turtle for one in found.statements if one in found.entailed],
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The ontology and the statements."""
    statements = "\n".join(case.data["statements"])
    shown = {"ontology": case.data["ontology"], "statements": statements}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the statements in the last answer with those that follow."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    offered = _told(case.data["statements"])
    right = _told(case.data["entailed"])
    found = ontology_answers.labels(read.triples or ())
    agreement = compare_sets(right, found)
    wrong = offered - right
    refrained = len(wrong - found) / len(wrong)
    scores = {
        "answerParse": float(read.triples is not None),
        "precision": agreement.precision if found else 0.0,
        "recall": agreement.recall,
        "f1": agreement.f1,
        "informedness": max(0.0, agreement.recall + refrained - 1) if found else 0.0,
        "exact": float(found == right),
    }
    infos: dict[str, Json] = {
        "parseError": read.error,
        "missed": sorted(right - found),
        "invented": sorted(found - right)[:_MOST],
    }
    verdict = Verdict(scores, infos, turtle_answers.outcome(answer, usable=bool(found & offered)))
    if verdict.outcome is Outcome.SCORED or len(answers) >= turtle_answers.ROUNDS:
        return verdict
    said = (texts.text(NAME, "feedback-no-statements.txt"), "format")
    if read.triples is None:
        said = read.feedback
    return Verdict(scores, infos, verdict.outcome, *said)


def reference(case: Case) -> str:
    """The statements that follow."""
    return ontology_answers.fenced(reversed(case.data["entailed"]))


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    turtle_answers.prepare()


def _told(lines: Sequence[str]) -> set[str]:
    return ontology_answers.labels(ontology_answers.parsed(lines))
