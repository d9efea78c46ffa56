# SPDX-License-Identifier: Apache-2.0
"""OwlWritingWorld: write axioms for sentences, judged by what follows from them and facts.

Sentences and probes follow from the seed of the plan (:mod:`kgbench.worlds.owl_probes`). The
reasoner (:mod:`kgbench.reasoning`) has a limit of steps for all probes of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.reasoning.closure import MOST_STEPS, Budget, Closure, TooMuchWork, entails
from kgbench.scoring.mutation import Discrimination, discrimination
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.tasks.ontology_answers import parsed
from kgbench.worlds import owl_cases, owl_probes
from kgbench.worlds.axioms import declarations, signature
from kgbench.worlds.vocabularies import readable

NAME: Final = "OwlWritingWorld"
_NOTHING: Final = {"entailed": 0.0, "refrained": 0.0, "balancedAccuracy": 0.0, "informedness": 0.0}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` sets of sentences."""
    chosen = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        found = owl_probes.sentences(source, chosen["names"], chosen["level"], iteration)
        return {
            "version": owl_cases.VERSION,
            "sentences": found.words,
            "labels": readable(found.labels),
            "declarations": declarations(signature(found.axioms)),
            "axioms": [one.turtle for one in found.axioms],
            "probes": [
                {
                    "about": one.about,
                    "facts": [fact.turtle for fact in one.facts],
                    "goal": None if one.goal is None else one.goal.turtle,
                    "follows": one.follows,
                }
                for one in found.probes
            ],
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The names with their labels, and the sentences."""
    said = "\n".join(f"{n}. {words}" for n, words in enumerate(case.data["sentences"], 1))
    shown = {
        "labels": "\n".join(case.data["labels"]),
        "declarations": "\n".join(case.data["declarations"]),
        "sentences": said,
    }
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Try the axioms of the last answer; ask again where they cannot be used."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    goes_on = len(answers) < turtle_answers.ROUNDS
    scores = {"answerParse": float(read.triples is not None), "consistent": 0.0, **_NOTHING}
    infos: dict[str, Json] = {"parseError": read.error, "reasoningError": None}
    if not read.triples or not ontology_answers.says_something(read.triples):
        said = (texts.text(NAME, "feedback-no-axioms.txt"), "format")
        if read.triples is None:
            said = read.feedback
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(said if goes_on else (None, None)))
    budget = Budget(MOST_STEPS)
    try:
        alone = Closure(read.triples, budget=budget)
        found = _tried(case, read.triples, budget)
    except TooMuchWork as error:
        infos["reasoningError"] = str(error)
        text = texts.filled(NAME, "feedback-too-much.txt", message=str(error))
        told = (text, "content") if goes_on else (None, None)
        return Verdict(scores, infos, Outcome.UNPARSABLE, *told)
    scores |= {
        "consistent": float(alone.consistent),
        "entailed": found.refused,
        "refrained": found.accepted,
        "balancedAccuracy": found.balanced_accuracy,
        "informedness": found.informedness,
        "exact": float(found.accepted == found.refused == 1),
    }
    infos["balancedAccuracyByKind"] = found.accuracies
    if alone.consistent or not goes_on:
        return Verdict(scores, infos, Outcome.SCORED)
    said = texts.text(NAME, "feedback-inconsistent.txt"), "content"
    return Verdict(scores, infos, Outcome.SCORED, *said)


def reference(case: Case) -> str:
    """The axioms that say the same as the sentences."""
    return ontology_answers.fenced([*case.data["declarations"], *case.data["axioms"]])


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    turtle_answers.prepare()


def _tried(case: Case, axioms: Sequence[ox.Triple], budget: Budget) -> Discrimination:
    """What follows from axioms and the facts of each probe."""
    refrained: list[bool] = []
    missed: list[tuple[str, bool]] = []
    for probe in case.data["probes"]:
        goal = None if probe["goal"] is None else parsed([probe["goal"]])[0]
        follows = entails([*axioms, *parsed(probe["facts"])], goal, budget)
        if probe["follows"]:
            missed.append((probe["about"], not follows))
        else:
            refrained.append(not follows)
    return discrimination(refrained, missed)
