# SPDX-License-Identifier: Apache-2.0
"""Export of tables as XLSX: a sheet with the table, and one with notes and context."""

from __future__ import annotations

import io
import math
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from kgbench.characters import visible
from kgbench.tables import Kind, Table, Value
from kgbench.tables.rendering import format_value

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


LONGEST = 32_767
"""The greatest number of characters in a cell, by the specification of the format."""

_MARGIN, _WIDEST = 3, 60  # characters: for the button of the filter; of a column
_FORMATS = {Kind.SCORE: "0.000", Kind.SHARE: "0.0%", Kind.P: "0.0000"}
_CREATED = datetime(1980, 1, 1)  # noqa: DTZ001 - a constant: equal tables give equal bytes
_AS_TEXT = {f"strings_to_{kind}": False for kind in ("formulas", "numbers", "urls")}


def as_xlsx(table: Table) -> bytes:
    """Return the table as an XLSX file.

    Columns are as wide as their values, and can be filtered. Cells hold numbers with 16 significant
    digits, and formats round them for display. Absent values are empty cells, infinities are text,
    and text is never a formula or a link. Text longer than :data:`LONGEST` is cut off; a note on
    the second sheet says so.
    """
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, **_AS_TEXT}) as book:
        book.set_properties({"created": _CREATED})
        bold = book.add_format({"bold": True})
        plain = book.add_format()
        formats = {kind: book.add_format({"num_format": code}) for kind, code in _FORMATS.items()}
        styles = [formats.get(column.kind, plain) for column in table.columns]
        sheet, about_sheet = book.add_worksheet("Table"), book.add_worksheet("About")
        sheet.freeze_panes(1, 0)
        for k, (head, column) in enumerate(zip(_heads(table), table.columns, strict=True)):
            _write(sheet, 0, k, head, bold)
            shown = [format_value(row[k], column) for row in table.rows]
            sheet.set_column(k, k, min(max(map(len, [head, *shown])) + _MARGIN, _WIDEST))
        sheet.autofilter(0, 0, len(table.rows), max(len(table.columns) - 1, 0))
        cut = 0
        for n, row in enumerate(table.rows, start=1):
            for k, (value, style) in enumerate(zip(row, styles, strict=True)):
                cut += _write(sheet, n, k, value, style)
        notes = list(table.notes)
        if cut:
            notes.append(f"cells with a text cut off after {LONGEST:,} characters: {cut}")
        lines: list[tuple[Value, ...]] = [(table.title,), *((note,) for note in notes)]
        lines += [*table.context.items(), ("queries", ", ".join(table.queries))]
        for n, line in enumerate(lines):
            for k, value in enumerate(line):
                _write(about_sheet, n, k, value, plain if n else bold)
    return out.getvalue()


def _heads(table: Table) -> list[str]:
    """Return the headings; those that several columns have are followed by the column's name."""
    uses = Counter(column.title for column in table.columns)
    return [
        column.title if uses[column.title] == 1 else f"{column.title} ({column.name})"
        for column in table.columns
    ]


def _write(sheet: Worksheet, row: int, column: int, value: Value | datetime, style: Format) -> bool:
    """Write a cell; returns whether its text was cut off."""
    if value is None:
        sheet.write_blank(row, column, None, style)
        return False
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
        return False
    if isinstance(value, (int, float)) and math.isfinite(value):
        sheet.write_number(row, column, value, style)
        return False
    text = visible(str(value))
    sheet.write_string(row, column, text[:LONGEST], style)
    return len(text) > LONGEST
