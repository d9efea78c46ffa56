# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlToolsWorld: questions about a generated world that is accessible by tools.

World and questions are generated from the seed of the plan (:mod:`kgbench.worlds`). Some questions
have an empty result, and some have no answer, so that giving up is sometimes right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kgbench.errors import TaskError
from kgbench.model import Case, Json, Task
from kgbench.on_demand import OnDemand
from kgbench.plugins.agents.graph_questions import GraphQuestions
from kgbench.worlds import generator, hard_questions, questions
from kgbench.worlds.generator import World, world_of
from kgbench.worlds.naming import Chance


class WorldTools(GraphQuestions):
    """The task class Text2SparqlToolsWorld."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Make ``count`` cases: questions about the seed's world, the same in every condition.

        If the world is too small for so many, accessing the first surplus case raises
        :class:`~kgbench.errors.TaskError`.
        """
        parameters = task.parameters
        world = world_of(task, seed)
        kinds = _Kinds(world, task)

        def make(iteration: int) -> Case:
            kind, number = kinds.of(iteration)
            question = hard_questions.sheet(world, parameters["level"], kind)[number]
            data: dict[str, Json] = {
                "uid": f"{world.name}-{parameters['level']}-{kind}-{number + 1}",
                "graphName": world.name,
                "prefixes": questions.PREFIXES,
                "question": question.words,
                "refSparql": question.query or None,
                "ordered": question.ordered,
                "features": list(question.features),
            }
            return self._case(task, suite, data)

        return OnDemand(count, make)

    def check(self, task: Task) -> None:
        """Check that the shares are at most 100 percent, and that the world is large enough."""
        parameters = task.parameters
        if parameters["empty"] + parameters["unanswerable"] > _WHOLE:
            raise TaskError(
                f"task {task.label}: the parameters 'empty' and 'unanswerable' are together more "
                f"than {_WHOLE} percent"
            )
        generator.sizes(world_of(task, 0))


_WHOLE: Final = 100  # percent


class _Kinds:
    """The kind of each question, and its number within the kind, drawn lazily in order."""

    def __init__(self, world: World, task: Task) -> None:
        self._parameters = task.parameters
        self._chance = Chance(generator.VERSION, world.seed, "kinds", self._parameters["level"])
        self._counts: Counter[str] = Counter()
        self._kinds: list[tuple[str, int]] = []

    def of(self, number: int) -> tuple[str, int]:
        """Kind and number of a question; draws kinds up to this question."""
        while len(self._kinds) <= number:
            kind = self._draw()
            self._kinds.append((kind, self._counts[kind]))
            self._counts[kind] += 1
        return self._kinds[number]

    def _draw(self) -> str:
        percent = self._chance.between(1, _WHOLE)
        if percent <= self._parameters["empty"]:
            return hard_questions.EMPTY
        if percent <= self._parameters["empty"] + self._parameters["unanswerable"]:
            return hard_questions.UNANSWERABLE
        return hard_questions.ANSWERED


WORLD: Final = WorldTools("Text2SparqlToolsWorld")
