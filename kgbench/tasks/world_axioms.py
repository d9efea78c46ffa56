# SPDX-License-Identifier: Apache-2.0
"""OwlWritingWorld: write axioms for sentences, judged by what they entail together with facts.

Sentences and probes are generated from the seed of the plan (:mod:`kgbench.worlds.owl_probes`). In
turn, the sentences must entail each axiom of the answer. The reasoner (:mod:`kgbench.reasoning`)
has a limit of steps for all probes and axioms of an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.reasoning import implications
from kgbench.reasoning.closure import MOST_STEPS, Budget, Closure, TooMuchWork
from kgbench.scoring.mutation import Discrimination, discrimination
from kgbench.tasks import catalogue, ontology_answers, texts, turtle_answers
from kgbench.tasks.ontology_answers import parse_lines
from kgbench.worlds import owl_cases, owl_probes
from kgbench.worlds.axioms import declarations, signature
from kgbench.worlds.vocabularies import label_lines

NAME: Final = "OwlWritingWorld"
_NOTHING: Final = dict.fromkeys(
    ("precision", "entailed", "refrained", "balancedAccuracy", "informedness"), 0.0
)
_SHOWN: Final = 10  # axioms that the infos of a verdict list
_LONGEST: Final = 500  # characters of such an axiom


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: sets of sentences."""
    parameters = task.parameters
    source = owl_cases.seed_of(seed)

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = owl_probes.sentences(source, parameters["names"], parameters["level"], iteration)
        return {
            "version": owl_probes.VERSION,
            "sentences": exercise.words,
            "labels": label_lines(exercise.labels),
            "declarations": declarations(signature(exercise.axioms)),
            "axioms": [item.turtle for item in exercise.axioms],
            "probes": [
                {
                    "about": item.kind,
                    "facts": [fact.turtle for fact in item.facts],
                    "goal": None if item.goal is None else item.goal.turtle,
                    "follows": item.follows,
                }
                for item in exercise.probes
            ],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the names with their labels, and the sentences."""
    sentences = "\n".join(f"{n}. {words}" for n, words in enumerate(case.data["sentences"], 1))
    shown = {
        "labels": "\n".join(case.data["labels"]),
        "declarations": "\n".join(case.data["declarations"]),
        "sentences": sentences,
    }
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Test the axioms of the last answer; ask again if they are unusable or inconsistent."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    goes_on = len(answers) < turtle_answers.ROUNDS
    scores = {"answerParse": float(read.triples is not None), "consistent": 0.0, **_NOTHING}
    infos: dict[str, Json] = {"parseError": read.error, "reasoningError": None}
    if not read.triples or not ontology_answers.has_axioms(read.triples):
        feedback = (texts.text(NAME, "feedback-no-axioms.txt"), "format")
        if read.triples is None:
            feedback = read.feedback
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(feedback if goes_on else (None, None)))
    budget = Budget(MOST_STEPS)
    try:
        alone = Closure(read.triples, budget=budget)
        proved = [*_proved(case, read.triples, budget)]
        unsaid = [triple for triple, follows in proved if not follows]
        tested = _test_probes(case, alone)
    except TooMuchWork as error:
        infos["reasoningError"] = str(error)
        text = texts.filled(NAME, "feedback-too-much.txt", message=str(error))
        feedback_if_any = (text, "content") if goes_on else (None, None)
        return Verdict(scores, infos, Outcome.UNPARSABLE, *feedback_if_any)
    precision = (len(proved) - len(unsaid)) / len(proved) if proved else 0.0
    result = Discrimination(tested.accepted * precision, tested.by_component)
    scores |= {
        "consistent": float(alone.consistent),
        "precision": precision,
        "entailed": tested.refused,
        "refrained": tested.accepted,
        "balancedAccuracy": result.balanced_accuracy,
        "informedness": result.informedness,
        "exact": float(result.accepted == result.refused == 1),
    }
    infos["unsaid"] = [_shown(triple) for triple in unsaid[:_SHOWN]]
    infos["balancedAccuracyByKind"] = result.accuracies
    if alone.consistent or not goes_on:
        return Verdict(scores, infos, Outcome.SCORED)
    feedback = texts.text(NAME, "feedback-inconsistent.txt"), "content"
    return Verdict(scores, infos, Outcome.SCORED, *feedback)


def reference(case: Case) -> str:
    """Return the reference answer: the axioms that express the sentences."""
    return ontology_answers.fenced([*case.data["declarations"], *case.data["axioms"]])


def _shown(triple: ox.Triple) -> str:
    """Return a triple as text; labels of blank nodes differ between processes and say nothing."""
    terms = ("[]" if isinstance(term, ox.BlankNode) else str(term) for term in triple)
    return " ".join(terms)[:_LONGEST]


def _proved(
    case: Case, triples: Sequence[ox.Triple], budget: Budget
) -> Iterator[tuple[ox.Triple, bool]]:
    """Yield each axiom of an answer, and whether the sentences entail it."""
    sentences = Closure(parse_lines(case.data["axioms"]), budget=budget)
    names = {triple.subject for triple in parse_lines(case.data["declarations"])}
    for triple, axiom in implications.axioms(triples, names, budget):
        try:
            follows = all(sentences.entails_with(facts, goal) for facts, goal in axiom)
        except implications.NoImplications:
            follows = False
        yield triple, follows


def _test_probes(case: Case, axioms: Closure) -> Discrimination:
    """Check for each probe whether axioms and facts entail its goal, as they should or not."""
    refrained: list[bool] = []
    missed: list[tuple[str, bool]] = []
    for probe in case.data["probes"]:
        goal = None if probe["goal"] is None else parse_lines([probe["goal"]])[0]
        follows = axioms.entails_with(parse_lines(probe["facts"]), goal)
        if probe["follows"]:
            missed.append((probe["about"], not follows))
        else:
            refrained.append(not follows)
    return discrimination(refrained, missed)
