# SPDX-License-Identifier: Apache-2.0
"""Text2ShaclWorld: write shapes for rules in words, judged by conforming and violating graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import pyoxigraph as ox

from kgbench.api import (
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TaskError,
    TurtleFamily,
    World,
    world_of,
)
from kgbench.scoring.agreement import Discrimination, discrimination
from kgbench.tasks.graphs import world_schema
from kgbench.validation import IllFormedShapes
from kgbench.validation.checking import ForeignShapes
from kgbench.worlds.generator import world_of_name
from kgbench.worlds.model import load_model
from kgbench.worlds.shape_cases import rule_set_of_draw

from .cases import VERSION, TrialGraph, assignments, trial_graphs

EVERYTHING, NOTHING, SOME = "refuses-everything", "refuses-nothing", "discriminates"
_SCORES: Final = ("wellFormed", "accepted", "refused", "balancedAccuracy", "informedness")


class Text2ShaclWorld(DrawnFamily, TurtleFamily):
    """Different sets of rules about the seed's world."""

    prepare = staticmethod(load_model)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw rules, from which their graphs can be made again."""
        world, level = world_of(task, seed), task.parameters["level"]
        draw = assignments(world, level)[number]
        rules = rule_set_of_draw(world, level, draw)
        assert rules is not None
        return {
            "graphName": world.name,
            "version": VERSION,
            "draw": draw,
            "rules": rules.words,
            "refShapes": rules.text,
        }

    def prompt(self, case: Case) -> str:
        """Return the prompt: the schema of the world, and the rules in words."""
        rules = [f"{number}. {words}" for number, words in enumerate(case.data["rules"], 1)]
        return self.text("prompt", schema=world_schema(_world(case)), rules="\n".join(rules))

    def score(self, case: Case, answer: tuple[ox.Triple, ...] | None, executor: Executor) -> Score:
        """Test shapes with conforming and violating graphs.

        There is feedback if they are unusable or about no node.
        """
        nothing_scored = dict.fromkeys(_SCORES, 0.0)
        if answer is None:
            return Score(nothing_scored, {"shapesError": None})
        graphs = trial_graphs(_world(case), case.parameters["level"], case.data["draw"])
        try:
            shapes = ForeignShapes(answer)
            result = _discrimination(shapes, graphs)
        except IllFormedShapes as error:
            reason = str(error)
            ill_formed = partial(self.feedback, "shapes", message=reason)
            return Score(nothing_scored, {"shapesError": reason}, usable=False, feedback=ill_formed)

        def feedback() -> Feedback | None:
            if not shapes.have_targets:
                return self.feedback("no-targets")
            selective = any(shapes.select(graph.triples) for graph in graphs)
            return None if selective else self.feedback("no-nodes")

        everything = result.accepted == 0 and result.refused == 1
        nothing = result.accepted == 1 and result.refused == 0
        scores = {
            "wellFormed": 1.0,
            "accepted": result.accepted,
            "refused": result.refused,
            "balancedAccuracy": result.balanced_accuracy,
            "informedness": result.informedness,
            "refusesEverything": float(everything),
            "refusesNothing": float(nothing),
        }
        infos: dict[str, Json] = {
            "shapesError": None,
            "shapesOutcome": EVERYTHING if everything else NOTHING if nothing else SOME,
            "balancedAccuracyByComponent": result.accuracies,
        }
        return Score(scores, infos, feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the shapes that express the rules."""
        return f"```turtle\n{case.data['refShapes']}\n```"


family: Final = Text2ShaclWorld(__file__)


def _discrimination(shapes: ForeignShapes, graphs: Sequence[TrialGraph]) -> Discrimination:
    accepted, mutants = list[bool](), list[tuple[str, bool]]()
    for graph in graphs:
        conforms = not shapes.findings(graph.triples)
        if graph.broken is None:
            accepted.append(conforms)
        else:
            mutants.append((graph.broken, conforms))
    return discrimination(accepted, mutants)


def _world(case: Case) -> World:
    world = world_of_name(case.data["graphName"])
    if world is None or case.data["version"] != VERSION:
        raise TaskError(
            f"the case {case.iri} was made by another version of the generator, so that its graphs "
            "cannot be made again"
        )
    return world
