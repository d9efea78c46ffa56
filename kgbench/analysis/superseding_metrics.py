# SPDX-License-Identifier: Apache-2.0
"""Metrics of task classes whose name or version has changed since their dialogues were recorded.

Re-evaluation scores such dialogues by the metrics of the present task class. Analyses name the
metrics of the recorded task class, and get the scores by the superseding metrics.
"""

from __future__ import annotations

from collections.abc import Iterable

from kgbench.analysis.selection import Selection
from kgbench.rdf import queries
from kgbench.store.protocol import Store


class SupersedingMetrics:
    """The superseding metrics in the passes of a selection."""

    def __init__(self, store: Store, selection: Selection) -> None:
        rows = queries.rows(store, "superseding-metrics", passGraph=list(selection.pass_graphs))
        self._earlier = {(task, metric): earlier for task, metric, earlier in rows}

    def with_later(self, metrics: Iterable[str]) -> list[str]:
        """Return ``metrics`` (IRIs) together with the metrics that supersede them, sorted."""
        earlier_metrics = set(metrics)
        return sorted(
            earlier_metrics
            | {
                str(later)
                for (_, later), earlier in self._earlier.items()
                if earlier in earlier_metrics
            }
        )

    def of_task(self, task: str, metric: str) -> str:
        """Return the metric of ``task`` that ``metric`` supersedes; usually ``metric`` itself."""
        return self._earlier.get((task, metric)) or metric
