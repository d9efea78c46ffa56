# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the tables and figures of papers, with a comparison of every printed cell.

``queries/papers.ttl`` declares the tables, ``queries/published/`` holds the printed cells as text.
A number agrees if it rounds to the printed digits, a word if it is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from functools import cache

import kgbench.api as kb
from kgbench.analysis.compass import compass_table, find_compass
from kgbench.analysis.difficulty import sizes
from kgbench.analysis.format_preference import format_preference
from kgbench.analysis.leaderboard import printed_rows
from kgbench.analysis.leaders import leaders
from kgbench.analysis.task_scores import task_scores
from kgbench.plugins.papers import text2kg
from kgbench.plugins.papers.aspects import aspects
from kgbench.rdf.declared import shipped
from kgbench.scores.catalogue import recorded, records
from kgbench.scores.declared import score_set
from kgbench.scores.selection import select
from kgbench.tables.rendering import as_markdown
from kgbench.vocab import DCTERMS, SKOS

AGREES, DIFFERS, NO_RESULTS = "agrees", "differs", "no results"
UNEXPLAINED = "unexplained"
CELLS = (
    kb.Column("key", "Row"),
    kb.Column("column", "Column"),
    kb.Column("printed", "Printed"),
    kb.Column("computed", "Computed"),
    kb.Column("verdict", "Verdict"),
    kb.Column("cause", "Cause"),
)
SUMMARY = (
    kb.Column("name", "Name"),
    kb.Column("label", "What"),
    kb.Column("printed", "Cells with results", kb.Kind.COUNT),
    kb.Column("agree", "Agree", kb.Kind.COUNT),
    kb.Column("unexplained", "Differ, unexplained", kb.Kind.COUNT),
    kb.Column("explained", "Differ, explained", kb.Kind.COUNT),
    kb.Column("without", "Cells without results", kb.Kind.COUNT),
    kb.Column("note", "Note"),
)
ANALYSES: Mapping[str, Callable[[kb.Store, kb.Selection, Mapping[str, str]], kb.Table]] = {
    "aspects": lambda store, chosen, _: aspects(store, chosen),
    "compass": lambda store, chosen, arguments: compass_table(
        store, chosen, find_compass(arguments["compass"])
    ),
    "format-preference": lambda store, chosen, _: format_preference(store, chosen),
    "leaderboard": lambda store, chosen, arguments: leaders(
        store, chosen, score_set(arguments["set"])
    ),
    "sizes": lambda store, chosen, arguments: _sizes(store, chosen, arguments or {"*": None}),
    "tasks": lambda store, chosen, _: task_scores(store, chosen),
    "text2kg": lambda store, chosen, arguments: _without_printed(
        text2kg.TABLES[arguments["table"]](store, chosen)
    ),
}
"""The analyses that reproduce published tables, by name."""


@dataclass(frozen=True, slots=True)
class Published:
    """A declared table or figure of a paper.

    ``suite`` (IRI), ``analysis`` and ``arguments`` reproduce it; ``analysis`` is ``None`` for a
    table that does not depend on results. ``keys`` are the columns that identify rows,
    ``tolerance`` is the precision of values read from a drawing, and ``tasks`` are the globs of
    task labels of a figure that shows only some tasks.
    """

    name: str
    label: str
    source: str
    note: str | None
    suite: str | None
    analysis: str | None
    arguments: Mapping[str, str]
    keys: tuple[str, ...]
    tolerance: float | None
    figure: str | None
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A printed cell and its computed value, with a verdict and the cause of a difference."""

    key: str
    column: str
    printed: str
    computed: kb.Value
    verdict: str
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The reproduction of a published table; ``table`` is ``None`` without results."""

    published: Published
    selection: kb.Selection | None
    table: kb.Table | None
    cells: tuple[Cell, ...]

    def count(self, verdict: str) -> int:
        """Return the number of cells with a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def unexplained(self) -> int:
        """The number of cells that differ without a known cause."""
        return sum(cell.cause == UNEXPLAINED for cell in self.cells)

    def as_table(self) -> kb.Table:
        """Return a table of every printed cell beside the computed one."""
        return kb.Table(
            title=f"{self.published.name}: {self.published.label}",
            columns=CELLS,
            rows=tuple(
                (c.key, c.column, c.printed, _text(c.computed), c.verdict, c.cause)
                for c in self.cells
            ),
            notes=tuple(filter(None, (self.published.source, self.published.note))),
        )


@cache
def published() -> tuple[Published, ...]:
    """Return the declared tables and figures, sorted by name."""
    declared = shipped("queries", "papers.ttl")
    tables = [
        Published(
            name=declared.required(node, SKOS.notation),
            label=declared.required(node, kb.RDFS.label),
            source=declared.required(node, DCTERMS.source),
            note=declared.text(node, SKOS.scopeNote),
            suite=declared.text(node, kb.KGB.suite),
            analysis=declared.text(node, kb.KGB.analysisName),
            arguments=declared.read(node, kb.KGB.parameters, json.loads) or {},
            keys=tuple(str(key.value) for key in declared.objects(node, kb.KGB.keyColumn)),
            tolerance=declared.read(node, kb.KGB.tolerance, float),
            figure=declared.text(node, kb.KGB.figureKind),
            tasks=tuple(str(glob.value) for glob in declared.objects(node, kb.KGB.taskGlob)),
        )
        for node in declared.instances(kb.KGB.PublishedTable)
    ]
    return tuple(sorted(tables, key=lambda table: table.name))


def chosen(globs: Iterable[str]) -> list[Published]:
    """Return the declared tables whose names match any of the globs; all of them without globs.

    Raises :class:`~kgbench.errors.QueryError` for a glob that matches none.
    """
    patterns = list(globs) or ["*"]
    for glob in patterns:
        if not any(fnmatchcase(table.name, glob) for table in published()):
            names = ", ".join(table.name for table in published())
            raise kb.QueryError(f"no published table is called '{glob}'; there are: {names}")
    return [
        table for table in published() if any(fnmatchcase(table.name, glob) for glob in patterns)
    ]


def reproduce(store: kb.Store, declared: Published) -> Reproduced:
    """Reproduce a published table from the first passes of its suite."""
    rows = printed_rows(declared.name)
    try:
        if declared.analysis is None:
            return Reproduced(declared, None, None, ())
        selection = select(store, declared.suite)
        table = ANALYSES[declared.analysis](store, selection, declared.arguments)
    except kb.QueryError:  # the store has no results of this suite, or none of these tasks
        return Reproduced(declared, None, None, tuple(_absent(declared, rows)))
    if declared.tasks and "task" in table.names:
        index = table.names.index("task")
        selected_rows = tuple(
            row
            for row in table.rows
            if any(fnmatchcase(str(row[index]), glob) for glob in declared.tasks)
        )
        table = replace(table, rows=selected_rows)
    return Reproduced(declared, selection, table, tuple(_cells(store, declared, rows, table)))


def summary(reproduced: Iterable[Reproduced]) -> kb.Table:
    """Count the agreeing and differing cells of each published table, one row per table."""
    rows = []
    for result in reproduced:
        differing = result.count(DIFFERS)
        compared = differing + result.count(AGREES)
        note = result.published.note
        if result.table is None and result.published.analysis is not None:
            note = "No results: import the results of this suite."
        rows.append(
            (
                result.published.name,
                result.published.label,
                compared,
                result.count(AGREES),
                result.unexplained,
                differing - result.unexplained,
                result.count(NO_RESULTS),
                note,
            )
        )
    return kb.Table("Tables and figures of papers, made again", SUMMARY, tuple(rows))


def report(reproduced: Iterable[Reproduced]) -> str:
    """Render the summary and all differing cells as Markdown, unexplained differences first."""
    reproduced = list(reproduced)
    title = "Cells that differ"
    columns = (kb.Column("name", "Table"), *(c for c in CELLS if c.name != "verdict"))
    differing = [
        (result.published.name, c.key, c.column, c.printed, _text(c.computed), c.cause)
        for result in reproduced
        for c in result.cells
        if c.verdict == DIFFERS
    ]
    differing.sort(key=lambda row: row[-1] != UNEXPLAINED)
    tables = [summary(reproduced), kb.Table(title, columns, tuple(differing))]
    return "\n".join(as_markdown(table) for table in tables if table.rows)


def agrees(printed: str, computed: kb.Value, tolerance: float | None = None) -> bool:
    """Return whether a value equals the printed one: the same word, or the same printed digits.

    Markers of bold type are ignored. With a ``tolerance``, numbers may differ by that much instead.

    >>> agrees("0.94", 0.9407), agrees("0.94", 0.9457), agrees("TTL", "**TTL**")
    (True, False, True)
    """
    if isinstance(computed, bool):
        return printed == ("yes" if computed else "no")
    if computed is None or isinstance(computed, str):
        return printed == (computed or "").strip("*")
    try:
        number = Decimal(printed)
    except InvalidOperation:
        return False
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent == 0 and tolerance is None:
        return float(number) == computed
    allowed = 0.5 * 10.0**exponent if tolerance is None else tolerance
    return abs(float(number) - computed) <= allowed + 1e-9  # halves round either way


def _cells(
    store: kb.Store, declared: Published, rows: list[dict[str, str]], table: kb.Table
) -> Iterable[Cell]:
    models = _named_models(store, {row["model"] for row in rows if "model" in row})
    computed = table.records()
    for row in rows:
        matching = [
            record
            for record in computed
            if all(_fits(key, row[key], record[key], models) for key in declared.keys)
        ]
        if not matching:
            yield from _absent(declared, [row])
            continue
        for column in (name for name in row if name not in declared.keys and row[name]):
            values = [record[column] for record in matching]
            wrong = [v for v in values if not agrees(row[column], v, declared.tolerance)]
            key = _key(declared, row)
            if wrong:
                cause = _cause(declared.name, key, column, row[column], wrong[0])
                yield Cell(key, column, row[column], wrong[0], DIFFERS, cause)
            else:
                yield Cell(key, column, row[column], values[0], AGREES)


def _absent(declared: Published, rows: Iterable[dict[str, str]]) -> Iterable[Cell]:
    for row in rows:
        for column in (name for name in row if name not in declared.keys and row[name]):
            yield Cell(_key(declared, row), column, row[column], None, NO_RESULTS)


def _key(declared: Published, row: Mapping[str, str]) -> str:
    return " / ".join(row[key] for key in row if key in declared.keys)


def _fits(column: str, printed: str, computed: kb.Value, models: Mapping[str, set[str]]) -> bool:
    if column == "model":
        return str(computed) in models.get(printed, ()) or str(computed) == printed
    return fnmatchcase(str(computed), printed)


def _named_models(store: kb.Store, printed: Iterable[str]) -> dict[str, set[str]]:
    """Return the names that models have in a store, by their names in a paper.

    A paper's name is the label of a model's record (``queries/models.ttl``), or a glob over ids.
    """
    model_records, models = records(), kb.model_names(store)
    names: dict[str, set[str]] = {}
    for model in models.values():
        record = recorded(model.id, model_records)
        for name in printed:
            if (record is not None and record.label == name) or models.fits(model.iri, name):
                names.setdefault(name, set()).add(model.name)
    return names


def _cause(table: str, key: str, column: str, printed: str, computed: kb.Value) -> str:
    """Return the known cause of a difference of this size, or :data:`UNEXPLAINED`."""
    for difference in printed_rows("differences"):
        fits = fnmatchcase(key, difference["key"]) and fnmatchcase(column, difference["column"])
        if difference["table"] == table and fits:
            within = difference["within"]
            if not within or agrees(printed, computed, float(within)):
                return difference["cause"]
    return UNEXPLAINED


def _text(value: kb.Value) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value).strip("*")


def _sizes(store: kb.Store, selection: kb.Selection, metrics: Mapping[str, str | None]) -> kb.Table:
    """Tabulate scores by size, by one of the ``metrics`` for each glob of task labels."""
    first, *others = (
        sizes(store, replace(selection, tasks=tasks), metric=metric, interval="student")
        for tasks, metric in metrics.items()
    )
    return replace(first, rows=first.rows + tuple(row for table in others for row in table.rows))


def _without_printed(table: kb.Table) -> kb.Table:
    """Drop the printed rows from a table of Text2KGBench, and the rows of other task classes."""
    if "source" not in table.names:
        return table
    index = table.names.index("source")
    rows = tuple(row for row in table.rows if row[index] == text2kg.FORM)
    return replace(table, rows=rows)
