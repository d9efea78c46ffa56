# SPDX-License-Identifier: Apache-2.0
"""Sources of data, and rules by which they become a graph, whatever format the sources have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

Cell: TypeAlias = "str | int | list[str] | list[dict[str, str]] | None"
Row: TypeAlias = Mapping[str, Cell]

CSV, JSON, XML, TABLE = "csv", "json", "xml", "table"
FORMATS: Final = (CSV, JSON, XML, TABLE)
NESTING: Final = frozenset({JSON, XML})
"""Formats in which a value may consist of others."""


class Column(NamedTuple):
    """A column: its name, and whether it has numbers, several values, or things with own columns.

    ``attribute`` says that XML has an attribute for it; ``item`` is what it calls each of several.
    """

    name: str
    number: bool = False
    several: bool = False
    nested: tuple[str, ...] = ()
    attribute: bool = False
    item: str = ""


class Source(NamedTuple):
    """A file or table: its name (plural), what it calls one of its rows, and its columns."""

    name: str
    item: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """Return the column with a name."""
        return next(one for one in self.columns if one.name == name)


class Part(NamedTuple):
    """What a rule says with a predicate.

    ``text`` is the name of a column (``kind`` reference), a template with names of columns in
    braces, a term in Turtle (constant), or the name of another rule (join), whose source has the
    value of the second of the columns ``on`` where this one has it in the first.
    ``term_type``, ``datatype`` and ``language`` are those of RML; ``tags`` names a column of
    languages.
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
    """What is said of each row of a source, or of what is ``within`` one of its columns.

    ``only`` is a column and the value that rows must have there to count. ``graph`` is a template
    for the name of a graph; ``""`` is the default graph.
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
