# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlToolsWorld: questions about a generated world that tools give access to.

World and questions follow from the seed of the plan (:mod:`kgbench.worlds`). Shares of the
questions have an empty answer, or none, so that giving up is right for some and wrong for others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kgbench.errors import TaskError
from kgbench.model import Case, Json, Task
from kgbench.on_demand import OnDemand
from kgbench.tasks.graph_questions import GraphQuestions
from kgbench.tasks.world_questions import world_of
from kgbench.worlds import generator, hard_questions, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import declared
from kgbench.worlds.naming import Chance


class WorldTools(GraphQuestions):
    """The task class; see the module."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """``count`` different questions about the world of a seed, the same in every condition.

        Raises :class:`~kgbench.errors.TaskError` where the world is too small for so many, once
        the first that is too much is asked for.
        """
        chosen = task.parameters
        world = world_of(task, seed)
        kinds = _Kinds(world, task)

        def generated(iteration: int) -> Case:
            kind, number = kinds.of(iteration)
            question = hard_questions.sheet(world, chosen["level"], kind).question(number)
            data: dict[str, Json] = {
                "uid": f"{world.name}-{chosen['level']}-{kind}-{number + 1}",
                "graphName": world.name,
                "prefixes": questions.PREFIXES,
                "question": question.words,
                "refSparql": question.query or None,
                "ordered": question.ordered,
                "features": list(question.features),
            }
            return self._case(task, suite, data)

        return OnDemand(count, generated)

    def check(self, task: Task) -> None:
        """Refuse shares that are more than the whole, and a world that is too small."""
        chosen = task.parameters
        if chosen["empty"] + chosen["unanswerable"] > _WHOLE:
            raise TaskError(
                f"task {task.label}: the parameters 'empty' and 'unanswerable' are together more "
                f"than {_WHOLE} percent"
            )
        generator.sizes(world_of(task, 0))

    def prepare(self) -> None:
        """See :meth:`GraphQuestions.prepare`; worlds are made from their declaration, too."""
        super().prepare()
        declared()


_WHOLE: Final = 100  # percent


class _Kinds:
    """The kind of each question, and its number among those of its kind; drawn in order."""

    def __init__(self, world: World, task: Task) -> None:
        self._chosen = task.parameters
        self._chance = Chance(generator.VERSION, world.seed, "kinds", self._chosen["level"])
        self._seen: Counter[str] = Counter()
        self._found: list[tuple[str, int]] = []

    def of(self, number: int) -> tuple[str, int]:
        """Those of the question with a number; only as many are drawn as were asked for."""
        while len(self._found) <= number:
            kind = self._drawn()
            self._found.append((kind, self._seen[kind]))
            self._seen[kind] += 1
        return self._found[number]

    def _drawn(self) -> str:
        drawn = self._chance.between(1, _WHOLE)
        if drawn <= self._chosen["empty"]:
            return hard_questions.EMPTY
        if drawn <= self._chosen["empty"] + self._chosen["unanswerable"]:
            return hard_questions.UNANSWERABLE
        return hard_questions.ANSWERED


WORLD: Final = WorldTools("Text2SparqlToolsWorld")
