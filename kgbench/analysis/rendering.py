# SPDX-License-Identifier: Apache-2.0
"""Tables as text: for the terminal, as CSV, JSON, Markdown and LaTeX.

Formats for programs (CSV, JSON) carry numbers in full; those for people are rounded.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable
from textwrap import wrap

from kgbench.analysis.tables import Column, Kind, Table, Value

_SMALLEST_P = 0.0001
_DIGITS = {Kind.SCORE: 3, Kind.P: 4}
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def shown(value: Value, column: Column) -> str:
    """A value as people read it; an absent one is a dash.

    >>> shown(0.12345, Column("score", "Score", Kind.SCORE))
    '0.123'
    >>> shown(0.25, Column("rate", "Rate", Kind.SHARE))
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


def visible(text: str) -> str:
    r"""``text`` with everything that could steer a terminal made visible; line ends and tabs stay.

    >>> visible("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(
        character if character in "\n\t" or not _steers(character) else _escaped(character)
        for character in text
    )


def _steers(character: str) -> bool:
    # Controls, direction overrides, line separators, surrogates, unassigned: all but what prints.
    return not character.isprintable() and unicodedata.category(character) != "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def one_line(text: str) -> str:
    """``text`` on one line, safe for a terminal."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def as_csv(table: Table) -> str:
    """The table as CSV (RFC 4180, with a heading); absent values are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows([["" if v is None else v for v in row] for row in table.rows])
    return out.getvalue()


def as_json(table: Table) -> str:
    """The table with its notes and context as JSON; rows are objects."""
    value = table.as_json()
    value["rows"] = [
        {name: _finite(cell) for name, cell in record.items()} for record in table.records()
    ]
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Value) -> Value:
    """JSON has no infinity: it becomes text, as XSD writes it."""
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return value


def markdown_text(text: str) -> str:
    """``text`` on one line of Markdown: no HTML, no table column, no escape can come of it."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def as_markdown(table: Table) -> str:
    """The table as a Markdown table under its title, with its notes."""
    heads = [markdown_text(c.title) for c in table.columns]
    rules = ["---" if c.kind is Kind.TEXT else "---:" for c in table.columns]
    lines = [f"**{markdown_text(table.title)}**", ""]
    lines += [f"| {' | '.join(heads)} |", f"| {' | '.join(rules)} |"]
    for row in table.rows:
        cells = [markdown_text(shown(v, c)) for v, c in zip(row, table.columns, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"{markdown_text(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def as_latex(table: Table) -> str:
    r"""The table as a LaTeX ``table`` with booktabs rules; notes become the end of its caption."""

    def cell(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in one_line(text))

    def value_cell(value: Value, column: Column) -> str:
        text = shown(value, column)
        if column.kind is Kind.MARK and text.startswith("**"):
            return rf"\textbf{{{cell(text.strip('*'))}}}"
        return cell(text)

    alignment = "".join("l" if c.kind is Kind.TEXT else "r" for c in table.columns)
    caption = " ".join([table.title + ".", *table.notes])
    body = [
        " & ".join(value_cell(v, c) for v, c in zip(row, table.columns, strict=True)) + r" \\"
        for row in table.rows
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{cell(caption)}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(cell(c.title) for c in table.columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


TEXT_FORMATS: dict[str, Callable[[Table], str]] = {
    "csv": as_csv,
    "json": as_json,
    "markdown": as_markdown,
    "latex": as_latex,
}


def as_terminal(table: Table, width: int | None = None) -> str:
    """The table for a terminal ``width`` columns wide; without one, as wide as it needs to be."""
    from kgbench.analysis import terminal

    grid = terminal.Grid(
        [one_line(column.title) for column in table.columns],
        [
            [
                one_line(shown(value, column))
                for value, column in zip(row, table.columns, strict=True)
            ]
            for row in table.rows
        ],
        [column.kind is Kind.TEXT for column in table.columns],
    )
    text = terminal.drawn(one_line(table.title), grid, width)
    lines = [
        line
        for note in table.notes
        for line in (wrap(one_line(note), width) if width else [one_line(note)])
    ]
    return text + "".join(f"{line}\n" for line in lines)


def render(table: Table, form: str) -> str:
    """The table as text: ``table`` (for a terminal), ``csv``, ``json``, ``markdown``, ``latex``.

    Raises :class:`ValueError` for another format.
    """
    if form == "table":
        bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
        return as_terminal(table, shutil.get_terminal_size().columns if bounded else None)
    if form not in TEXT_FORMATS:
        raise ValueError(f"no format '{form}'; there are: table, {', '.join(TEXT_FORMATS)}")
    return TEXT_FORMATS[form](table)
