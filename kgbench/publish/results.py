# SPDX-License-Identifier: Apache-2.0
"""Results by suite: the tables behind leaderboards, cubes, claims and figures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyoxigraph as ox

from kgbench.analysis.compass import compass, compass_table
from kgbench.analysis.leaders import leaders
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Table
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import neighbours, things
from kgbench.pages.snapshot import View
from kgbench.publish.selection import PublishedParts
from kgbench.store.iris import slug
from kgbench.vocab import KGB, RDFS, SKOS

_MODEL = ox.NamedNode(KGB.model)
BOARD, TASKS, _COMPASS = "leaderboard", "tasks", "compass-"


@dataclass(frozen=True)
class SuiteResults:
    """The results within one suite.

    ``tables`` are by kind (``leaderboard``, ``tasks``, ``compass-NAME``). ``passes`` has the graphs
    of the selected passes that evaluate each model (IRI).
    """

    suite: str
    name: str
    label: str
    selection: Selection
    tables: dict[str, Table] = field(default_factory=dict)
    passes: dict[str, set[str]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of the suite in paths."""
        return slug(self.name)

    def document(self, base: str) -> str:
        """Return the IRI of the document with the suite's tables, which is also its page."""
        return f"{base}leaderboard/{self.slug}"

    def cube(self, base: str, kind: str) -> str:
        """Return the IRI of a table as a data cube."""
        return f"{self.document(base)}#{kind}"


def suite_results(view: View, parts: PublishedParts, suite: str) -> SuiteResults | None:
    """Return the results of a suite (IRI); ``None`` if it has dialogues, but no pass yet."""
    name = things.text(view, suite, SKOS.notation) or suite
    label = things.text(view, suite, RDFS.label) or name
    try:
        selection = select(view, suite)
    except QueryError:
        return None
    kinds: dict[str, Callable[[Any, Selection], Table]] = {BOARD: leaders, TASKS: task_scores}
    for compass_iri in things.instances(view, KGB.Compass):
        notation = things.text(view, compass_iri, SKOS.notation)
        if notation:
            kinds[f"{_COMPASS}{notation}"] = partial(_compass, notation)
    results = SuiteResults(suite, name, label, selection)
    for kind, compute in sorted(kinds.items(), key=lambda pair: pair[0].startswith(_COMPASS)):
        with contextlib.suppress(QueryError):  # the suite lacks the tasks of this table
            table = compute(view, selection)
            if table.rows:
                results.tables[kind] = table
    _find_passes(view, parts, results)
    return results


def _compass(name: str, store: Any, selection: Selection) -> Table:
    return compass_table(store, selection, compass(name))


def _find_passes(view: View, parts: PublishedParts, results: SuiteResults) -> None:
    database, selected = view.database, set(results.selection.pass_graphs)
    for run in parts.runs:
        models: set[Any] = {
            quad.object
            for execution in neighbours.of_run(database, ox.NamedNode(run.run))
            for quad in database.quads_for_pattern(execution, _MODEL, None)
        }
        for graph in (graph for _, graph in run.passes if graph in selected):
            for model in models:
                evaluated = database.quads_for_pattern(None, _MODEL, model, ox.NamedNode(graph))
                if next(iter(evaluated), None) is not None:
                    results.passes.setdefault(model.value, set()).add(graph)
