# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal: the terminal never breaks a line, and nothing is cut off.

A table that is too wide first gets headings of several lines. Is that not enough, its columns of
numbers stand in blocks, one below the other, each of which repeats the columns that name its rows;
where these take too much, the first of them becomes a line above its rows. Text that is wider than
the terminal is broken where words end, or parts of IRIs do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

_BESIDE = 3  # what a column takes beside its text
_LEAST = 24  # text of this width is not broken, nor a part of text
_NUMBERS = 30  # columns at least that are kept free of names, where numbers follow
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


def drawn(title: str, grid: Grid, width: int | None) -> str:
    """The table under its title, in lines no longer than ``width`` where that is given.

    Narrower than two columns of numbers beside their names no table becomes.
    """
    found, grouped = blocks(grid, width)
    lines = [title]
    for block in found:
        lines += ["", *_block(grid, block, grouped=grouped)]
    return "\n".join([*(line.rstrip() for line in lines), "", ""])


def _block(grid: Grid, block: Block, *, grouped: bool) -> Iterator[str]:
    indent = " " * (_INDENTED if grouped else 0)
    if grouped:
        yield f"  {grid.heads[0]}"
    heads = [list(_lines(grid.heads[place], wide)) for place, wide in block]
    tallest = max(map(len, heads), default=0)
    bottom = [[""] * (tallest - len(head)) + head for head in heads]
    yield from (indent + line for line in _row(bottom, grid.texts, block))
    yield " " + "─" * (_space([wide for _, wide in block]) - 1 + len(indent))
    for name, rows in groupby(grid.rows, key=lambda row: row[0] if grouped else ""):
        if grouped:
            yield f"  {name}"
        for row in rows:
            cells = [list(_lines(row[place], wide)) for place, wide in block]
            yield from (indent + line for line in _row(cells, grid.texts, block))


def _row(cells: list[list[str]], texts: Sequence[bool], block: Block) -> Iterator[str]:
    for number in range(max(map(len, cells), default=0)):
        line = " "
        for cell, (place, wide) in zip(cells, block, strict=True):
            text = cell[number] if number < len(cell) else ""
            gap = " " * (wide - _cells(text))
            line += f" {text}{gap} " if texts[place] else f" {gap}{text} "
            line += " "
        yield line


def blocks(grid: Grid, width: int | None) -> tuple[list[Block], bool]:
    """How a table is laid out for a terminal ``width`` columns wide.

    The blocks one below the other, and whether the first column stands in lines of its own.
    """
    every = range(len(grid.heads))
    values = [max((_cells(row[column]) for row in grid.rows), default=0) for column in every]
    whole = [max(_cells(head), value) for head, value in zip(grid.heads, values, strict=True)]
    if width is None or _fits(whole, width):
        return [list(enumerate(whole))], False
    words = [max(map(_cells, head.split()), default=0) for head in grid.heads]
    widths = [min(max(pair), width) for pair in zip(words, values, strict=True)]
    if _fits(widths, width):
        return [list(enumerate(widths))], False
    least = [
        min(max(word, _widest_part(row[column] for row in grid.rows)), _LEAST)
        for column, word in enumerate(words)
    ]
    names = next((column for column in every if not grid.texts[column]), len(every))
    if names == len(every):
        return [list(enumerate(_narrowed(widths, least, width)))], False
    grouped = names > 1 and not _fits(widths[:names], width - _NUMBERS) and _repeats(grid)
    first, room = (1, width - _INDENTED) if grouped else (0, width)
    keys = _narrowed(widths[first:names], least[first:names], room - _NUMBERS)
    named = list(enumerate(keys, first))
    room = max(room - _space(keys), _LEAST)
    groups = [
        [(column, min(widths[column], room - _BESIDE)) for column in group]
        for group in _groups(grid.heads, names)
    ]
    found = _packed(groups, room)
    while len(_packed(groups, room - 1)) == len(found) > 1:  # blocks of about the same width
        room -= 1
        found = _packed(groups, room)
    return [[*named, *block] for block in found], grouped


def _repeats(grid: Grid) -> bool:
    """Whether the first column names two or more rows at a time, in the mean."""
    return 2 * sum(1 for _ in groupby(row[0] for row in grid.rows)) <= len(grid.rows)


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
        wide = sum(width + _BESIDE for _, width in group)
        if taken + wide > room:
            found.append([])
            taken = 0
        found[-1] += group
        taken += wide
    return found


def _space(widths: Sequence[int]) -> int:
    """The width of columns with what stands between and around them."""
    return sum(widths) + _BESIDE * len(widths)


def _fits(widths: Sequence[int], width: int) -> bool:
    return _space(widths) <= width


def _narrowed(widths: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Widths of columns of text that fit, if that can be; the widest give first."""
    found = list(widths)
    while not _fits(found, width):
        spare = [place for place, wide in enumerate(found) if wide > least[place]]
        if not spare:
            break
        found[max(spare, key=found.__getitem__)] -= 1
    return found


def _widest_part(texts: Iterable[str]) -> int:
    return max(
        (_cells(part.rstrip()) for text in texts for part in _PARTS.findall(text)), default=0
    )


def _lines(text: str, width: int) -> Iterator[str]:
    """``text`` in lines of at most ``width`` columns, broken between its parts where it has some.

    >>> list(_lines("http://example.org/people/person-00000003", 16))
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
    taken = 0
    for number, character in enumerate(text):
        taken += _cells(character)
        if taken > width:
            return max(number, 1)
    return len(text)


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)
