# SPDX-License-Identifier: Apache-2.0
"""Rendering of tables as text: for the terminal, and as CSV, JSON, Markdown, HTML and LaTeX.

Formats for programs (CSV, JSON) have unrounded numbers; formats for people have rounded ones. Lines
fit the width of a terminal, and nothing is cut off: a table that is too wide first gets less space
between its columns, then headings of several lines. If that is not enough, its columns are split
into blocks, one below the other, which repeat the columns that name the rows. Text that is wider
than the terminal is broken at the ends of words or of parts of IRIs.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate, product, takewhile
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from kgbench.characters import one_line
from kgbench.tables import Column, Kind, Table, Value

_WIDE, _CLOSE = 3, 2  # the gap between columns, if there is room and if there is little
_AROUND = 3  # the margins left and right of all columns
_LEAST = 24  # text or a part of it up to this width is not broken
_NUMBERS = 30  # the least width that is kept for numbers beside the names of rows
RULE = "─"
_UPPER_END = "to"  # the heading of a column that belongs to the one before it
#: Where text may be broken: after a space, or after a sign that ends a part of an IRI or label.
_PARTS = re.compile(r"[^\s/#?&=:_~-]*[\s/#?&=:_~-]+|[^\s/#?&=:_~-]+")

#: Columns side by side: the index of each in the table, and its width.
Block: TypeAlias = list[tuple[int, int]]
_SMALLEST_P = 0.0001
_DIGITS = {Kind.SCORE: 3, Kind.P: 4}
_MARKDOWN = re.compile(r"[\\`*_\[\]|~]")  # starts emphasis, code, links and cells


class Grid(NamedTuple):
    """A table of text: headings, rows of single lines, and which columns hold text."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Sequence[bool]


def render_terminal(title: str, grid: Grid, width: int | None) -> str:
    """Render a table below its title, in lines no longer than ``width`` where that is given.

    A table cannot become narrower than two columns of numbers beside the names of their rows.
    """
    blocks, gap = lay_out(grid, width)
    lines_ = [title]
    for block in blocks:
        lines_ += ["", *_block(grid, block, gap)]
    return "\n".join([*(line.rstrip() for line in lines_), "", ""])


def _block(grid: Grid, block: Block, gap: int) -> Iterator[str]:
    heads = [list(lines(grid.heads[index], wide)) for index, wide in block]
    tallest = max(map(len, heads), default=0)
    yield from _row([[""] * (tallest - len(head)) + head for head in heads], grid.texts, block, gap)
    yield " " + RULE * (_space([wide for _, wide in block], gap) - 1)
    for row in grid.rows:
        cells = [list(lines(row[index], wide)) for index, wide in block]
        yield from _row(cells, grid.texts, block, gap)


def _row(cells: list[list[str]], texts: Sequence[bool], block: Block, gap: int) -> Iterator[str]:
    for number in range(max(map(len, cells), default=0)):
        parts = []
        for cell, (index, wide) in zip(cells, block, strict=True):
            text = cell[number] if number < len(cell) else ""
            space = " " * (wide - _cells(text))
            parts.append(text + space if texts[index] else space + text)
        yield f"  {(' ' * gap).join(parts)}"


def lay_out(grid: Grid, width: int | None) -> tuple[list[Block], int]:
    """Return the blocks of a table for a terminal of ``width`` columns, and the gap in them.

    Without ``width``, there is one block.
    """
    columns = range(len(grid.heads))
    values = [max((_cells(row[column]) for row in grid.rows), default=0) for column in columns]
    full = [max(_cells(head), value) for head, value in zip(grid.heads, values, strict=True)]
    if width is None:
        return [list(enumerate(full))], _WIDE
    words = [max(map(_cells, head.split()), default=0) for head in grid.heads]
    widths = [
        min(max(pair), width) if text else max(pair)
        for *pair, text in zip(words, values, grid.texts, strict=True)
    ]
    for wide, gap in product((full, widths), (_WIDE, _CLOSE)):
        if _space(wide, gap) <= width:
            return [list(enumerate(wide))], gap
    minimal = [
        min(max(word, _widest_part(row[column] for row in grid.rows)), _LEAST)
        for column, word in enumerate(words)
    ]
    names, free = _names(grid.texts), _NUMBERS
    if names == len(columns):
        narrow = _narrow(widths, minimal, width)
        if _space(narrow, _CLOSE) <= width or names == 1:
            return [list(enumerate(narrow))], _CLOSE
        names, free = 1, width // 2
    keys = _narrow(widths[:names], minimal[:names], width - free)
    room = max(width - _space(keys, _CLOSE), _LEAST)
    groups = [
        [
            (column, min(widths[column], room - _CLOSE) if grid.texts[column] else widths[column])
            for column in group
        ]
        for group in _groups(grid.heads, names)
    ]
    return [[*enumerate(keys), *block] for block in _packed(groups, room)], _CLOSE


def _names(texts: Sequence[bool]) -> int:
    """Return the number of columns that name a row: up to the end of the first columns of text."""
    start = next((column for column, text in enumerate(texts) if text), 0)
    return next((k for k in range(start, len(texts)) if not texts[k]), len(texts))


def _groups(heads: Sequence[str], first: int) -> list[list[int]]:
    """Group the columns from ``first`` on; the end of an interval stays with its beginning."""
    groups: list[list[int]] = []
    for column in range(first, len(heads)):
        if groups and heads[column] == _UPPER_END:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _packed(groups: list[Block], room: int) -> list[Block]:
    """Pack columns into as few blocks as fit."""
    blocks: list[Block] = []
    used_width = room
    for group in groups:
        wide = sum(width + _CLOSE for _, width in group)
        if used_width + wide > room:
            blocks.append([])
            used_width = 0
        blocks[-1] += group
        used_width += wide
    return blocks


def _space(widths: Sequence[int], gap: int) -> int:
    """Return the width of columns with their gaps and margins."""
    return sum(widths) + gap * (len(widths) - 1) + _AROUND


def _narrow(widths: Sequence[int], minimal: Sequence[int], width: int) -> list[int]:
    """Reduce the widths of text columns until they fit, if possible, the widest first."""
    narrowed = list(widths)
    while _space(narrowed, _CLOSE) > width:
        spare = [column for column, wide in enumerate(narrowed) if wide > minimal[column]]
        if not spare:
            break
        narrowed[max(spare, key=narrowed.__getitem__)] -= 1
    return narrowed


def _widest_part(texts: Iterable[str]) -> int:
    return max(
        (_cells(part.rstrip()) for text in texts for part in _PARTS.findall(text)), default=0
    )


def lines(text: str, width: int) -> Iterator[str]:
    """Break ``text`` into lines of at most ``width`` columns, between its parts where possible.

    >>> list(lines("http://example.org/people/person-00000003", 16))
    ['http://', 'example.org/', 'people/person-', '00000003']
    """
    line = ""
    for part in _PARTS.findall(text) if _cells(text) > width else [text]:
        if _cells((line + part).rstrip()) <= width:
            line += part
            continue
        if line:
            yield line.rstrip()
        line = part
        while _cells(line.rstrip()) > width:
            fitting = _fitting(line, width)
            yield line[:fitting]
            line = line[fitting:]
    yield line.rstrip()


def _fitting(text: str, width: int) -> int:
    """Return how many characters of ``text`` fit; at least one."""
    fitting = takewhile(width.__ge__, accumulate(map(_cells, text)))
    return max(sum(1 for _ in fitting), 1)


def _cells(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    from rich.cells import cell_len

    return cell_len(text)


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
    text = render_terminal(one_line(table.title), _grid(table), width)
    lines = [
        line
        for note in table.notes
        for line in (wrap(one_line(note), width) if width else [one_line(note)])
    ]
    return text + "".join(f"{line}\n" for line in lines)


def _grid(table: Table) -> Grid:
    """Return the cells of the table as single lines of text for people."""
    return Grid(
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
        bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
        text = as_terminal(table, shutil.get_terminal_size().columns if bounded else None)
        return text if _carries(RULE) else text.replace(RULE, "-")
    if form not in TEXT_FORMATS:
        raise ValueError(f"no format '{form}'; there are: table, {', '.join(TEXT_FORMATS)}")
    return TEXT_FORMATS[form](table)
