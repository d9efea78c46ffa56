# SPDX-License-Identifier: Apache-2.0
"""Comparison of two evaluation passes value by value, for the report of ``reevaluate``.

A value counts as changed if it differs by more than 1e-9, or if only one pass has it. A value
published with a number of decimals is compared at this precision. Metrics that the compared pass
does not have at all are new, and do not count as differences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from kgbench.model import TOLERANCE, Json
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation.variant_outcomes import AnswerOnVariants
from kgbench.reevaluation.variant_outcomes import report as on_variants

#: The cause of a difference without a known cause.
UNEXPLAINED = "unexplained"

DialogueScores: TypeAlias = Mapping[
    int | None, ScoredEvaluation
]  # by round; None is the whole dialogue


class Difference(NamedTuple):
    """One changed value; ``before`` or ``after`` is ``None`` if that pass lacks it."""

    metric: str
    round: int | None
    before: float | None
    after: float | None


@dataclass(slots=True)
class MetricChange:
    """Changes of one metric in one task label; ``changes`` are values after minus before."""

    compared: int = 0
    changed: int = 0
    changes: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean change over all values that both passes have (unchanged ones count as 0)."""
        both = self.compared - (self.changed - len(self.changes))
        return math.fsum(self.changes) / both if both else 0.0

    @property
    def largest(self) -> float:
        """The greatest absolute change."""
        return max(map(abs, self.changes), default=0.0)


@dataclass(slots=True)
class Comparison:
    """The differences between two passes, by dialogue and by metric."""

    dialogues: int = 0
    differing: list[dict[str, Json]] = field(default_factory=list)
    metrics: dict[tuple[str, str], MetricChange] = field(default_factory=dict)
    new_metrics: set[str] = field(default_factory=set)

    def add(
        self,
        dialogue: str,
        task: str,
        model: str,
        *,
        before: DialogueScores,
        after: DialogueScores,
        names: Mapping[str, str],
        new: Collection[str] = (),
    ) -> dict[str, Json] | None:
        """Compare one dialogue; ``names`` has the short names of metrics, ``model`` is a label.

        Metrics in ``new`` (IRIs) are not compared. Returns the dialogue's entry in the report if
        something differs; its ``cause`` is ``"unexplained"`` until the caller replaces it.
        """
        self.dialogues += 1
        differences = []
        for round_ in sorted({*before, *after}, key=lambda k: (k is None, k)):
            old = before[round_].scores if round_ in before else {}
            now = after[round_].scores if round_ in after else {}
            decimals = before[round_].decimals if round_ in before else None
            for metric in sorted({*old, *now}):
                name = names.get(metric, metric)
                if metric in new:
                    self.new_metrics.add(name)
                    continue
                change = self.metrics.get((task, name))
                if change is None:
                    change = self.metrics[task, name] = MetricChange()
                values = old.get(metric), now.get(metric)
                if _count(change, *values, decimals):
                    differences.append(Difference(name, round_, *values))
        if not differences:
            return None
        entry = {
            "dialogue": dialogue,
            "task": task,
            "model": model,
            "cause": UNEXPLAINED,
            "differences": [difference._asdict() for difference in differences],
        }
        self.differing.append(entry)
        return entry

    def extend(self, other: Comparison) -> None:
        """Add the counts of ``other``."""
        self.dialogues += other.dialogues
        self.differing += other.differing
        self.new_metrics |= other.new_metrics
        for key, change in other.metrics.items():
            mine = self.metrics.setdefault(key, MetricChange())
            mine.compared += change.compared
            mine.changed += change.changed
            mine.changes += change.changes

    def causes(self) -> dict[str, int]:
        """Return numbers of differing dialogues by kind of cause.

        Unexplained differences come first; the other kinds are sorted by frequency.
        """
        counts = Counter(str(entry["cause"]).partition(":")[0] for entry in self.differing)
        order = sorted(counts.items(), key=lambda item: (item[0] != UNEXPLAINED, -item[1], item[0]))
        return dict(order)

    def report(self) -> dict[str, Json]:
        """Return the comparison as JSON, in the common form of all comparisons of passes."""
        return {
            "dialogues_compared": self.dialogues,
            "dialogues_differing": self.differing,
            "new_metrics": sorted(self.new_metrics),
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


def is_same_value(before: float, after: float, decimals: int | None = None) -> bool:
    """Return whether two values are equal, or equal when rounded to the ``decimals`` of ``before``.

    >>> is_same_value(0.33, 1 / 3), is_same_value(0.33, 1 / 3, decimals=2)
    (False, True)
    """
    if decimals is not None and round(before, decimals) == round(after, decimals):
        return True
    return before == after or abs(after - before) <= TOLERANCE


def rename_metrics(
    scores: DialogueScores, names: Mapping[str, str], only: Collection[str] | None = None
) -> DialogueScores:
    """Return ``scores`` with metrics renamed by ``names``, or those of ``only`` some new names."""
    if not names and only is None:
        return scores
    return {
        k: seen._replace(
            scores={
                name: value
                for m, value in seen.scores.items()
                for name in (names.get(m, m),)
                if only is None or name in only
            }
        )
        for k, seen in scores.items()
    }


def missing_metrics(
    task_metrics: Collection[str], pass_metrics: Collection[str], *, is_evaluated: bool
) -> frozenset[str]:
    """Return the metrics of a ``task`` that a pass lacks, if it has values of the metrics ``held``.

    Empty if the pass has no value of the task although it evaluated the dialogue
    (``is_evaluated``): then its judge failed, which is a difference.
    """
    missing = frozenset(task_metrics) - frozenset(pass_metrics)
    return frozenset() if is_evaluated and len(missing) == len(task_metrics) else missing


def _count(
    change: MetricChange, before: float | None, after: float | None, decimals: int | None
) -> bool:
    """Count one value; return whether it changed."""
    change.compared += 1
    if before is None or after is None:
        change.changed += 1
        return True
    if is_same_value(before, after, decimals):
        return False
    change.changed += 1
    change.changes.append(after - before)
    return True


@dataclass(slots=True)
class ReevaluationResult:
    """The result of a re-evaluation; ``passed_over`` counts unjudged dialogues by reason."""

    evaluation_pass: str
    against: str
    comparison: Comparison = field(default_factory=Comparison)
    passed_over: dict[str, int] = field(default_factory=dict)
    on_variants: list[AnswerOnVariants] = field(default_factory=list)

    @property
    def is_recorded(self) -> bool:
        """Whether the store has the pass; it has none in which nothing could be judged."""
        return self.comparison.dialogues > 0


def merge_comparisons(results: Iterable[ReevaluationResult]) -> Comparison:
    """Merge the comparisons of several re-evaluations."""
    merged = Comparison()
    for reevaluated in results:
        merged.extend(reevaluated.comparison)
    return merged


def passed_over(results: Iterable[ReevaluationResult]) -> dict[str, int]:
    """Return numbers of dialogues that were not judged again, by reason."""
    counts: Counter[str] = Counter()
    for reevaluated in results:
        counts.update(reevaluated.passed_over)
    return dict(counts)


def report(results: Sequence[ReevaluationResult]) -> dict[str, Json]:
    """Return the JSON output of ``kgbench reevaluate --json``."""
    answers = [answer for reevaluated in results for answer in reevaluated.on_variants]
    return {
        **merge_comparisons(results).report(),
        **(on_variants(answers) if answers else {}),
        "passes": [
            {"pass": reevaluated.evaluation_pass, "against": reevaluated.against}
            for reevaluated in results
            if reevaluated.is_recorded
        ],
        "passed_over": passed_over(results),
    }
