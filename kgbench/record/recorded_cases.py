# SPDX-License-Identifier: Apache-2.0
"""A cache of the tasks and cases of a store."""

from __future__ import annotations

from kgbench.model import Case, Task
from kgbench.record import reading
from kgbench.store.protocol import Store
from kgbench.tasks import successors

_MOST_CASES = 4_096  # held in memory


class RecordedCases:
    """Reads tasks and cases of ``store`` by IRI, each once for all runs.

    Both methods raise :class:`~kgbench.errors.StoreError` for an IRI that the store lacks.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._tasks: dict[str, Task] = {}
        self._cases: dict[str, Case] = {}

    def task(self, iri: str) -> Task:
        """Return a task as it was recorded."""
        if iri not in self._tasks:
            self._tasks[iri] = reading.task(self.store, iri)
        return self._tasks[iri]

    def case(self, iri: str) -> Case:
        """Return a case, converted to the current version of its task class."""
        if iri not in self._cases:
            if len(self._cases) >= _MOST_CASES:
                self._cases.clear()
            self._cases[iri] = successors.as_successor_case(reading.case(self.store, iri))
        return self._cases[iri]
