# SPDX-License-Identifier: Apache-2.0
"""Which stored runs and dialogues are judged again: by globs over task and model labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kgbench.errors import TaskError
from kgbench.nearest import nearest
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dialogues are judged again: globs over task and model labels; empty means all."""

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def fits(self, task: str, model: str) -> bool:
        """Whether dialogues of a task and a model, by their labels, are among them."""
        return _matches(task, self.tasks) and (
            _matches(model, self.models) or _matches(model.partition(":")[2], self.models)
        )


def runs_with(store: Store, runs: Sequence[RunInfo], selection: Selection) -> list[RunInfo]:
    """Those of ``runs`` that hold something of ``selection``; all where nothing is selected.

    Raises :class:`~kgbench.errors.TaskError` where none does.
    """
    if selection == Selection():
        return list(runs)
    names = reading.model_labels(store)
    seen: set[tuple[str, str]] = set()
    found = []
    for run in runs:
        of_run = {
            (reading.task(store, one.task).label, names.get(one.model, one.model))
            for one in reading.executions(store, run.graph)
        }
        seen |= of_run
        if any(selection.fits(*labels) for labels in of_run):
            found.append(run)
    if not found:
        wanted = " ".join(selection.tasks + selection.models)
        tasks, models = (nearest(wanted, {pair[place] for pair in seen}) for place in (0, 1))
        raise TaskError(f"no stored dialogue fits {wanted}; tasks: {tasks}; models: {models}")
    return found


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
