# SPDX-License-Identifier: Apache-2.0
"""The sources of a mapping: files and tables by name, and their records."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kgbench.mapping import json_path, xml_path
from kgbench.mapping.document import LogicalSource, Record, Value
from kgbench.mapping.limits import Budget, MappingError
from kgbench.mapping.tables import Database, Table
from kgbench.vocab import XSD

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
        for node in json_path.select(reference, self._node):
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
    return Value(str(value), XSD.double) if isinstance(value, json_path.Number) else Value(value)


class _JsonFile:
    """A JSON document."""

    def __init__(self, name: str, text: str) -> None:
        try:
            self._document = json.loads(text, parse_float=json_path.Number)
        except (ValueError, RecursionError) as error:
            raise MappingError(f"{name} is no JSON: {error}") from None

    def records(self, source: LogicalSource, budget: Budget) -> Iterator[Record]:
        nodes = json_path.select(source.iterator or "", self._document)
        return (_JsonPart(node, source.nulls, budget) for node in nodes)


class _XmlPart:
    """An element of an XML document."""

    def __init__(
        self, document: xml_path.Document, element: xml_path.Node, nulls: frozenset[str]
    ) -> None:
        self._document = document
        self._element = element
        self._nulls = nulls

    def values(self, reference: str) -> list[Value]:
        texts = (xml_path.text(node) for node in self._document.select(reference, self._element))
        return [Value(text) for text in texts if text and text not in self._nulls]


class _XmlFile:
    """An XML document."""

    def __init__(self, name: str, text: str) -> None:
        if "<!DOCTYPE" in text:
            raise MappingError(f"{name} has a document type declaration, which is not read")
        try:
            self._document = xml_path.Document(text)
        except xml_path.Malformed as error:
            raise MappingError(f"{name} is no XML: {error}") from None

    def records(self, source: LogicalSource, _: Budget) -> Iterator[Record]:
        nodes = self._document.elements(source.iterator or "")
        return (_XmlPart(self._document, node, source.nulls) for node in nodes)


_FILES: Final = {"csv": _CsvFile, "json": _JsonFile, "xml": _XmlFile}
