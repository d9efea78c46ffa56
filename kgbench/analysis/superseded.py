# SPDX-License-Identifier: Apache-2.0
"""Scores of task classes that have another name or version by now than they were recorded with.

Re-evaluated, such dialogues are scored by the metrics that there are today. An analysis names the
metrics of the recorded task class, and gets the scores that stand in their place.
"""

from __future__ import annotations

from collections.abc import Iterable

from kgbench.analysis.selection import Selection
from kgbench.rdf import queries
from kgbench.store.protocol import Store


class Superseded:
    """What stands in the place of which metric in the passes of a selection."""

    def __init__(self, store: Store, selection: Selection) -> None:
        rows = queries.rows(store, "superseding-metrics", passGraph=list(selection.pass_graphs))
        self._earlier = {(task, metric): earlier for task, metric, earlier in rows}

    def with_later(self, metrics: Iterable[str]) -> list[str]:
        """``metrics`` (IRIs) together with those that stand in their place, sorted."""
        wanted = set(metrics)
        return sorted(
            wanted
            | {str(later) for (_, later), earlier in self._earlier.items() if earlier in wanted}
        )

    def of_task(self, task: str, metric: str) -> str:
        """The metric of ``task`` in whose place ``metric`` stands; often itself."""
        return self._earlier.get((task, metric)) or metric
