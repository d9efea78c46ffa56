# SPDX-License-Identifier: Apache-2.0
"""Rendering of tables as text: for the terminal, and as CSV, JSON, Markdown, HTML and LaTeX.

Formats for programs (CSV, JSON) have unrounded numbers; formats for people have rounded ones.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from kgbench.characters import one_line
from kgbench.tables import Column, Kind, Table, Value

if TYPE_CHECKING:
    from kgbench.tables.terminal import Grid


_SMALLEST_P = 0.0001
_DIGITS = {Kind.SCORE: 3, Kind.P: 4}
_MARKDOWN = re.compile(r"[\\`*_\[\]|~]")  # starts emphasis, code, links and cells


def format_value(value: Value, column: Column) -> str:
    """Format a value for people; an absent one is a dash.

    >>> format_value(0.12345, Column("score", "Score", Kind.SCORE))
    '0.123'
    >>> format_value(0.25, Column("rate", "Rate", Kind.SHARE))
    '25.0 %'
    """
    if value is None:
        return "" if column.kind is Kind.MARK else "-"
    if column.kind is Kind.SHARE and isinstance(value, (int, float)):
        return f"{100 * value:.1f} %"
    if column.kind is Kind.P and isinstance(value, float) and 0 <= value < _SMALLEST_P:
        return f"<{_SMALLEST_P}"
    if isinstance(value, float):
        return f"{value:.{_DIGITS.get(column.kind, 3)}f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def as_csv(table: Table, line_end: str = "\n") -> str:
    """Return the table as CSV (RFC 4180, except for line ends); absent values are empty."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=line_end)
    writer.writerow(table.names)
    writer.writerows([["" if v is None else v for v in row] for row in table.rows])
    return out.getvalue()


def as_json(table: Table) -> str:
    """Return the table with its notes and context as JSON; rows are objects."""
    value = table.as_json()
    value["rows"] = [
        {name: _finite(cell) for name, cell in record.items()} for record in table.records()
    ]
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Value) -> Value:
    """Replace infinity, which JSON lacks, by the text that XSD uses."""
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return value


def markdown_text(text: str) -> str:
    r"""Escape ``text`` for one line of Markdown, without HTML, links, emphasis or table columns.

    >>> markdown_text("[a](javascript:b) <i>")
    '\\[a\\](javascript:b) &lt;i>'
    """
    escaped = _MARKDOWN.sub(r"\\\g<0>", one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


def as_markdown(table: Table) -> str:
    """Return the table in Markdown, with its title above and its notes below."""
    heads = [markdown_text(c.title) for c in table.columns]
    rules = ["---" if c.kind is Kind.TEXT else "---:" for c in table.columns]
    lines = [f"**{markdown_text(table.title)}**", ""]
    lines += [f"| {' | '.join(heads)} |", f"| {' | '.join(rules)} |"]
    for row in table.rows:
        cells = [_markdown_cell(v, c) for v, c in zip(row, table.columns, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"{markdown_text(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def _markdown_cell(value: Value, column: Column) -> str:
    text = format_value(value, column)
    if column.kind is Kind.MARK and text.startswith("**"):
        return f"**{markdown_text(text.strip('*'))}**"
    return markdown_text(text)


def as_html(table: Table) -> str:
    """Return the table as HTML, with title as caption and notes below; all text is escaped.

    >>> as_html(Table("<b>", (Column("n", "n", Kind.COUNT),), ((1,),))).splitlines()[1]
    '<caption>&lt;b&gt;</caption>'
    """
    lines = ["<table>", f"<caption>{_html_text(table.title)}</caption>", _html_rows(table)]
    lines += ["</table>", *(f"<p>{_html_text(note)}</p>" for note in table.notes)]
    return "\n".join(lines) + "\n"


def _html_rows(table: Table) -> str:
    """Return the heading and the rows of an HTML table."""
    heads = "".join(f"<th>{_html_text(column.title)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{_html_text(format_value(v, c))}</td>"
            for v, c in zip(row, table.columns, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"


def _html_text(text: str) -> str:
    """Escape ``text`` for one line of HTML, without elements, attributes or control characters."""
    return escape(one_line(text))


def as_latex(table: Table) -> str:
    """Return the table in LaTeX; see :mod:`kgbench.tables.latex`."""
    from kgbench.tables import latex

    marks = [column.kind is Kind.MARK for column in table.columns]
    notes = [one_line(note) for note in table.notes]
    return latex.render_latex(one_line(table.title), _grid(table), marks, notes)


TEXT_FORMATS: dict[str, Callable[[Table], str]] = {
    "csv": as_csv,
    "json": as_json,
    "markdown": as_markdown,
    "latex": as_latex,
}


def as_terminal(table: Table, width: int | None = None) -> str:
    """Render the table for a terminal of ``width`` columns; ``None`` is as wide as needed."""
    from kgbench.tables import terminal

    text = terminal.render_terminal(one_line(table.title), _grid(table), width)
    lines = [
        line
        for note in table.notes
        for line in (wrap(one_line(note), width) if width else [one_line(note)])
    ]
    return text + "".join(f"{line}\n" for line in lines)


def _grid(table: Table) -> Grid:
    """Return the cells of the table as single lines of text for people."""
    from kgbench.tables import terminal

    return terminal.Grid(
        [one_line(column.title) for column in table.columns],
        [
            [
                one_line(format_value(value, column))
                for value, column in zip(row, table.columns, strict=True)
            ]
            for row in table.rows
        ],
        [column.kind is Kind.TEXT for column in table.columns],
    )


def _carries(character: str) -> bool:
    """Return whether the encoding of standard output has a character; ISO 8859-1 lacks rules."""
    try:
        character.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def render(table: Table, form: str) -> str:
    """Render the table as ``table`` (for a terminal), ``csv``, ``json``, ``markdown`` or ``latex``.

    Raises :class:`ValueError` for another format.
    """
    if form == "table":
        from kgbench.tables import terminal

        bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
        text = as_terminal(table, shutil.get_terminal_size().columns if bounded else None)
        return text if _carries(terminal.RULE) else text.replace(terminal.RULE, "-")
    if form not in TEXT_FORMATS:
        raise ValueError(f"no format '{form}'; there are: table, {', '.join(TEXT_FORMATS)}")
    return TEXT_FORMATS[form](table)
