# SPDX-License-Identifier: Apache-2.0
"""OwlEntailmentWorld: select the statements that a generated ontology entails.

Ontologies and statements are generated from the seed of the plan
(:mod:`kgbench.worlds.owl_cases`). Entailment is defined by the rules of OWL 2 RL
(:mod:`kgbench.reasoning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from random import Random
from typing import Final

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring.agreement import compare_sets
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import document

NAME: Final = "OwlEntailmentWorld"
_MOST: Final = 50  # statements of a kind that the infos list; all are scored


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: ontologies with statements."""
    parameters = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = owl_cases.entailments(
            source, parameters["names"], parameters["level"], iteration
        )
        return {
            "version": owl_cases.VERSION,
            "ontology": document(exercise.axioms),
            "statements": [statement.turtle for statement in exercise.statements],
            "entailed": [
                statement.turtle
                for statement in exercise.statements
                if statement in exercise.entailed
            ],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the ontology and the statements."""
    statements = "\n".join(case.data["statements"])
    shown = {"ontology": case.data["ontology"], "statements": statements}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the statements in the last answer with the entailed ones."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    offered = _statement_labels(case.data["statements"])
    entailed = _statement_labels(case.data["entailed"])
    given = ontology_answers.axiom_labels(read.triples or ())
    agreement = compare_sets(entailed, given)
    wrong = offered - entailed
    refrained = len(wrong - given) / len(wrong)
    asked = len(given & offered) / len(given) if given else 0.0
    scores = {
        "answerParse": float(read.triples is not None),
        "precision": agreement.precision if given else 0.0,
        "recall": agreement.recall,
        "f1": agreement.f1,
        "informedness": max(0.0, agreement.recall + refrained * asked - 1),
        "exact": float(given == entailed),
    }
    infos: dict[str, Json] = {
        "parseError": read.error,
        "missed": sorted(entailed - given),
        "invented": sorted(given - entailed)[:_MOST],
    }
    verdict = Verdict(scores, infos, turtle_answers.outcome(answer, usable=bool(given & offered)))
    if verdict.outcome is Outcome.SCORED or len(answers) >= turtle_answers.ROUNDS:
        return verdict
    feedback = (texts.text(NAME, "feedback-no-statements.txt"), "format")
    if read.triples is None:
        feedback = read.feedback
    return Verdict(scores, infos, verdict.outcome, *feedback)


def guess(case: Case, chance: Random) -> str:
    """Return some of the statements at random, each choice of at least one with equal chance."""
    statements = case.data["statements"]
    chosen = chance.randrange(1, 2 ** len(statements))
    return ontology_answers.fenced(s for k, s in enumerate(statements) if chosen >> k & 1)


def chance_level(case: Case) -> float:
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


def reference(case: Case) -> str:
    """Return the reference answer: the entailed statements."""
    return ontology_answers.fenced(reversed(case.data["entailed"]))


def _statement_labels(lines: Sequence[str]) -> set[str]:
    return ontology_answers.axiom_labels(ontology_answers.parse_lines(lines))
