# SPDX-License-Identifier: Apache-2.0
"""Text2ShaclWorld: write shapes for rules in words, judged by conforming and violating graphs.

Rules and graphs are generated from the seed of the plan (:mod:`kgbench.worlds.shape_trials`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring.mutation import Discrimination, discrimination
from kgbench.tasks import catalogue, texts, turtle_answers
from kgbench.tasks.graphs import world_schema
from kgbench.validation import IllFormedShapes
from kgbench.validation.foreign import ForeignShapes
from kgbench.worlds import generator, shape_cases, shape_trials
from kgbench.worlds.generator import world_of
from kgbench.worlds.model import load_model

NAME: Final = "Text2ShaclWorld"
EVERYTHING, NOTHING, SOME = "refuses-everything", "refuses-nothing", "discriminates"
_NO_SCORES: Final = {"accepted": 0.0, "refused": 0.0, "balancedAccuracy": 0.0, "informedness": 0.0}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different sets of rules about the seed's world.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    parameters = task.parameters
    world = world_of(task, seed)
    sets = shape_trials.assignments(world, parameters["level"])

    def data(iteration: int) -> Mapping[str, Json]:
        draw = sets[iteration]
        rules = shape_cases.rule_set_of_draw(world, parameters["level"], draw)
        assert rules is not None
        return {
            "graphName": world.name,
            "version": shape_trials.VERSION,
            "draw": draw,
            "rules": rules.words,
            "refShapes": rules.text,
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the schema of the world, and the rules in words."""
    rules = "\n".join(f"{number}. {words}" for number, words in enumerate(case.data["rules"], 1))
    return texts.filled(NAME, "prompt.txt", schema=world_schema(_world(case)), rules=rules)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Test the shapes of the last answer; ask again if they are unusable or about no node."""
    answer = answers[-1]
    goes_on = len(answers) < turtle_answers.ROUNDS
    read = turtle_answers.read(answer, executor)
    scores = {"answerParse": float(read.triples is not None), "wellFormed": 0.0, **_NO_SCORES}
    infos: dict[str, Json] = {"parseError": read.error, "shapesError": None}
    if read.triples is None:
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(read.feedback if goes_on else (None, None)))
    try:
        shapes = ForeignShapes(read.triples)
        result = _validate_graphs(case, shapes)
    except IllFormedShapes as error:
        infos["shapesError"] = str(error)
        prompt_text = texts.filled(NAME, "feedback-shapes.txt", message=str(error))
        feedback = (prompt_text, "content") if goes_on else (None, None)
        return Verdict(scores, infos, Outcome.UNPARSABLE, *feedback)
    everything = result.accepted == 0 and result.refused == 1
    nothing = result.accepted == 1 and result.refused == 0
    scores |= {
        "wellFormed": 1.0,
        "accepted": result.accepted,
        "refused": result.refused,
        "balancedAccuracy": result.balanced_accuracy,
        "informedness": result.informedness,
        "refusesEverything": float(everything),
        "refusesNothing": float(nothing),
    }
    infos |= {
        "shapesOutcome": EVERYTHING if everything else NOTHING if nothing else SOME,
        "balancedAccuracyByComponent": result.accuracies,
    }
    if not goes_on or (shapes.have_targets and _select_nodes(case, shapes)):
        return Verdict(scores, infos, Outcome.SCORED)
    name = "feedback-no-nodes.txt" if shapes.have_targets else "feedback-no-targets.txt"
    return Verdict(scores, infos, Outcome.SCORED, texts.text(NAME, name), "content")


def reference(case: Case) -> str:
    """Return the reference answer: the shapes that express the rules."""
    return f"```turtle\n{case.data['refShapes']}\n```"


def prepare() -> None:
    """Load files for judging processes, which cannot open files."""
    load_model()


def _validate_graphs(case: Case, shapes: ForeignShapes) -> Discrimination:
    """Validate the graphs of a case with ``shapes``."""
    graphs = shape_trials.trial_graphs(_world(case), case.parameters["level"], case.data["draw"])
    accepted = [not shapes.findings(graph.triples) for graph in graphs if graph.broken is None]
    mutants = [
        (graph.broken, not shapes.findings(graph.triples))
        for graph in graphs
        if graph.broken is not None
    ]
    return discrimination(accepted, mutants)


def _select_nodes(case: Case, shapes: ForeignShapes) -> bool:
    """Return whether ``shapes`` are about any node of the graphs of a case."""
    graphs = shape_trials.trial_graphs(_world(case), case.parameters["level"], case.data["draw"])
    return any(shapes.select(graph.triples) for graph in graphs)


def _world(case: Case) -> generator.World:
    world = generator.world_of_name(case.data["graphName"])
    if world is None or case.data["version"] != shape_trials.VERSION:
        raise TaskError(
            f"the case {case.iri} was made by another version of the generator, so that its graphs "
            "cannot be made again"
        )
    return world
