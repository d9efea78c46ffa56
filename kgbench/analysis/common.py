# SPDX-License-Identifier: Apache-2.0
"""The common tasks of models, for comparing models that were scored on different tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgbench.analysis.tables import Table
from kgbench.errors import QueryError


def common_tasks(scored: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the tasks on which every model has a score; ``scored`` has tasks by model name.

    Models without any score are ignored. Raises :class:`~kgbench.errors.QueryError` where the
    models have no task in common.
    """
    covered = {model: set(tasks) for model, tasks in scored.items()}
    covered = {model: tasks for model, tasks in covered.items() if tasks}
    shared = set.intersection(*covered.values()) if covered else set()
    if not shared:
        fewest = sorted(covered, key=lambda model: (len(covered[model]), model))
        examples = ", ".join(f"{model} ({len(covered[model])})" for model in fewest[:5])
        raise QueryError(
            f"no task was scored for all {len(covered)} models: choose models with --model. The "
            f"models with the fewest tasks are {examples}"
            if covered
            else "no model has scores, so there is no common task"
        )
    return shared


def common_note(tasks: Sequence[str], models: int) -> str:
    """Return a note that names the tasks on which models are compared."""
    counted = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return (
        f"Compared on the {counted} that all {models} models were scored on: "
        f"{', '.join(sorted(tasks))}."
    )


def of_common_tasks(table: Table) -> Table:
    """Restrict a table of tasks and models (with a column ``n``) to the tasks of all models."""
    scored: dict[str, set[str]] = defaultdict(set)
    for row in table.records():
        if row["n"]:
            scored[str(row["model"])].add(str(row["task"]))
    shared = common_tasks(scored)
    index = table.names.index("task")
    return replace(
        table,
        rows=tuple(row for row in table.rows if row[index] in shared),
        notes=(common_note(list(shared), len(scored)), *table.notes),
        context={**table.context, "common": True},
    )
