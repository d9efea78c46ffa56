# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal: the terminal never breaks a line, and nothing is cut off.

A table that is too wide first gets less space between its columns, then headings of several lines.
Is that not enough, its columns stand in blocks, one below the other, each of which repeats the
columns that name its rows; where these take too much, the first of them becomes a line above its
rows. Text that is wider than the terminal is broken where words end, or parts of IRIs do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, product, takewhile
from typing import NamedTuple, TypeAlias

_WIDE, _CLOSE = 3, 2  # between columns: where there is room, and where there is little
_AROUND = 3  # left and right of all columns
_LEAST = 24  # text of this width is not broken, nor a part of text
_NUMBERS = 30  # columns at least that are kept free of names, where numbers follow
RULE = "─"
_INDENTED = 2  # rows below a line that names them
_UPPER_END = "to"  # the heading of a column that belongs to the one before it
#: Where text may be broken: after a space, or after a sign that ends a part of an IRI or label.
_PARTS = re.compile(r"[^\s/#?&=:_~-]*[\s/#?&=:_~-]+|[^\s/#?&=:_~-]+")

#: Columns that stand beside each other: the place of each in the table, and its width.
Block: TypeAlias = list[tuple[int, int]]


class Grid(NamedTuple):
    """A table of text: headings, rows of single lines, and which columns hold no numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Sequence[bool]


class Layout(NamedTuple):
    """Blocks one below the other, the space between columns, and how rows are named.

    ``grouped``: the first column stands in lines of its own, above the rows that it names.
    """

    blocks: Sequence[Block]
    gap: int = _CLOSE
    grouped: bool = False


def drawn(title: str, grid: Grid, width: int | None) -> str:
    """The table under its title, in lines no longer than ``width`` where that is given.

    Narrower than two columns of numbers beside their names no table becomes.
    """
    layout = laid_out(grid, width)
    found = [title]
    for block in layout.blocks:
        found += ["", *_block(grid, block, layout)]
    return "\n".join([*(line.rstrip() for line in found), "", ""])


def _block(grid: Grid, block: Block, layout: Layout) -> Iterator[str]:
    indent = " " * (_INDENTED if layout.grouped else 0)
    if layout.grouped:
        yield f"  {grid.heads[0]}"
    heads = [list(lines(grid.heads[place], wide)) for place, wide in block]
    tallest = max(map(len, heads), default=0)
    bottom = [[""] * (tallest - len(head)) + head for head in heads]
    yield from (indent + line for line in _row(bottom, grid.texts, block, layout.gap))
    yield " " + RULE * (_space([wide for _, wide in block], layout.gap) - 1 + len(indent))
    for name, rows in groupby(grid.rows, key=lambda row: row[0] if layout.grouped else ""):
        if layout.grouped:
            yield f"  {name}"
        for row in rows:
            cells = [list(lines(row[place], wide)) for place, wide in block]
            yield from (indent + line for line in _row(cells, grid.texts, block, layout.gap))


def _row(cells: list[list[str]], texts: Sequence[bool], block: Block, gap: int) -> Iterator[str]:
    for number in range(max(map(len, cells), default=0)):
        parts = []
        for cell, (place, wide) in zip(cells, block, strict=True):
            text = cell[number] if number < len(cell) else ""
            space = " " * (wide - _cells(text))
            parts.append(text + space if texts[place] else space + text)
        yield f"  {(' ' * gap).join(parts)}"


def laid_out(grid: Grid, width: int | None) -> Layout:
    """How a table stands on a terminal ``width`` columns wide; ``None``: on one of any width."""
    every = range(len(grid.heads))
    values = [max((_cells(row[column]) for row in grid.rows), default=0) for column in every]
    whole = [max(_cells(head), value) for head, value in zip(grid.heads, values, strict=True)]
    if width is None:
        return Layout([list(enumerate(whole))], _WIDE)
    words = [max(map(_cells, head.split()), default=0) for head in grid.heads]
    widths = [
        min(max(pair), width) if text else max(pair)
        for *pair, text in zip(words, values, grid.texts, strict=True)
    ]
    for wide, gap in product((whole, widths), (_WIDE, _CLOSE)):
        if _space(wide, gap) <= width:
            return Layout([list(enumerate(wide))], gap)
    least = [
        min(max(word, _widest_part(row[column] for row in grid.rows)), _LEAST)
        for column, word in enumerate(words)
    ]
    names, free = _names(grid.texts), _NUMBERS
    if names == len(every):
        narrow = _narrowed(widths, least, width)
        if _space(narrow, _CLOSE) <= width or names == 1:
            return Layout([list(enumerate(narrow))])
        names, free = 1, width // 2
    crowded = _space(widths[:names], _CLOSE) > width - free
    grouped = names > 1 and crowded and _repeats(grid)
    first, room = (1, width - _INDENTED) if grouped else (0, width)
    keys = _narrowed(widths[first:names], least[first:names], room - free)
    room = max(room - _space(keys, _CLOSE), _LEAST)
    groups = [
        [
            (column, min(widths[column], room - _CLOSE) if grid.texts[column] else widths[column])
            for column in group
        ]
        for group in _groups(grid.heads, names)
    ]
    found = _evened(groups, room)
    return Layout([[*enumerate(keys, first), *block] for block in found], grouped=grouped)


def _names(texts: Sequence[bool]) -> int:
    """How many columns name a row: up to the end of the first columns of text."""
    start = next((column for column, text in enumerate(texts) if text), 0)
    return next((k for k in range(start, len(texts)) if not texts[k]), len(texts))


def _repeats(grid: Grid) -> bool:
    """Whether the first column names two or more rows at a time, in the mean."""
    return grid.texts[0] and 2 * sum(1 for _ in groupby(row[0] for row in grid.rows)) <= len(
        grid.rows
    )


def _groups(heads: Sequence[str], first: int) -> list[list[int]]:
    """The columns from the ``first`` on; an upper end stays with its lower end."""
    found: list[list[int]] = []
    for column in range(first, len(heads)):
        if found and heads[column] == _UPPER_END:
            found[-1].append(column)
        else:
            found.append([column])
    return found


def _packed(groups: list[Block], room: int) -> list[Block]:
    """Columns with their widths, in as few blocks as there is room for."""
    found: list[Block] = []
    taken = room
    for group in groups:
        wide = sum(width + _CLOSE for _, width in group)
        if taken + wide > room:
            found.append([])
            taken = 0
        found[-1] += group
        taken += wide
    return found


def _evened(groups: list[Block], room: int) -> list[Block]:
    """The fewest blocks that there is room for, of about the same width."""
    found = narrower = _packed(groups, room)
    while len(narrower) == len(found) and len(found) not in {1, len(groups)}:
        found, room = narrower, room - 1
        narrower = _packed(groups, room)
    return found


def _space(widths: Sequence[int], gap: int) -> int:
    """The width of columns with what stands between and around them."""
    return sum(widths) + gap * (len(widths) - 1) + _AROUND


def _narrowed(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Widths of columns of text that fit, if that can be; the widest give first."""
    found = list(widths)
    while _space(found, _CLOSE) > width:
        spare = [place for place, wide in enumerate(found) if wide > least[place]]
        if not spare:
            break
        found[max(spare, key=found.__getitem__)] -= 1
    return found


def _widest_part(texts: Iterable[str]) -> int:
    return max(
        (_cells(part.rstrip()) for text in texts for part in _PARTS.findall(text)), default=0
    )


def lines(text: str, width: int) -> Iterator[str]:
    """``text`` in lines of at most ``width`` columns, broken between its parts where it has some.

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
    """How many characters of ``text`` fit; at least one."""
    fitting = takewhile(width.__ge__, accumulate(map(_cells, text)))
    return max(sum(1 for _ in fitting), 1)


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)
