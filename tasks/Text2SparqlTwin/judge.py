# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlTwin: the questions of the Text2SparqlExecEvalList classes about renamed graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from kgbench.api import Json, QueryFamily, Task, TwinFamily
from kgbench.families.twins import questions
from kgbench.tasks import bestiary, catalogue
from kgbench.tasks.renaming import Source


class Text2SparqlTwin(TwinFamily, QueryFamily):
    """Twins of the published questions."""

    def source(self, task: Task) -> Source:
        """Return the published questions about the graph in the parameters of ``task``."""
        return questions(task.parameters["graph"])

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Return the twin with a number."""
        if task.parameters["graph"] != bestiary.NAME:
            return super().draw(task, seed, number)
        lap, index = divmod(number, len(_about_creatures()))
        return _creature_twins(task.parameters["names"], seed, lap)[index]


@cache
def _about_creatures() -> Sequence[Mapping[str, Json]]:
    published: Any = catalogue.module("Text2SparqlExecEvalListBeastiary")
    cases: Sequence[Mapping[str, Json]] = published.listed(bestiary.SHOWN)
    return cases


@lru_cache(maxsize=8)
def _creature_twins(names: str, seed: int, lap: int) -> Sequence[Mapping[str, Json]]:
    return bestiary.twins(_about_creatures(), names, seed, lap)


family: Final = Text2SparqlTwin(__file__)
