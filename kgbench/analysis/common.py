# SPDX-License-Identifier: Apache-2.0
"""The tasks that all models were scored on, for comparing models of different coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgbench.analysis.tables import Table
from kgbench.errors import QueryError


def common_tasks(scored: Mapping[str, Iterable[str]]) -> set[str]:
    """The tasks that every model has a score of; ``scored`` are tasks by the name of the model.

    Models without any score share no task and count for nothing. Raises
    :class:`~kgbench.errors.QueryError` where the models have no task in common.
    """
    covered = {model: set(tasks) for model, tasks in scored.items()}
    covered = {model: tasks for model, tasks in covered.items() if tasks}
    shared = set.intersection(*covered.values()) if covered else set()
    if not shared:
        fewest = sorted(covered, key=lambda model: (len(covered[model]), model))
        listed = ", ".join(f"{model} ({len(covered[model])})" for model in fewest[:5])
        raise QueryError(
            f"no task was scored for all {len(covered)} models: choose models with --model. Those "
            f"with the fewest tasks are {listed}"
            if covered
            else "no model has scores, so that models have no task in common"
        )
    return shared


def common_note(tasks: Sequence[str], models: int) -> str:
    """Which tasks models are compared on, in words."""
    counted = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return (
        f"Compared on the {counted} that all {models} models were scored on: "
        f"{', '.join(sorted(tasks))}."
    )


def of_common_tasks(table: Table) -> Table:
    """A table of tasks and models (with ``n`` values) with only the tasks that all models share."""
    scored: dict[str, set[str]] = defaultdict(set)
    for row in table.records():
        if row["n"]:
            scored[str(row["model"])].add(str(row["task"]))
    shared = common_tasks(scored)
    place = table.names.index("task")
    return replace(
        table,
        rows=tuple(row for row in table.rows if row[place] in shared),
        notes=(common_note(list(shared), len(scored)), *table.notes),
        context={**table.context, "common": True},
    )
