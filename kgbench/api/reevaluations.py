# SPDX-License-Identifier: Apache-2.0
"""Re-evaluation of stored dialogues from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgbench.analysis.passes import changes
from kgbench.api.connection import Connection
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor as make_executor
from kgbench.model import Json
from kgbench.reevaluation.comparison import merge_comparisons, report
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.tables import Table
from kgbench.tables.rendering import as_html


@dataclass(frozen=True, slots=True)
class Reevaluation:
    """New evaluation passes and their comparison with earlier ones.

    ``passes`` are the IRIs of the new passes; a run of which nothing can be judged gets none.
    ``table`` has the numbers of compared and changed values per task and metric. ``report`` is the
    report of ``kgbench reevaluate --json``, with each differing dialogue and the cause.
    """

    passes: tuple[str, ...]
    table: Table
    report: Mapping[str, Json]

    def _repr_html_(self) -> str:
        """Return the table as HTML for a notebook."""
        return as_html(self.table)


def judge_again(
    connection: Connection, executor: str, limits: JudgeLimits, **options: Any
) -> Reevaluation:
    """Judge stored dialogues again; see :func:`kgbench.reevaluation.passes.reevaluate_stored`."""
    with connection.owned() as owned, make_executor(executor) as pool:
        results = reevaluate_stored(owned, pool, limits, **options)
    passes = tuple(result.evaluation_pass for result in results if result.is_recorded)
    return Reevaluation(passes, changes(merge_comparisons(results)), report(results))
