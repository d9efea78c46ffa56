# SPDX-License-Identifier: Apache-2.0
"""Text2ShaclWorld: write shapes for rules in words, judged by graphs that keep to them or do not.

Rules and graphs follow from the seed of the plan (:mod:`kgbench.worlds.shape_cases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring.mutation import Discrimination, discrimination
from kgbench.tasks import catalogue, texts, turtle_answers
from kgbench.tasks.world_questions import schema, world_of
from kgbench.validation import foreign
from kgbench.validation.foreign import ForeignShapes, IllFormedShapes
from kgbench.vocab import SH
from kgbench.worlds import generator, shape_cases
from kgbench.worlds.model import declared

NAME: Final = "Text2ShaclWorld"
LOADS: Final = ("pySHACL",)
EVERYTHING, NOTHING, SOME = "refuses-everything", "refuses-nothing", "discriminates"
_QUERIES: Final = {SH[name] for name in ("select", "ask", "construct")}
_NOWHERE: Final = {"accepted": 0.0, "refused": 0.0, "balancedAccuracy": 0.0, "informedness": 0.0}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different sets of rules about the world of a seed.

    Raises :class:`~kgbench.errors.TaskError` where the world is too small for so many, once the
    first that is too much is asked for.
    """
    chosen = task.parameters
    world = world_of(task, seed)
    sets = shape_cases.assignments(world, chosen["level"])

    def data(iteration: int) -> Mapping[str, Json]:
        draw = sets.draw(iteration)
        rules = shape_cases.assigned(world, chosen["level"], draw)
        assert rules is not None
        return {
            "graphName": world.name,
            "version": shape_cases.VERSION,
            "draw": draw,
            "rules": rules.words,
            "refShapes": rules.text,
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The schema of the world, and the rules in words."""
    rules = "\n".join(f"{number}. {words}" for number, words in enumerate(case.data["rules"], 1))
    return texts.filled(NAME, "prompt.txt", schema=schema(_world(case)), rules=rules)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Try the shapes of the last answer; ask again where they cannot be used or have no target."""
    answer = answers[-1]
    goes_on = len(answers) < turtle_answers.ROUNDS
    read = turtle_answers.read(answer, executor)
    scores = {"answerParse": float(read.triples is not None), "wellFormed": 0.0, **_NOWHERE}
    infos: dict[str, Json] = {"parseError": read.error, "shapesError": None}
    if read.triples is None:
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(read.feedback if goes_on else (None, None)))
    try:
        _refuse_queries_elsewhere(read.triples, executor)
        shapes = ForeignShapes(read.triples)
        found = _tried(case, shapes)
    except IllFormedShapes as error:
        infos["shapesError"] = str(error)
        said = texts.filled(NAME, "feedback-shapes.txt", message=str(error))
        feedback = (said, "content") if goes_on else (None, None)
        return Verdict(scores, infos, Outcome.UNPARSABLE, *feedback)
    everything = found.accepted == 0 and found.refused == 1
    nothing = found.accepted == 1 and found.refused == 0
    scores |= {
        "wellFormed": 1.0,
        "accepted": found.accepted,
        "refused": found.refused,
        "balancedAccuracy": found.balanced_accuracy,
        "informedness": found.informedness,
        "refusesEverything": float(everything),
        "refusesNothing": float(nothing),
    }
    infos |= {
        "shapesOutcome": EVERYTHING if everything else NOTHING if nothing else SOME,
        "balancedAccuracyByComponent": found.accuracies,
        "engine": shapes.engine,
    }
    if shapes.have_targets or not goes_on:
        return Verdict(scores, infos, Outcome.SCORED)
    said = texts.text(NAME, "feedback-no-targets.txt")
    return Verdict(scores, infos, Outcome.SCORED, said, "content")


def reference(case: Case) -> str:
    """The shapes that say the same as the rules."""
    return f"```turtle\n{case.data['refShapes']}\n```"


def prepare() -> None:
    """Load what judging needs, for a process that cannot do so later."""
    turtle_answers.prepare()
    foreign.load_core()
    declared()


def _tried(case: Case, shapes: ForeignShapes) -> Discrimination:
    """What shapes make of the graphs of a case."""
    graphs = shape_cases.trial_graphs(_world(case), case.parameters["level"], case.data["draw"])
    right = [not shapes.findings(one.triples) for one in graphs if one.broken is None]
    mutants = [
        (one.broken, not shapes.findings(one.triples)) for one in graphs if one.broken is not None
    ]
    return discrimination(right, mutants)


def _refuse_queries_elsewhere(triples: Sequence[ox.Triple], executor: Executor) -> None:
    """Refuse queries in shapes that ask other servers, and all others that are never executed."""
    for one in triples:
        if one.predicate.value in _QUERIES and isinstance(one.object, ox.Literal):
            result = executor.results(one.object.value, "", {})
            if result.refused:
                raise IllFormedShapes(f"a query in the shapes is never executed: {result.error}")


def _world(case: Case) -> generator.World:
    world = generator.named(case.data["graphName"])
    if world is None or case.data["version"] != shape_cases.VERSION:
        raise TaskError(
            f"the case {case.iri} was made by another version of the generator, so that its graphs "
            "cannot be made again"
        )
    return world
