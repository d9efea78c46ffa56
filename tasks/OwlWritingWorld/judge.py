# SPDX-License-Identifier: Apache-2.0
"""OwlWritingWorld: write axioms for sentences, judged by what they entail together with facts.

In turn, the sentences must entail each axiom of the answer. The reasoner
(:mod:`kgbench.reasoning`) has a limit of steps for all probes and axioms of an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import pyoxigraph as ox

from kgbench.families.frame import DrawnFamily, Feedback, Score, TurtleFamily
from kgbench.families.ontology_answers import fenced, has_axioms, parse_lines
from kgbench.model import Case, Executor, Json, Task
from kgbench.reasoning import implications
from kgbench.reasoning.closure import MOST_STEPS, Budget, Closure, TooMuchWork
from kgbench.scoring.agreement import Discrimination, discrimination
from kgbench.worlds import owl_cases
from kgbench.worlds.axioms import declarations, signature
from kgbench.worlds.ontologies import label_lines

from .cases import VERSION, sentences

_NOTHING: Final = dict.fromkeys(
    ("consistent", "precision", "entailed", "refrained", "balancedAccuracy", "informedness"), 0.0
)
_SHOWN: Final = 10  # axioms that the infos of a verdict list
_LONGEST: Final = 500  # characters of such an axiom


class OwlWritingWorld(DrawnFamily, TurtleFamily):
    """Sentences that are to be written as axioms, with probes of what these entail."""

    shows = ("labels", "declarations")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a set of sentences with their axioms and probes."""
        names, level = task.parameters["names"], task.parameters["level"]
        exercise = sentences(owl_cases.seed_of(seed), names, level, number)
        return {
            "version": VERSION,
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

    def prompt(self, case: Case) -> str:
        """Return the prompt: the names with their labels, and the numbered sentences."""
        numbered = (f"{n}. {words}" for n, words in enumerate(case.data["sentences"], 1))
        shown = {name: "\n".join(case.data[name]) for name in self.shows}
        return self.text("prompt", sentences="\n".join(numbered), **shown)

    def score(self, case: Case, answer: Sequence[ox.Triple] | None, executor: Executor) -> Score:
        """Test the axioms of an answer."""
        infos: dict[str, Json] = {"reasoningError": None}
        if not answer or not has_axioms(answer):
            none = partial(self.feedback, "no-axioms", "format")
            return Score(_NOTHING, infos, usable=False, feedback=none)
        budget = Budget(MOST_STEPS)
        try:
            alone = Closure(answer, budget=budget)
            proved = [*_proved(case, answer, budget)]
            tested = _test_probes(case, alone)
        except TooMuchWork as error:
            message = infos["reasoningError"] = str(error)
            much = partial(self.feedback, "too-much", message=message)
            return Score(_NOTHING, infos, usable=False, feedback=much)
        unsaid = [triple for triple, follows in proved if not follows]
        precision = (len(proved) - len(unsaid)) / len(proved) if proved else 0.0
        result = Discrimination(tested.accepted * precision, tested.by_component)
        scores = {
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

        def feedback() -> Feedback | None:
            return None if alone.consistent else self.feedback("inconsistent")

        return Score(scores, infos, feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the axioms that express the sentences."""
        return fenced([*case.data["declarations"], *case.data["axioms"]])


family: Final = OwlWritingWorld(__file__)


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
