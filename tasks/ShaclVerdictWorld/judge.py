# SPDX-License-Identifier: Apache-2.0
"""ShaclVerdictWorld: list the constraint violations in a part of a generated world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    TurtleFamily,
    compare,
    serialise,
    world_of,
)
from kgbench.vocab import SH
from kgbench.worlds import shape_cases

_FOCUS: Final = ox.NamedNode(SH.focusNode)
_COMPONENT: Final = ox.NamedNode(SH.sourceConstraintComponent)
_SUFFIX: Final = "ConstraintComponent"
_LISTED: Final = 200  # violations of each kind that infos list; all are scored


class ShaclVerdictWorld(DrawnFamily, TurtleFamily):
    """Faulty graphs with their shapes, each from another part of the seed's world."""

    shows = ("shapes", "graph")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw shapes, and a graph that violates them."""
        level = task.parameters["level"]
        faulty = shape_cases.draw_faulty_graph(world_of(task, seed), level, number)
        return {
            "shapes": faulty.rules.text,
            "graph": serialise(faulty.scene.triples, "turtle", shape_cases.PREFIXES),
            "violations": [list(pair) for pair in faulty.violations],
        }

    def score(self, case: Case, answer: tuple[ox.Triple, ...] | None, executor: Executor) -> Score:
        """Compare the results of a report with the actual violations."""
        given = _reported_violations(answer or ())
        expected = {f"{focus} {component}" for focus, component in case.data["violations"]}
        compared = compare(expected, given)

        def feedback() -> Feedback | None:
            return None if given else self.feedback("no-results", "format")

        scores = {**compared.agreement.named(), "exact": compared.exact}
        infos = compared.infos(listed=_LISTED)
        return Score(scores, infos, usable=bool(given), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the complete validation report."""
        results = [
            f"[] a sh:ValidationResult ; sh:focusNode {focus} ; "
            f"sh:sourceConstraintComponent sh:{component}{_SUFFIX} ."
            for focus, component in case.data["violations"]
        ]
        return "\n".join(["```turtle", f"@prefix sh: <{SH}> .", *results, "```"])


family: Final = ShaclVerdictWorld(__file__)


def _reported_violations(triples: Iterable[ox.Triple]) -> set[str]:
    """Node and component of each result in a report with exactly one of each."""
    foci: dict[object, set[str]] = {}
    components: dict[object, set[str]] = {}
    for triple in triples:
        if triple.predicate == _FOCUS:
            foci.setdefault(triple.subject, set()).add(str(triple.object))
        elif triple.predicate == _COMPONENT and isinstance(triple.object, ox.NamedNode):
            name = triple.object.value.removeprefix(str(SH)).removesuffix(_SUFFIX)
            components.setdefault(triple.subject, set()).add(name)
    return {
        f"{min(focus)} {min(components[node])}"
        for node, focus in foci.items()
        if len(focus) == 1 and len(components.get(node, ())) == 1
    }
