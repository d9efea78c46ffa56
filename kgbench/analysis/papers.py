# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of papers, made again from results, each cell beside what is printed.

``queries/papers.ttl`` declares them, ``queries/published/`` holds the printed cells as text. A
number agrees where it rounds to the printed digits, a word where it is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from functools import cache

from kgbench.analysis import scores as fetch
from kgbench.analysis import text2kg
from kgbench.analysis.aspects import task_aspects
from kgbench.analysis.compass import compass, compass_table
from kgbench.analysis.declarations import printed_rows, score_set
from kgbench.analysis.format_preference import format_preference
from kgbench.analysis.leaders import leaders
from kgbench.analysis.rendering import as_markdown
from kgbench.analysis.scaling import recorded, records
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.sizes import sizes
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.rdf.declared import shipped
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

AGREES, DIFFERS, NO_RESULTS = "agrees", "differs", "no results"
UNEXPLAINED = "unexplained"
CELLS = (
    Column("key", "Row"),
    Column("column", "Column"),
    Column("printed", "Printed"),
    Column("computed", "Computed"),
    Column("verdict", "Verdict"),
    Column("cause", "Cause"),
)
SUMMARY = (
    Column("name", "Name"),
    Column("label", "What"),
    Column("printed", "Cells with results", Kind.COUNT),
    Column("agree", "Agree", Kind.COUNT),
    Column("unexplained", "Differ, unexplained", Kind.COUNT),
    Column("explained", "Differ, explained", Kind.COUNT),
    Column("without", "Cells without results", Kind.COUNT),
    Column("note", "Note"),
)
ANALYSES: Mapping[str, Callable[[Store, Selection, Mapping[str, str]], Table]] = {
    "aspects": lambda store, chosen, _: task_aspects(store, chosen),
    "compass": lambda store, chosen, given: compass_table(store, chosen, compass(given["compass"])),
    "format-preference": lambda store, chosen, _: format_preference(store, chosen),
    "leaderboard": lambda store, chosen, given: leaders(store, chosen, score_set(given["set"])),
    "sizes": lambda store, chosen, _: sizes(store, chosen, interval="student"),
    "tasks": lambda store, chosen, _: task_scores(store, chosen),
    "text2kg": lambda store, chosen, given: _without_printed(
        text2kg.TABLES[given["table"]](store, chosen)
    ),
}
"""The analyses that make published tables, by name."""


@dataclass(frozen=True, slots=True)
class Published:
    """A declared table or figure of a paper.

    ``suite`` (IRI), ``analysis`` and ``arguments`` say what makes it again; ``analysis`` is
    ``None`` for what no results make. ``keys`` are the columns that tell rows apart, ``tolerance``
    is how exactly values were read from a drawing, and ``tasks`` are the task labels of a figure
    that shows only some.
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
    """A printed cell beside the computed value, with a verdict and the cause of a difference."""

    key: str
    column: str
    printed: str
    computed: Value
    verdict: str
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A published table as it was made again; ``table`` is ``None`` without results."""

    published: Published
    selection: Selection | None
    table: Table | None
    cells: tuple[Cell, ...]

    def count(self, verdict: str) -> int:
        """How many cells have a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def unexplained(self) -> int:
        """How many cells differ without a known cause."""
        return sum(cell.cause == UNEXPLAINED for cell in self.cells)

    def as_table(self) -> Table:
        """Every printed cell beside the computed one."""
        return Table(
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
    """The declared tables and figures, by name."""
    declared = shipped("queries", "papers.ttl")
    found = [
        Published(
            name=declared.required(node, SKOS.notation),
            label=declared.required(node, RDFS.label),
            source=declared.required(node, DCTERMS.source),
            note=declared.text(node, SKOS.scopeNote),
            suite=declared.text(node, KGB.suite),
            analysis=declared.text(node, KGB.analysisName),
            arguments=declared.read(node, KGB.parameters, json.loads) or {},
            keys=tuple(str(key.value) for key in declared.objects(node, KGB.keyColumn)),
            tolerance=declared.read(node, KGB.tolerance, float),
            figure=declared.text(node, KGB.figureKind),
            tasks=tuple(str(glob.value) for glob in declared.objects(node, KGB.taskGlob)),
        )
        for node in declared.instances(KGB.PublishedTable)
    ]
    return tuple(sorted(found, key=lambda one: one.name))


def chosen(globs: Iterable[str]) -> list[Published]:
    """The declared tables whose names match any of the globs; all of them without globs.

    Raises :class:`~kgbench.errors.QueryError` for a glob that matches none.
    """
    wanted = list(globs) or ["*"]
    for glob in wanted:
        if not any(fnmatchcase(one.name, glob) for one in published()):
            known = ", ".join(one.name for one in published())
            raise QueryError(f"no published table is called '{glob}'; there are: {known}")
    return [one for one in published() if any(fnmatchcase(one.name, glob) for glob in wanted)]


def reproduce(store: Store, wanted: Published) -> Reproduced:
    """Make a published table again from the first passes of its suite."""
    rows = printed_rows(wanted.name)
    try:
        if wanted.analysis is None:
            return Reproduced(wanted, None, None, ())
        selection = select(store, wanted.suite)
        table = ANALYSES[wanted.analysis](store, selection, wanted.arguments)
    except QueryError:  # the store has no results of this suite, or none of these tasks
        return Reproduced(wanted, None, None, tuple(_absent(wanted, rows)))
    if wanted.tasks and "task" in table.names:
        place = table.names.index("task")
        shown = tuple(
            row
            for row in table.rows
            if any(fnmatchcase(str(row[place]), glob) for glob in wanted.tasks)
        )
        table = replace(table, rows=shown)
    return Reproduced(wanted, selection, table, tuple(_cells(store, wanted, rows, table)))


def summary(found: Iterable[Reproduced]) -> Table:
    """One row per published table: how many of its cells agree."""
    rows = []
    for one in found:
        differing = one.count(DIFFERS)
        compared = differing + one.count(AGREES)
        note = one.published.note
        if one.table is None and one.published.analysis is not None:
            note = "No results: import those of this suite."
        rows.append(
            (
                one.published.name,
                one.published.label,
                compared,
                one.count(AGREES),
                one.unexplained,
                differing - one.unexplained,
                one.count(NO_RESULTS),
                note,
            )
        )
    return Table("Tables and figures of papers, made again", SUMMARY, tuple(rows))


def report(found: Iterable[Reproduced]) -> str:
    """The summary as Markdown, with every cell that differs, the unexplained ones first."""
    found = list(found)
    title = "Cells that differ"
    columns = (Column("name", "Table"), *(c for c in CELLS if c.name != "verdict"))
    differing = [
        (one.published.name, c.key, c.column, c.printed, _text(c.computed), c.cause)
        for one in found
        for c in one.cells
        if c.verdict == DIFFERS
    ]
    differing.sort(key=lambda row: row[-1] != UNEXPLAINED)
    tables = [summary(found), Table(title, columns, tuple(differing))]
    return "\n".join(as_markdown(table) for table in tables if table.rows)


def agrees(printed: str, computed: Value, tolerance: float | None = None) -> bool:
    """Whether a value is what is printed: the same word, or a number to the printed digits.

    Marks of bold type do not count. With a ``tolerance`` numbers may differ by that much instead.

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
    store: Store, wanted: Published, rows: list[dict[str, str]], table: Table
) -> Iterable[Cell]:
    models = _named_models(store, {row["model"] for row in rows if "model" in row})
    computed = table.records()
    for row in rows:
        matching = [
            record
            for record in computed
            if all(_fits(key, row[key], record[key], models) for key in wanted.keys)
        ]
        if not matching:
            yield from _absent(wanted, [row])
            continue
        for column in (name for name in row if name not in wanted.keys and row[name]):
            values = [record[column] for record in matching]
            wrong = [v for v in values if not agrees(row[column], v, wanted.tolerance)]
            key = _key(wanted, row)
            if wrong:
                cause = _cause(wanted.name, key, column, row[column], wrong[0])
                yield Cell(key, column, row[column], wrong[0], DIFFERS, cause)
            else:
                yield Cell(key, column, row[column], values[0], AGREES)


def _absent(wanted: Published, rows: Iterable[dict[str, str]]) -> Iterable[Cell]:
    for row in rows:
        for column in (name for name in row if name not in wanted.keys and row[name]):
            yield Cell(_key(wanted, row), column, row[column], None, NO_RESULTS)


def _key(wanted: Published, row: Mapping[str, str]) -> str:
    return " / ".join(row[key] for key in row if key in wanted.keys)


def _fits(column: str, printed: str, computed: Value, models: Mapping[str, set[str]]) -> bool:
    if column == "model":
        return str(computed) in models.get(printed, ()) or str(computed) == printed
    return fnmatchcase(str(computed), printed)


def _named_models(store: Store, printed: Iterable[str]) -> dict[str, set[str]]:
    """The names that models have in a store, by what a paper calls them.

    A paper's name is the label of a model's record (``queries/models.ttl``), or a glob over ids.
    """
    known, held = records(), fetch.models(store)
    named: dict[str, set[str]] = {}
    for model in held.values():
        record = recorded(model.id, known)
        for name in printed:
            if (record is not None and record.label == name) or held.fits(model.iri, name):
                named.setdefault(name, set()).add(model.name)
    return named


def _cause(table: str, key: str, column: str, printed: str, computed: Value) -> str:
    """Why a cell is known to differ by as much as it does, or :data:`UNEXPLAINED`."""
    for known in printed_rows("differences"):
        fits = fnmatchcase(key, known["key"]) and fnmatchcase(column, known["column"])
        if known["table"] == table and fits:
            within = known["within"]
            if not within or agrees(printed, computed, float(within)):
                return known["cause"]
    return UNEXPLAINED


def _text(value: Value) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value).strip("*")


def _without_printed(table: Table) -> Table:
    """A table of Text2KGBench without the rows that the paper prints, and of its own form alone."""
    if "source" not in table.names:
        return table
    place = table.names.index("source")
    rows = tuple(row for row in table.rows if row[place] == text2kg.FORM)
    return replace(table, rows=rows)
