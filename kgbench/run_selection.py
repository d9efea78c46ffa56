# SPDX-License-Identifier: Apache-2.0
"""Selection of stored runs and dialogues by globs over task and model labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kgbench.errors import TaskError, nearest
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of dialogues by globs over task and model labels; no globs select all."""

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def fits(self, task: str, model: str) -> bool:
        """Return whether dialogues with these labels of task and model are selected."""
        return _matches(task, self.tasks) and (
            _matches(model, self.models) or _matches(model.partition(":")[2], self.models)
        )


def select_runs(store: Store, runs: Sequence[RunInfo], selection: Selection) -> list[RunInfo]:
    """Return the runs that hold dialogues of ``selection``; all runs if the selection has no globs.

    Raises :class:`~kgbench.errors.TaskError` if no run does.
    """
    if selection == Selection():
        return list(runs)
    model_labels = reading.model_labels(store)
    all_labels: set[tuple[str, str]] = set()
    selected = []
    for run in runs:
        run_labels = {
            (
                reading.task(store, execution.task).label,
                model_labels.get(execution.model, execution.model),
            )
            for execution in reading.executions(store, run.graph)
        }
        all_labels |= run_labels
        if any(selection.fits(*labels) for labels in run_labels):
            selected.append(run)
    if not selected:
        patterns = " ".join(selection.tasks + selection.models)
        tasks, models = (
            nearest(patterns, {pair[index] for pair in all_labels}) for index in (0, 1)
        )
        raise TaskError(f"no stored dialogue fits {patterns}; tasks: {tasks}; models: {models}")
    return selected


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
