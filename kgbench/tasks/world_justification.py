# SPDX-License-Identifier: Apache-2.0
"""OwlJustificationWorld: list a minimal set of axioms that entail a statement.

Ontologies and statements are generated from the seed of the plan
(:mod:`kgbench.worlds.owl_cases`). The reasoner (:mod:`kgbench.reasoning`) checks the listed axioms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.reasoning.closure import entails
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.tasks.ontology_answers import parse_lines
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import document

NAME: Final = "OwlJustificationWorld"


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: ontologies, each with an entailed statement."""
    parameters = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = owl_cases.justified(source, parameters["names"], parameters["level"], iteration)
        return {
            "version": owl_cases.JUSTIFICATIONS_VERSION,
            "ontology": document(exercise.axioms),
            "axioms": [axiom.turtle for axiom in exercise.axioms],
            "statement": exercise.goal.turtle,
            "justification": [
                axiom.turtle for axiom in exercise.axioms if axiom in exercise.justification
            ],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the ontology and the statement."""
    shown = {name: case.data[name] for name in ("ontology", "statement")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Check that the listed axioms entail the statement, and that none of them is needless."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    given, others = ontology_answers.answer_axioms(case, read.triples or ())
    holds = bool(given) and _entails(case, given)
    needed = _minimal_axioms(case, given) if holds else ()
    spare = len(given) - len(needed)
    needless = spare + others
    scores = {
        "answerParse": float(read.triples is not None),
        "entails": float(holds),
        "minimal": float(holds and not spare),
        "onlyGiven": float(bool(given) and not others),
        "justification": _justification(len(needed), needless, len(case.data["axioms"])),
        "exact": float(holds and not spare and not others),
    }
    if holds:
        scores["needless"] = float(needless)
    infos: dict[str, Json] = {"parseError": read.error, "listed": len(given), "others": others}
    outcome = turtle_answers.outcome(answer, usable=bool(given))
    if scores["exact"] or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    if read.triples is None:
        return Verdict(scores, infos, outcome, *read.feedback)
    name = "no-axioms" if not given else "spare" if holds else "not-entailed"
    kind = "content" if given else "format"
    feedback = texts.filled(NAME, f"feedback-{name}.txt", number=str(needless))
    return Verdict(scores, infos, outcome, feedback, kind)


def reference(case: Case) -> str:
    """Return the reference answer: a justification."""
    return ontology_answers.fenced(reversed(case.data["justification"]))


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
