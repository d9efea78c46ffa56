# SPDX-License-Identifier: Apache-2.0
"""JsonLdFrameWorld: write the JSON-LD frame that turns a graph into a given tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from kgbench.api import (
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    JsonFamily,
    Score,
    Task,
    compare,
    world_of,
)
from kgbench.families.json_ld import CONTEXT, turtle
from kgbench.scoring import json_ld

from .cases import Node, sheet

_MOST: Final = 4_000  # characters of a tree that feedback shows
_written = partial(json.dumps, indent=2)


class JsonLdFrameWorld(DrawnFamily, JsonFamily[Node]):
    """Different trees from the seed's world."""

    shows = ("graph", "context", "tree")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a graph, and a frame with its tree."""
        exercise = sheet(world_of(task, seed), task.parameters["level"])[number]
        return {
            "graph": turtle(exercise.triples),
            "triples": list(exercise.triples),
            "context": _written(exercise.context),
            "tree": _written(exercise.tree),
            "frame": _written(exercise.frame),
            "features": [exercise.form],
        }

    def process(self, case: Case, value: Mapping[str, Any]) -> Node:
        """Return the tree that a frame makes of the graph."""
        frame = {**value, CONTEXT: json.loads(case.data["context"])}
        return json_ld.framed(json_ld.expanded(case.data["triples"]), frame)

    def score(self, case: Case, answer: Node | None, executor: Executor) -> Score:
        """Compare a tree with the expected one, and with that of the empty frame."""
        tree, expected_tree = answer or {}, json.loads(case.data["tree"])
        expected = set(json_ld.leaves(expected_tree))
        compared = compare(expected, set(json_ld.leaves(tree)) if tree else set())
        gain = exact = float(json_ld.sort_arrays(tree) == json_ld.sort_arrays(expected_tree))
        if compared.agreement.f1 and not exact:
            unframed = compare(expected, set(json_ld.leaves(self.process(case, {}))))
            gain = _gain(compared.agreement.f1, unframed.agreement.f1)
        scores = {**compared.agreement.named(), "gain": gain, "exact": exact}

        def feedback() -> Feedback:
            text = _written(tree)
            shown = text if len(text) <= _MOST else f"{text[:_MOST]}\n... and more"
            return self.feedback("tree", tree=shown)

        return Score(scores, compared.infos("missing", "surplus"), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the frame."""
        return f"```json\n{case.data['frame']}\n```"


family: Final = JsonLdFrameWorld(__file__)


def _gain(score: float, without: float) -> float:
    """Return the share of what a score ``without`` an answer lacks that the answer makes up.

    >>> _gain(0.75, 0.5)
    0.5
    >>> _gain(0.3, 0.5)
    0.0
    """
    return max(0.0, (score - without) / (1 - without)) if without < 1 else 0.0
