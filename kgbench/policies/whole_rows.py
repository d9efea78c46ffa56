# SPDX-License-Identifier: Apache-2.0
"""Comparison of whole rows, with columns of the answer assigned to the expected columns.

The assignment maximises the number of right rows. Columns of the answer that are not assigned and
duplicate rows do not count. A row is right if all its cells are right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from math import perm
from typing import Final, NamedTuple

from kgbench.model import QueryResult
from kgbench.policies.assignment import assign_columns
from kgbench.policies.matches import Match, match_summary
from kgbench.policies.values import Key
from kgbench.scoring.agreement import agreement

MOST_TRIED: Final = 500_000  # cells that are looked at to find the best columns
_ABSENT: Final = "\0absent"  # no term: the cell of a column that the answer lacks

Row = tuple[str | None, ...]
_Columns = tuple[int | None, ...]


class TieGroup(NamedTuple):
    """Rows that may come in any order, and the number of them that belong to the result.

    ``places`` is less than the number of rows if a LIMIT or OFFSET cuts through the tie.
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
    """Agreement of rows; if ``ordered``, of those on a longest subsequence in the right order.

    Without ``groups``, no rows tie if an order is demanded, and all rows tie otherwise.
    """
    if groups is None:
        groups = (
            [TieGroup((row,), 1) for row in expected.rows]
            if ordered
            else [TieGroup(expected.rows, len(expected.rows))]
        )
    expected_rows = _ExpectedRows(groups, value, ordered=ordered)
    answer_rows = [
        tuple(None if cell is None else value(cell) for cell in row) for row in answer.rows
    ]
    width = len(expected.variables)
    best = (-1, 0)
    for columns in _assignments(expected_rows.rows, answer_rows, width, len(answer.variables)):
        rows = list(dict.fromkeys(_projected(answer_rows, columns)))
        best = max(best, (expected_rows.hits(rows), -len(rows)))
        if best == (expected_rows.size, -expected_rows.size):
            break
    hits, size = best[0], -best[1]
    score = agreement(hits, size, expected_rows.size, precision_of_nothing=0.0)
    if not expected_rows.size:
        score = score._replace(recall=0.0, f1=0.0)
    unit = "rows in order" if ordered else "rows"
    return Match(score, match_summary(hits, expected_rows.size, size, unit))


class _ExpectedRows:
    """The expected rows, each with its tie group, and the number of places of each group."""

    def __init__(self, groups: Iterable[TieGroup], value: Key, *, ordered: bool) -> None:
        self._group: dict[Row, int] = {}
        self._places: list[int] = []
        self._ordered = ordered
        for number, group in enumerate(groups):
            new = 0
            for row in group.rows:
                cells = tuple(None if cell is None else value(cell) for cell in row)
                if cells not in self._group:
                    self._group[cells] = number
                    new += 1
            self._places.append(min(group.places, new))
        self.size = sum(self._places)

    @property
    def rows(self) -> list[Row]:
        """The distinct rows that can be right."""
        return list(self._group)

    def hits(self, rows: Iterable[Row]) -> int:
        """Return the number of right rows among distinct ``rows``.

        If an order is demanded, only rows in this order count.
        """
        free_places = list(self._places)
        hit_groups: list[int] = []
        for row in rows:
            group = self._group.get(row)
            if group is not None and free_places[group]:
                free_places[group] -= 1
                hit_groups.append(group)
        return _longest_ascent(hit_groups) if self._ordered else len(hit_groups)


def _longest_ascent(numbers: Iterable[int]) -> int:
    """Return the length of the longest non-decreasing subsequence."""
    ends: list[int] = []
    for number in numbers:
        index = bisect_right(ends, number)
        ends[index : index + 1] = [number]
    return len(ends)


def _assignments(
    expected: Sequence[Row], answer: Sequence[Row], width: int, available: int
) -> Iterator[_Columns]:
    """Yield assignments of answer columns to expected columns, the most promising one first."""
    common = _common_cells(expected, answer, width, available)
    yield assign_columns(common, available)
    size = max(len(answer), 1) * max(width, 1)
    if available >= width and perm(available, width) * size <= MOST_TRIED:
        yield from permutations(range(available), width)


def _common_cells(
    expected_table: Sequence[Row], answer: Sequence[Row], width: int, available: int
) -> list[list[int]]:
    expected = [Counter(row[index] for row in expected_table) for index in range(width)]
    answered = [Counter(row[index] for row in answer) for index in range(available)]
    return [
        [(expected_cells & answered_cells).total() for answered_cells in answered]
        for expected_cells in expected
    ]


def _projected(rows: Iterable[Row], columns: _Columns) -> Iterator[Row]:
    for row in rows:
        yield tuple(_ABSENT if column is None else row[column] for column in columns)
