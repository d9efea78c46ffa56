# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlToolsWorld: questions about a generated world that is accessible by tools.

Some questions have an empty result, and some have no answer, so that giving up is sometimes right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from kgbench.api import Case, Chance, Json, Task, TaskError, World, world_of
from kgbench.on_demand import OnDemand
from kgbench.plugins.agents.graph_questions import GraphQuestions
from kgbench.worlds import generator
from kgbench.worlds.questions import PREFIXES, sheet

from .cases import ANSWERED, EMPTY, SHEETS, UNANSWERABLE

_WHOLE: Final = 100  # percent


class Text2SparqlToolsWorld(GraphQuestions):
    """Questions about the world of a plan's seed."""

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Make ``count`` cases: questions about the seed's world, the same in every condition.

        If the world is too small for so many, accessing the first surplus case raises
        :class:`~kgbench.errors.TaskError`.
        """
        level, world = task.parameters["level"], world_of(task, seed)
        kinds = list(islice(_kinds(world, task.parameters), count))

        def make(iteration: int) -> Case:
            kind, number = kinds[iteration]
            question = sheet(world, level, SHEETS[kind])[number]
            data: dict[str, Json] = {
                "uid": f"{world.name}-{level}-{kind}-{number + 1}",
                "graphName": world.name,
                "prefixes": PREFIXES,
                "question": question.words,
                "refSparql": question.query or None,
                "ordered": question.ordered,
                "features": list(question.features),
            }
            return self.case(task, suite, data)

        return OnDemand(count, make)

    def check(self, task: Task) -> None:
        """Check that the shares are at most 100 percent, and that the world is large enough."""
        if task.parameters["empty"] + task.parameters["unanswerable"] > _WHOLE:
            raise TaskError(
                f"task {task.label}: the parameters 'empty' and 'unanswerable' are together more "
                f"than {_WHOLE} percent"
            )
        generator.check_instances(task)


family: Final = Text2SparqlToolsWorld(__file__)


def _kinds(world: World, parameters: Mapping[str, Json]) -> Iterator[tuple[str, int]]:
    chance = Chance(generator.VERSION, world.seed, "kinds", parameters["level"])
    numbers: Counter[str] = Counter()
    while True:
        percent = chance.between(1, _WHOLE)
        kind = ANSWERED
        if percent <= parameters["empty"]:
            kind = EMPTY
        elif percent <= parameters["empty"] + parameters["unanswerable"]:
            kind = UNANSWERABLE
        yield kind, numbers[kind]
        numbers[kind] += 1
