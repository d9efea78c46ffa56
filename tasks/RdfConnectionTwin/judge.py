# SPDX-License-Identifier: Apache-2.0
"""RdfConnectionTwin: RdfConnectionExplainStatic about the renamed organisational graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from kgbench.api import Json, Task, TwinFamily
from kgbench.families.twins import DelegatingFamily, source
from kgbench.tasks import serialising
from kgbench.tasks.renaming import Source


class RdfConnectionTwin(DelegatingFamily, TwinFamily):
    """Twins of the only case of RdfConnectionExplainStatic."""

    JUDGED_AS = "RdfConnectionExplainStatic"

    def source(self, task: Task) -> Source:
        """Return the published path through the graph, and the persons at its ends."""
        return _path()

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Return the twin with a number, with its graph in the format of ``task``."""
        data = dict(super().draw(task, seed, number))
        graph = serialising.in_format(data.pop("graphTurtle"), data["graphFormat"])
        return {**data, "graph": graph}


@cache
def _path() -> Source:
    published = family.other
    path = {"uid": "organisation", "path": list(published.path), "ends": list(published.ends)}
    return source("organisation", [path], path)


family: Final = RdfConnectionTwin(__file__)
