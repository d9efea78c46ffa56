# SPDX-License-Identifier: Apache-2.0
"""The sources of a mapping: files and tables by name, and their records.

Tables, and queries of R2RML, are in an in-memory SQLite database with read-only access.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kgbench.mapping import paths
from kgbench.mapping.document import LogicalSource, Record, Value
from kgbench.mapping.limits import Budget, MappingError
from kgbench.vocab import XSD

Cell = str | int | float | bytes | None

_STEPS: Final = 3_000_000  # most instructions of SQLite's virtual machine for one query
_CHECK_INTERVAL: Final = 1_000  # instructions between two checks
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 100_000,  # of texts
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
_FUNCTIONS: Final = frozenset(
    {
        "abs",
        "avg",
        "cast",
        "coalesce",
        "count",
        "dense_rank",
        "glob",
        "group_concat",
        "ifnull",
        "iif",
        "instr",
        "length",
        "like",
        "lower",
        "ltrim",
        "max",
        "min",
        "nullif",
        "rank",
        "replace",
        "round",
        "row_number",
        "rtrim",
        "substr",
        "substring",
        "sum",
        "total",
        "trim",
        "typeof",
        "upper",
    }
)
_INTEGER, _DOUBLE, _HEX_BINARY = XSD.integer, XSD.double, XSD.hexBinary


class Table(NamedTuple):
    """A table: its columns as pairs of name and SQL type, and its rows."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]


class Row:
    """A row of a table or query result, as a record."""

    def __init__(self, indexes: Mapping[str, int], cells: Sequence[Cell]) -> None:
        self._indexes = indexes
        self._cells = cells

    def values(self, reference: str) -> list[Value]:
        """Return the value of a column; its name is case-insensitive and may be quoted."""
        index = self._indexes.get(_unquoted(reference).lower())
        if index is None:
            names = ", ".join(self._indexes)[:500]
            raise MappingError(f'there is no column "{reference[:200]}", but: {names}')
        cell = self._cells[index]
        if cell is None:
            return []
        if isinstance(cell, bytes):
            return [Value(cell.hex().upper(), _HEX_BINARY)]
        if isinstance(cell, int):
            return [Value(str(cell), _INTEGER)]
        return [Value(repr(cell), _DOUBLE) if isinstance(cell, float) else Value(cell)]


class Database:
    """A database with the tables of a case, for queries in SQL."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._names = {name.lower(): name for name in tables}
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("PRAGMA temp_store = MEMORY")
        for name, table in tables.items():
            columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in table.columns)
            self._connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
            marks = ", ".join("?" * len(table.columns))
            self._connection.executemany(
                f"INSERT INTO {quoted(name)} VALUES ({marks})",  # noqa: S608 - quoted
                table.rows,
            )
        for limit, most in _LIMITS.items():
            self._connection.setlimit(limit, most)
        self._connection.set_authorizer(_authorise)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def table(self, name: str, budget: Budget) -> Iterator[Row]:
        """Yield the rows of a table in order.

        Raises :class:`MappingError` if there is no such table.
        """
        known = self._names.get(_unquoted(name).lower())
        if known is None:
            raise MappingError(
                f"names a source that the case does not have: the table {name[:200]}"
            )
        return self.query(f"SELECT * FROM {quoted(known)}", budget)  # noqa: S608 - one of the tables

    def query(self, text: str, budget: Budget) -> Iterator[Row]:
        """Yield the rows of a query.

        Raises :class:`MappingError` if the query is invalid, not allowed, or takes too many steps.
        """
        steps = 0

        def is_enough() -> bool:
            nonlocal steps
            steps += _CHECK_INTERVAL
            return steps > _STEPS

        self._connection.set_progress_handler(is_enough, _CHECK_INTERVAL)
        try:
            cursor = self._connection.execute(text.strip().rstrip(";"))
            if cursor.description is None:
                raise MappingError("the SQL query has no columns")
            names = [column[0].lower() for column in cursor.description]
            duplicates = {name for name in names if names.count(name) > 1}
            if duplicates:
                raise MappingError(f"columns of the SQL query have one name: {min(duplicates)}")
            indexes = {name: index for index, name in enumerate(names)}
            for cells in cursor:
                budget.spend("records")
                yield Row(indexes, cells)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            reason = "it takes too many steps" if str(error) == "interrupted" else str(error)
            raise MappingError(f"the SQL query cannot be executed: {reason[:500]}") from None


def quoted(name: str) -> str:
    """Quote a name for SQL.

    >>> quoted('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def _unquoted(name: str) -> str:
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in '"`':
        return name[1:-1].replace('""', '"')
    return name


def _authorise(
    action: int, first: str | None, second: str | None, _database: str | None, _by: str | None
) -> int:
    """Authorise reads and deterministic functions; deny everything else."""
    if action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}:
        is_own = first is None or not first.lower().startswith(("sqlite_", "pragma_"))
        return sqlite3.SQLITE_OK if is_own else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


_HERE: Final = "./"


class Data(NamedTuple):
    """The data that mappings may read: texts of files, and tables, both by name."""

    files: Mapping[str, str]
    tables: Mapping[str, Table]


class Sources:
    """A reader of the records of logical sources, which parses each file only once."""

    def __init__(self, data: Data, budget: Budget) -> None:
        self._data = data
        self._budget = budget
        self._parsed: dict[tuple[str, str], Any] = {}
        self._database: Database | None = None

    def close(self) -> None:
        """Close the database of tables, if one was opened."""
        if self._database is not None:
            self._database.close()

    def records(self, source: LogicalSource) -> Iterator[Record]:
        """Yield the records of a logical source, in its order.

        Raises :class:`~kgbench.mapping.limits.MappingError` if the source is missing or malformed,
        or if its iterator is ill-formed.
        """
        if source.kind in {"table", "query"}:
            yield from self._rows(source)
            return
        text = self._text(source.name)
        key = (source.kind, source.name)
        if key not in self._parsed:
            self._parsed[key] = _FILES[source.kind](source.name, text)
        for record in self._parsed[key].records(source, self._budget):
            self._budget.spend("records")
            yield record

    def _text(self, name: str) -> str:
        known = self._data.files.get(name.removeprefix(_HERE))
        if known is None:
            names = ", ".join([*self._data.files, *self._data.tables])
            raise MappingError(
                f"names a source that the case does not have: {name[:200]} (there are: {names})"
            )
        return known

    def _rows(self, source: LogicalSource) -> Iterator[Record]:
        if self._database is None:
            self._database = Database(self._data.tables)
        if source.kind == "table":
            return self._database.table(source.name, self._budget)
        return self._database.query(source.name, self._budget)


class _CsvRow:
    """A row of a CSV file; empty cells count as missing values."""

    def __init__(self, cells: Mapping[str, str], nulls: frozenset[str]) -> None:
        self._cells = cells
        self._nulls = nulls

    def values(self, reference: str) -> list[Value]:
        cell = self._cells.get(reference)
        if cell is None and reference not in self._cells:
            names = ", ".join(self._cells)[:500]
            raise MappingError(f'there is no column "{reference[:200]}", but: {names}')
        return [Value(cell)] if cell and cell not in self._nulls else []


class _CsvFile:
    """The rows of a CSV file."""

    def __init__(self, name: str, text: str) -> None:
        try:
            header, *rows = csv.reader(io.StringIO(text), strict=True)
            self._rows = [dict(zip(header, row, strict=True)) for row in rows if row]
        except (csv.Error, ValueError) as error:
            raise MappingError(f"{name} is no CSV file with a header: {error}") from None

    def records(self, source: LogicalSource, _: Budget) -> Iterator[Record]:
        return (_CsvRow(row, source.nulls) for row in self._rows)


class _JsonPart:
    """A value of a JSON document."""

    def __init__(self, node: Any, nulls: frozenset[str], budget: Budget) -> None:
        self._node = node
        self._nulls = nulls
        self._budget = budget

    def values(self, reference: str) -> list[Value]:
        values = []
        for node in paths.select_json(reference, self._node):
            self._budget.spend("terms")
            if isinstance(node, dict | list):
                kind = "an object" if isinstance(node, dict) else "an array"
                raise MappingError(f"{reference[:200]} finds {kind}, and not a value")
            if node is not None:
                value = _json_value(node)
                values += [value] if value.text not in self._nulls else []
        return values


def _json_value(value: Any) -> Value:
    if isinstance(value, bool):
        return Value(str(value).lower(), XSD.boolean)
    if isinstance(value, int):
        return Value(str(value), XSD.integer)
    return Value(str(value), XSD.double) if isinstance(value, paths.JsonNumber) else Value(value)


class _JsonFile:
    """A JSON document."""

    def __init__(self, name: str, text: str) -> None:
        try:
            self._document = json.loads(text, parse_float=paths.JsonNumber)
        except (ValueError, RecursionError) as error:
            raise MappingError(f"{name} is no JSON: {error}") from None

    def records(self, source: LogicalSource, budget: Budget) -> Iterator[Record]:
        nodes = paths.select_json(source.iterator or "", self._document)
        return (_JsonPart(node, source.nulls, budget) for node in nodes)


class _XmlPart:
    """An element of an XML document."""

    def __init__(
        self, document: paths.XmlDocument, element: paths.XmlNode, nulls: frozenset[str]
    ) -> None:
        self._document = document
        self._element = element
        self._nulls = nulls

    def values(self, reference: str) -> list[Value]:
        texts = (paths.xml_text(node) for node in self._document.select(reference, self._element))
        return [Value(text) for text in texts if text and text not in self._nulls]


class _XmlFile:
    """An XML document."""

    def __init__(self, name: str, text: str) -> None:
        if "<!DOCTYPE" in text:
            raise MappingError(f"{name} has a document type declaration, which is not read")
        try:
            self._document = paths.XmlDocument(text)
        except paths.MalformedXml as error:
            raise MappingError(f"{name} is no XML: {error}") from None

    def records(self, source: LogicalSource, _: Budget) -> Iterator[Record]:
        nodes = self._document.elements(source.iterator or "")
        return (_XmlPart(self._document, node, source.nulls) for node in nodes)


_FILES: Final = {"csv": _CsvFile, "json": _JsonFile, "xml": _XmlFile}
