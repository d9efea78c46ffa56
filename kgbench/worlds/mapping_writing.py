# SPDX-License-Identifier: Apache-2.0
"""Writing sources as CSV, JSON, XML or tables, and rules as mappings in RML or R2RML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from kgbench.mapping.vocabularies import FORMULATION_OF
from kgbench.worlds.mapping_parts import (
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
_COLUMN: Final = re.compile(r"\{([\w.]+)\}")
_HEADS: Final = {
    TABLE: "@prefix r: <http://www.w3.org/ns/r2rml#> .",
    CSV: "@prefix r: <http://w3id.org/rml/> .",
}


# Sources


def file_name(source: Source, form: str) -> str:
    """Return what a source is called where mappings name it."""
    return source.name if form == TABLE else f"{source.name}.{form}"


def as_csv(source: Source, rows: Sequence[Row]) -> str:
    """Return a source as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([one.name for one in source.columns])
    for row in rows:
        writer.writerow(["" if row[one.name] is None else row[one.name] for one in source.columns])
    return text.getvalue()


def as_json(source: Source, rows: Sequence[Row]) -> str:
    """Return a source as a JSON object with an array; what has no value is left out."""
    kept = [{name: cell for name, cell in row.items() if cell not in (None, [])} for row in rows]
    return json.dumps({source.name: kept}, indent=1, ensure_ascii=False) + "\n"


def as_xml(source: Source, rows: Sequence[Row]) -> str:
    """Return a source as an XML document; what has no value is left out."""
    lines = [f"<{source.name}>"]
    for row in rows:
        attributes = "".join(
            f" {one.name}={quoteattr(str(row[one.name]))}"
            for one in source.columns
            if one.attribute and row[one.name] is not None
        )
        lines.append(f"  <{source.item}{attributes}>")
        for one in source.columns:
            if not one.attribute:
                lines += _elements(one, row[one.name])
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
        yield from (f"    <{column.name}>{escape(str(one))}</{column.name}>" for one in cell)
    elif cell is not None:
        yield f"    <{column.name}>{escape(str(cell))}</{column.name}>"


def as_table(source: Source, rows: Sequence[Row]) -> dict[str, Any]:
    """Return a source as columns with their SQL types, and rows."""
    columns = [[one.name, "INTEGER" if one.number else "TEXT"] for one in source.columns]
    return {"columns": columns, "rows": [[row[one[0]] for one in columns] for row in rows]}


def as_sql(name: str, table: Mapping[str, Any]) -> str:
    """Return a table as SQL that makes it."""
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
    """Rules as a mapping in Turtle: R2RML for tables, else RML core."""
    head = _HEADS.get(form, _HEADS[CSV])
    texts = [_Writer(rule, sources[rule.source], form).text(sources) for rule in rules]
    return "\n\n".join([f"{head}\n@prefix m: <{_MAPS}> .", *texts])


class _Writer:
    """Writes one rule."""

    def __init__(self, rule: Rule, source: Source, form: str) -> None:
        self._rule = rule
        self._source = source
        self._form = form

    def text(self, sources: Mapping[str, Source]) -> str:
        parts = [f"m:{self._rule.name} a r:TriplesMap", self._logical_source(), self._subject()]
        for one in self._rule.parts:
            said = self._object(one, sources)
            parts.append(
                f"r:predicateObjectMap [ r:predicate <{one.predicate}> ;\n        {said} ]"
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
        of, within = self._source, self._rule.within
        column, value = self._rule.only
        if self._form == JSON:
            rows = f"[?(@.{column} == '{value}')]" if column else "[*]"
            return f"$.{of.name}{rows}" + (f".{within}[*]" if within else "")
        if self._form == XML:
            tested = f"[{self._path(column)} = '{value}']" if column else ""
            inner = f"/{within}/{of.column(within).item}" if within else ""
            return f"/{of.name}/{of.item}{tested}{inner}"
        return None

    def _path(self, name: str) -> str:
        """Return how a reference names a column, or a column within another (``outer.inner``)."""
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
        return _COLUMN.sub(lambda match: "{" + self._path(match[1]) + "}", text)

    def _subject(self) -> str:
        rule = self._rule
        said = [f'r:template "{self._template(rule.subject)}"']
        said += ["r:termType r:BlankNode"] if rule.blank else []
        said += [f"r:class <{one}>" for one in rule.classes]
        if rule.graph:
            said.append(f'r:graphMap [ r:template "{self._template(rule.graph)}" ]')
        return f"r:subjectMap [ {' ; '.join(said)} ]"

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
            said = [f'r:template "{self._template(part.text)}"']
        else:
            name = "column" if self._form == TABLE else "reference"
            said = [f'r:{name} "{self._path(part.text)}"']
        said += [f"r:termType r:{part.term_type}"] if part.term_type else []
        said += [f"r:datatype <{part.datatype}>"] if part.datatype else []
        said += [f'r:language "{part.language}"'] if part.language else []
        if part.tags:
            said.append(f'r:languageMap [ r:reference "{self._path(part.tags)}" ]')
        return f"r:objectMap [ {' ; '.join(said)} ]"
