# SPDX-License-Identifier: Apache-2.0
"""Whole rows, with the columns of the answer assigned to those that are expected.

The assignment is the one that makes the most rows right. Columns of the answer that none is
assigned to do not count, nor do rows that come twice. A row is right where all its cells are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from math import perm
from typing import Final, NamedTuple

from kgbench.model import QueryResult
from kgbench.policies.assignment import assigned
from kgbench.policies.matches import Match, found
from kgbench.policies.values import Key
from kgbench.scoring.agreement import agreement

MOST_TRIED: Final = 500_000  # cells that are looked at to find the best columns
_ABSENT: Final = "\0absent"  # no term: the cell of a column that the answer lacks

Row = tuple[str | None, ...]
_Columns = tuple[int | None, ...]


class TieGroup(NamedTuple):
    """Rows that the question leaves in any order, and how many of them belong to the result.

    ``places`` is less than the number of rows where a LIMIT or OFFSET cuts through the tie.
    """

    rows: tuple[Row, ...]
    places: int


def match(
    expected: QueryResult,
    answer: QueryResult,
    value: Key,
    *,
    ordered: bool,
    groups: Sequence[TieGroup] | None,
) -> Match:
    """Agreement of rows. Where ``ordered``, those count that can keep their order.

    Without ``groups`` no two rows tie where an order is demanded, and all do elsewhere.
    """
    if groups is None:
        groups = (
            [TieGroup((row,), 1) for row in expected.rows]
            if ordered
            else [TieGroup(expected.rows, len(expected.rows))]
        )
    wanted = _Wanted(groups, value, ordered=ordered)
    given = [tuple(None if cell is None else value(cell) for cell in row) for row in answer.rows]
    width = len(expected.variables)
    best = (-1, 0)
    for columns in _assignments(wanted.rows, given, width, len(answer.variables)):
        rows = list(dict.fromkeys(_projected(given, columns)))
        best = max(best, (wanted.hits(rows), -len(rows)))
        if best == (wanted.size, -wanted.size):
            break
    hits, size = best[0], -best[1]
    score = agreement(hits, size, wanted.size, precision_of_nothing=0.0)
    if not wanted.size:
        score = score._replace(recall=0.0, f1=0.0)
    what = "rows in order" if ordered else "rows"
    return Match(score, found(hits, wanted.size, size, what))


class _Wanted:
    """The expected rows, each with its group, and how many each group has places for."""

    def __init__(self, groups: Iterable[TieGroup], value: Key, *, ordered: bool) -> None:
        self._group: dict[Row, int] = {}
        self._places: list[int] = []
        self._ordered = ordered
        for number, group in enumerate(groups):
            fresh = 0
            for row in group.rows:
                cells = tuple(None if cell is None else value(cell) for cell in row)
                if cells not in self._group:
                    self._group[cells] = number
                    fresh += 1
            self._places.append(min(group.places, fresh))
        self.size = sum(self._places)

    @property
    def rows(self) -> list[Row]:
        """The rows that can be right, each once."""
        return list(self._group)

    def hits(self, rows: Iterable[Row]) -> int:
        """How many of ``rows`` (each once) are right; in order, where one is demanded."""
        left = list(self._places)
        kept: list[int] = []
        for row in rows:
            group = self._group.get(row)
            if group is not None and left[group]:
                left[group] -= 1
                kept.append(group)
        return _longest_ascent(kept) if self._ordered else len(kept)


def _longest_ascent(numbers: Iterable[int]) -> int:
    """The length of the longest subsequence that never falls."""
    ends: list[int] = []
    for number in numbers:
        place = bisect_right(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


def _assignments(
    wanted: Sequence[Row], given: Sequence[Row], width: int, available: int
) -> Iterator[_Columns]:
    """Columns of the answer for each expected column, the most promising assignment first."""
    common = _common_cells(wanted, given, width, available)
    yield assigned(common, available)
    size = max(len(given), 1) * max(width, 1)
    if available >= width and perm(available, width) * size <= MOST_TRIED:
        yield from permutations(range(available), width)


def _common_cells(
    wanted: Sequence[Row], given: Sequence[Row], width: int, available: int
) -> list[list[int]]:
    expected = [Counter(row[place] for row in wanted) for place in range(width)]
    answered = [Counter(row[place] for row in given) for place in range(available)]
    return [[(one & other).total() for other in answered] for one in expected]


def _projected(given: Iterable[Row], columns: _Columns) -> Iterator[Row]:
    for row in given:
        yield tuple(_ABSENT if column is None else row[column] for column in columns)
