# SPDX-License-Identifier: Apache-2.0
"""Layout of tables for a terminal: lines fit its width, and nothing is cut off.

A table that is too wide first gets less space between its columns, then headings of several lines.
If that is not enough, its columns are split into blocks, one below the other, which repeat the
columns that name the rows. Text that is wider than the terminal is broken at the ends of words or
of parts of IRIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, product, takewhile
from typing import NamedTuple, TypeAlias

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
