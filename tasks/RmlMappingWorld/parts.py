# SPDX-License-Identifier: Apache-2.0
"""Data sources, and rules that map them to a graph, independent of the format of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

Cell: TypeAlias = "str | int | list[str] | list[dict[str, str]] | None"
Row: TypeAlias = Mapping[str, Cell]

CSV, JSON, XML, TABLE = "csv", "json", "xml", "table"
FORMATS: Final = (CSV, JSON, XML, TABLE)
NESTING: Final = frozenset({JSON, XML})
"""Formats with nested values."""


class Column(NamedTuple):
    """A column: its name, and whether it has numbers, several values, or ``nested`` columns.

    ``attribute`` makes it an attribute in XML; ``item`` is the XML element of each nested item.
    """

    name: str
    number: bool = False
    several: bool = False
    nested: tuple[str, ...] = ()
    attribute: bool = False
    item: str = ""


class Source(NamedTuple):
    """A file or table: its name (plural), the XML element of a row, and its columns."""

    name: str
    item: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """Return the column with a name."""
        return next(column for column in self.columns if column.name == name)


class Part(NamedTuple):
    """A part of a rule: a predicate with its objects.

    ``text`` is the name of a column (``kind`` reference), a template with names of columns in
    braces, a term in Turtle (constant), or the name of another rule (join). A join matches the
    first column of ``on`` with the second, which is in the source of the other rule. ``term_type``,
    ``datatype`` and ``language`` are those of RML; ``tags`` names a column of language tags.
    """

    predicate: str
    kind: str
    text: str
    term_type: str = ""
    datatype: str = ""
    language: str = ""
    tags: str = ""
    on: tuple[str, str] = ("", "")


class Rule(NamedTuple):
    """A rule that maps each row of a source, or each item nested in the column ``within``.

    ``only`` is a column with the value that selects rows. ``graph`` is a template for the name of
    the graph; ``""`` is the default graph.
    """

    name: str
    source: str
    subject: str
    classes: tuple[str, ...]
    parts: tuple[Part, ...]
    within: str = ""
    only: tuple[str, str] = ("", "")
    blank: bool = False
    graph: str = ""
