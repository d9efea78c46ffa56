# SPDX-License-Identifier: Apache-2.0
"""ShaclRepairWorld: repair a part of a generated world so that it conforms to shapes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import pyoxigraph as ox

from kgbench.api import (
    Case,
    DrawnFamily,
    EvaluationError,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
    Unreadable,
    serialise,
    world_of,
)
from kgbench.validation import IllFormedShapes
from kgbench.validation.checking import Finding, ForeignShapes
from kgbench.worlds import shape_cases

_SHOWN: Final = 10  # violations in feedback
_LISTED: Final = 50  # violations in infos

Triples = Sequence[ox.Triple]


class ShaclRepairWorld(DrawnFamily, TurtleFamily):
    """Faulty graphs with their shapes, each from another part of the seed's world."""

    shows = ("shapes", "graph")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw shapes, a graph that violates them, and its smallest repair."""
        level = task.parameters["level"]
        faulty = shape_cases.draw_faulty_graph(world_of(task, seed), level, number)
        graph, repaired = (
            serialise(scene.triples, "turtle", shape_cases.PREFIXES)
            for scene in (faulty.scene, faulty.repaired)
        )
        return {
            "shapes": faulty.rules.text,
            "graph": graph,
            "repaired": repaired,
            "violations": [list(pair) for pair in faulty.violations],
            "faults": [
                {"least": fault.least, "sites": sorted(map(list, fault.sites))}
                for fault in faulty.faults
            ],
        }

    def score(self, case: Case, answer: tuple[ox.Triple, ...] | None, executor: Executor) -> Score:
        """Validate a graph, and count its needless changes."""
        if not answer:
            scores = dict.fromkeys(("conforms", "mended", "repair", "exact"), 0.0)
            no_triples = partial(self.feedback, "no-triples", "format")
            return Score(scores, {}, usable=False, feedback=no_triples)
        shapes, graph = self._shapes_and_graph(case, executor)
        findings = shapes.findings(answer)
        found = {finding.pair for finding in findings}
        needless = _needless(case, set(answer) ^ set(graph))
        least = sum(fault["least"] for fault in case.data["faults"])
        conforms = float(not findings)
        expected = {(focus, component) for focus, component in case.data["violations"]}

        def feedback() -> Feedback | None:
            violations = _readable(findings)
            return self.feedback("violations", violations=violations) if findings else None

        scores = {
            "conforms": conforms,
            "mended": len(expected - found) / len(expected),
            "needless": float(needless),
            "repair": conforms * least / (least + needless),
            "exact": float(not findings and not needless),
        }
        infos: dict[str, Json] = {"violations": sorted(map(" ".join, found))[:_LISTED]}
        return Score(scores, infos, feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the graph with the fewest changes that make it conform."""
        return f"```turtle\n{case.data['repaired']}\n```"

    def _shapes_and_graph(self, case: Case, executor: Executor) -> tuple[ForeignShapes, Triples]:
        try:
            shapes, graph = (self.read(case, case.data[name], executor) for name in self.shows)
            return ForeignShapes(shapes), graph
        except (Unreadable, IllFormedShapes) as error:
            raise EvaluationError(
                f"the shapes or the graph of the case {case.iri} are broken: {error}"
            ) from error


family: Final = ShaclRepairWorld(__file__)


def _needless(case: Case, changed: set[ox.Triple]) -> int:
    """Return the number of changed triples beyond those that the faults require."""
    sites = {
        (subject, predicate): number
        for number, fault in enumerate(case.data["faults"])
        for subject, predicate in fault["sites"]
    }
    allowed = [fault["least"] for fault in case.data["faults"]]
    needless = 0
    for triple in changed:
        number = sites.get((str(triple.subject), triple.predicate.value))
        if number is not None and allowed[number]:
            allowed[number] -= 1
        else:
            needless += 1
    return needless


def _readable(findings: Sequence[Finding]) -> str:
    lines = sorted(
        f"* {finding.focus}{'' if finding.path is None else f', {finding.path}'}: "
        f"{finding.message} "
        f"(sh:{finding.component}ConstraintComponent)"
        for finding in findings
    )
    remaining = [f"* and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *remaining])
