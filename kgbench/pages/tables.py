# SPDX-License-Identifier: Apache-2.0
"""Tables of analyses for pages: formatted values, and names as links."""

from __future__ import annotations

from typing import Any, NamedTuple

from kgbench.scores.selection import FIRST
from kgbench.tables import Kind, Ref, Table
from kgbench.tables.rendering import format_value

_WEB = ("http://", "https://")


class Cell(NamedTuple):
    """A formatted value, and the IRI of the resource that it names, if any."""

    text: str
    iri: str | None
    number: bool


class Sheet(NamedTuple):
    """A table for templates: headings, rows, notes, and the queries behind it."""

    title: str
    heads: list[tuple[str, bool]]
    rows: list[list[Cell]]
    notes: tuple[str, ...]
    queries: list[tuple[str, dict[str, str]]]
    records: list[dict[str, Any]]


def sheet(table: Table, suite: str | None, *, hide: str = "") -> Sheet:
    """Convert ``table`` for a page, without the column ``hide``.

    Each query behind the table comes with the parameters of its example.
    """
    indexes = [index for index, column in enumerate(table.columns) if column.name != hide]
    columns = [table.columns[index] for index in indexes]
    return Sheet(
        table.title,
        [(column.title, column.kind is not Kind.TEXT) for column in columns],
        [
            [
                Cell(
                    short(format_value(row[index], table.columns[index])),
                    _iri(row[index]),
                    table.columns[index].kind is not Kind.TEXT,
                )
                for index in indexes
            ]
            for row in table.rows
        ],
        table.notes,
        linked_queries(table, suite),
        table.records(),
    )


def linked_queries(table: Table, suite: str | None) -> list[tuple[str, dict[str, str]]]:
    """Return the queries behind a table, with the suite, run and pass that the table covers."""
    covered = {"suite": suite, "run": table.context.get("run"), "pass": table.context.get("pass")}
    if covered["pass"] == FIRST:  # the default of links
        covered["pass"] = None
    parameters = {name: str(value) for name, value in covered.items() if value is not None}
    return [(name, parameters) for name in table.queries]


def short(text: str) -> str:
    """Return the last two path segments of an IRI; other texts unchanged."""
    return "/".join(text.rsplit("/", 2)[1:]) if text.startswith(_WEB) else text


def _iri(value: object) -> str | None:
    if isinstance(value, Ref):
        return value.iri
    return value if isinstance(value, str) and value.startswith(_WEB) else None
