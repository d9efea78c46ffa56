# SPDX-License-Identifier: Apache-2.0
"""Results by suite: the tables behind leaderboards, cubes and claims, and their figures."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.analysis.compass import compass_table, find_compass
from kgbench.analysis.leaders import leaders
from kgbench.analysis.task_scores import task_scores
from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.pages import neighbours, things
from kgbench.pages.snapshot import View
from kgbench.publish.selection import PublishedParts
from kgbench.scores.selection import Selection, select
from kgbench.store.iris import slug
from kgbench.tables import Table, Value
from kgbench.vocab import KGB, RDFS, SKOS

_MODEL = ox.NamedNode(KGB.model)
_MOST_DRAWN = 100  # models in a figure; more cannot be told apart, and take minutes to draw
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
    return compass_table(store, selection, find_compass(name))


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


class Figure(NamedTuple):
    """A figure: its kind and title, and the paths of the SVG and of the plotted numbers."""

    kind: str
    title: str
    svg: str
    numbers: str


def figures(results: SuiteResults, folder: Path, state: str) -> Iterator[Figure]:
    """Draw the figures of a suite into ``folder``, with its best hundred models.

    The paths in the results are relative to the site; their last parts are the names in ``folder``.
    """
    from kgbench.plots.compasses import compass_figure
    from kgbench.plots.figures import save
    from kgbench.plots.standings import standings_figure

    ranked = results.tables.get(BOARD) or next(iter(results.tables.values()), None)
    best = [] if ranked is None else list(dict.fromkeys(ranked.column("model")))[:_MOST_DRAWN]
    for kind, table in results.tables.items():
        if kind == TASKS:
            continue
        name = f"{results.slug}-{kind}"
        drawable = _drawable(table, best)
        with warnings.catch_warnings():
            # Readers of the SVG may have fonts for characters that this machine lacks.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            figure = standings_figure(drawable) if kind == BOARD else compass_figure(drawable)
            svg, numbers = save(figure, folder, name, formats=["svg"], tables=[table], state=state)
        yield Figure(kind, table.title, f"figures/{svg.name}", f"figures/{numbers.name}")


def _drawable(table: Table, models: Collection[Value]) -> Table:
    """Return the rows of these models, with names that are safe to draw.

    These are short, and without control characters.
    """

    def name(value: Value) -> Value:
        return one_line(value)[:80] if isinstance(value, str) else value

    index = table.names.index("model")
    rows = tuple(tuple(map(name, row)) for row in table.rows if row[index] in models)
    all_shown = len(rows) == len(table.rows)
    title = table.title if all_shown else f"{table.title}: the {len(models)} best models"
    return replace(table, title=title, rows=rows)
