# SPDX-License-Identifier: Apache-2.0
"""Writers of sources (CSV, JSON, XML, tables) and of rules as mappings (RML, R2RML)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from kgbench.mapping.document import FORMULATION_OF

from .aspects import (
    COLUMN,
    CSV,
    JSON,
    TABLE,
    XML,
    Cell,
    Column,
    Part,
    Row,
    Rule,
    Source,
)

_MAPS: Final = "https://w3id.org/kgbench/world/map/"
_HEADS: Final = {
    TABLE: "@prefix r: <http://www.w3.org/ns/r2rml#> .",
    CSV: "@prefix r: <http://w3id.org/rml/> .",
}


# Sources


def file_name(source: Source, form: str) -> str:
    """Return the name of a source in mappings: that of a file or table."""
    return source.name if form == TABLE else f"{source.name}.{form}"


def as_csv(source: Source, rows: Sequence[Row]) -> str:
    """Write a source as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in source.columns])
    for row in rows:
        cells = [row[column.name] for column in source.columns]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()


def as_json(source: Source, rows: Sequence[Row]) -> str:
    """Write a source as a JSON object with an array, without empty cells."""
    kept = [{name: cell for name, cell in row.items() if cell not in (None, [])} for row in rows]
    return json.dumps({source.name: kept}, indent=1, ensure_ascii=False) + "\n"


def as_xml(source: Source, rows: Sequence[Row]) -> str:
    """Write a source as an XML document, without empty cells."""
    lines = [f"<{source.name}>"]
    for row in rows:
        attributes = "".join(
            f" {column.name}={quoteattr(str(row[column.name]))}"
            for column in source.columns
            if column.attribute and row[column.name] is not None
        )
        lines.append(f"  <{source.item}{attributes}>")
        for column in source.columns:
            if not column.attribute:
                lines += _elements(column, row[column.name])
        lines.append(f"  </{source.item}>")
    return "\n".join([*lines, f"</{source.name}>", ""])


def _elements(column: Column, cell: Cell) -> Iterator[str]:
    if isinstance(cell, list) and column.nested:
        yield f"    <{column.name}>"
        for item in cell:
            assert isinstance(item, dict)
            inner = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in item.items())
            yield f"      <{column.item}>{inner}</{column.item}>"
        yield f"    </{column.name}>"
    elif isinstance(cell, list):
        yield from (f"    <{column.name}>{escape(str(item))}</{column.name}>" for item in cell)
    elif cell is not None:
        yield f"    <{column.name}>{escape(str(cell))}</{column.name}>"


def as_table(source: Source, rows: Sequence[Row]) -> dict[str, Any]:
    """Write a source as a table: columns with their SQL types, and rows."""
    columns = [[column.name, "INTEGER" if column.number else "TEXT"] for column in source.columns]
    return {"columns": columns, "rows": [[row[name] for name, _ in columns] for row in rows]}


def as_sql(name: str, table: Mapping[str, Any]) -> str:
    """Write a table as SQL statements that create it."""
    columns = ", ".join(f'"{column}" {kind}' for column, kind in table["columns"])
    rows = ",\n".join(f"  ({', '.join(map(_sql, row))})" for row in table["rows"])
    return f'CREATE TABLE "{name}" ({columns});\nINSERT INTO "{name}" VALUES\n{rows};'


def _sql(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    return str(cell) if isinstance(cell, int) else "'" + str(cell).replace("'", "''") + "'"


WRITERS: Final[Mapping[str, Callable[[Source, Sequence[Row]], Any]]] = {
    CSV: as_csv,
    JSON: as_json,
    XML: as_xml,
    TABLE: as_table,
}


# Mappings


def mapping(rules: Sequence[Rule], sources: Mapping[str, Source], form: str) -> str:
    """Write rules as a mapping in Turtle: R2RML for tables, otherwise RML core."""
    head = _HEADS.get(form, _HEADS[CSV])
    texts = [_Writer(rule, sources[rule.source], form).text(sources) for rule in rules]
    return "\n\n".join([f"{head}\n@prefix m: <{_MAPS}> .", *texts])


class _Writer:
    """A writer of one rule."""

    def __init__(self, rule: Rule, source: Source, form: str) -> None:
        self._rule = rule
        self._source = source
        self._form = form

    def text(self, sources: Mapping[str, Source]) -> str:
        parts = [f"m:{self._rule.name} a r:TriplesMap", self._logical_source(), self._subject()]
        for part in self._rule.parts:
            object_map = self._object(part, sources)
            parts.append(
                f"r:predicateObjectMap [ r:predicate <{part.predicate}> ;\n        {object_map} ]"
            )
        return " ;\n    ".join(parts) + " ."

    def _logical_source(self) -> str:
        name = file_name(self._source, self._form)
        column, value = self._rule.only
        if self._form == TABLE:
            if column:
                query = f"SELECT * FROM {name} WHERE {column} = '{value}'"  # noqa: S608 - our own
                return f'r:logicalTable [ r:sqlQuery "{query}" ]'
            return f'r:logicalTable [ r:tableName "{name}" ]'
        source = f'[ a r:RelativePathSource ; r:root r:MappingDirectory ; r:path "{name}" ]'
        iterator = self._iterator()
        shown = "" if iterator is None else f' ;\n        r:iterator "{iterator}"'
        return (
            f"r:logicalSource [ r:source {source} ;\n"
            f"        r:referenceFormulation r:{FORMULATION_OF[self._form]}{shown} ]"
        )

    def _iterator(self) -> str | None:
        source, within = self._source, self._rule.within
        column, value = self._rule.only
        if self._form == JSON:
            rows = f"[?(@.{column} == '{value}')]" if column else "[*]"
            return f"$.{source.name}{rows}" + (f".{within}[*]" if within else "")
        if self._form == XML:
            condition = f"[{self._path(column)} = '{value}']" if column else ""
            inner = f"/{within}/{source.column(within).item}" if within else ""
            return f"/{source.name}/{source.item}{condition}{inner}"
        return None

    def _path(self, name: str) -> str:
        """Return the reference to a column, or to a column nested in another (``outer.inner``)."""
        outer, _, inner = name.partition(".")
        if self._form in {CSV, TABLE}:
            return name
        column = None if self._rule.within else self._source.column(outer)
        if self._form == JSON:
            several = column is not None and (column.several or column.nested)
            return f"$.{outer}" + ("[*]" if several else "") + (f".{inner}" if inner else "")
        if column is None:
            return outer
        if inner:
            return f"{outer}/{column.item}/{inner}"
        return f"@{outer}" if column.attribute else outer

    def _template(self, text: str) -> str:
        return COLUMN.sub(lambda match: "{" + self._path(match[1]) + "}", text)

    def _subject(self) -> str:
        rule = self._rule
        properties = [f'r:template "{self._template(rule.subject)}"']
        properties += ["r:termType r:BlankNode"] if rule.blank else []
        properties += [f"r:class <{class_iri}>" for class_iri in rule.classes]
        if rule.graph:
            properties.append(f'r:graphMap [ r:template "{self._template(rule.graph)}" ]')
        return f"r:subjectMap [ {' ; '.join(properties)} ]"

    def _object(self, part: Part, sources: Mapping[str, Source]) -> str:
        if part.kind == "constant":
            return f"r:object {part.text}"
        if part.kind == "join":
            child, parent = part.on
            other = _Writer(
                self._rule._replace(source=part.text, within=""), sources[part.text], self._form
            )
            condition = f'[ r:child "{self._path(child)}" ; r:parent "{other._path(parent)}" ]'
            return f"r:objectMap [ r:parentTriplesMap m:{part.text} ; r:joinCondition {condition} ]"
        if part.kind == "template":
            properties = [f'r:template "{self._template(part.text)}"']
        else:
            name = "column" if self._form == TABLE else "reference"
            properties = [f'r:{name} "{self._path(part.text)}"']
        properties += [f"r:termType r:{part.term_type}"] if part.term_type else []
        properties += [f"r:datatype <{part.datatype}>"] if part.datatype else []
        properties += [f'r:language "{part.language}"'] if part.language else []
        if part.tags:
            properties.append(f'r:languageMap [ r:reference "{self._path(part.tags)}" ]')
        return f"r:objectMap [ {' ; '.join(properties)} ]"
