# SPDX-License-Identifier: Apache-2.0
"""Comparing two evaluation passes value by value: the report of ``reevaluate``.

A value counts as changed where it differs by more than 1e-9 or where only one side has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kgbench.model import Json
from kgbench.record.reading import Seen

TOLERANCE = 1e-9


DialogueScores: TypeAlias = Mapping[int | None, Seen]  # by round; None is the whole dialogue


class Difference(NamedTuple):
    """One changed value; ``before`` or ``after`` is ``None`` where that side lacks it."""

    metric: str
    round: int | None
    before: float | None
    after: float | None


@dataclass(slots=True)
class MetricChange:
    """Changes of one metric in one task label; ``changes`` are after minus before."""

    compared: int = 0
    changed: int = 0
    changes: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean change over all values that both sides have (unchanged ones count as 0)."""
        both = self.compared - (self.changed - len(self.changes))
        return math.fsum(self.changes) / both if both else 0.0

    @property
    def largest(self) -> float:
        """The greatest absolute change."""
        return max(map(abs, self.changes), default=0.0)


@dataclass(slots=True)
class Comparison:
    """What differs between two passes, dialogue by dialogue and metric by metric."""

    dialogues: int = 0
    differing: list[dict[str, Json]] = field(default_factory=list)
    metrics: dict[tuple[str, str], MetricChange] = field(default_factory=dict)

    def add(
        self,
        dialogue: str,
        task: str,
        model: str,
        *,
        before: DialogueScores,
        after: DialogueScores,
        names: Mapping[str, str],
    ) -> dict[str, Json] | None:
        """Count one dialogue; ``names`` gives the short names of metrics, ``model`` is a label.

        Returns the dialogue's entry in the report where something differs; its ``cause`` is open.
        """
        self.dialogues += 1
        found = []
        for round_ in sorted({*before, *after}, key=lambda k: (k is None, k)):
            old = before[round_].scores if round_ in before else {}
            new = after[round_].scores if round_ in after else {}
            for metric in sorted({*old, *new}):
                name = names.get(metric, metric)
                change = self.metrics.get((task, name))
                if change is None:
                    change = self.metrics[task, name] = MetricChange()
                was, now = old.get(metric), new.get(metric)
                if _count(change, was, now):
                    found.append(Difference(name, round_, was, now))
        if not found:
            return None
        entry = {
            "dialogue": dialogue,
            "task": task,
            "model": model,
            "cause": None,
            "differences": [one._asdict() for one in found],
        }
        self.differing.append(entry)
        return entry

    def extend(self, other: Comparison) -> None:
        """Count everything that ``other`` has counted."""
        self.dialogues += other.dialogues
        self.differing += other.differing
        for key, change in other.metrics.items():
            mine = self.metrics.setdefault(key, MetricChange())
            mine.compared += change.compared
            mine.changed += change.changed
            mine.changes += change.changes

    def report(self) -> dict[str, Json]:
        """The comparison as JSON, in the form that every comparison of passes has."""
        return {
            "dialogues_compared": self.dialogues,
            "dialogues_differing": self.differing,
            "metrics": [
                {
                    "task": task,
                    "metric": name,
                    "compared": change.compared,
                    "changed": change.changed,
                    "mean_change": change.mean,
                    "max_change": change.largest,
                }
                for (task, name), change in sorted(self.metrics.items())
            ],
        }


def _count(change: MetricChange, before: float | None, after: float | None) -> bool:
    """Count one value; whether it changed."""
    change.compared += 1
    if before is None or after is None:
        change.changed += 1
        return True
    if before == after or abs(after - before) <= TOLERANCE:
        return False
    change.changed += 1
    change.changes.append(after - before)
    return True
