# SPDX-License-Identifier: Apache-2.0
"""Comparison of whole rows, with columns of the answer assigned to the expected columns.

The assignment maximises the number of right rows. Columns of the answer that are not assigned and
duplicate rows do not count. A row is right if all its cells are right.

If rows tie at a LIMIT, the expected rows are those of the choice among them that is nearest to the
answer. Duplicates share a row of the answer but have places of their own: three places for four
times France and once Spain are filled by France alone, or by France and Spain.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from math import perm
from typing import Final, NamedTuple

from kgbench.model import QueryResult
from kgbench.policies.policy import Match, match_summary
from kgbench.policies.values import Key
from kgbench.scoring.agreement import agreement

MOST_TRIED: Final = 500_000  # cells that are looked at to find the best columns
_BEAM: Final = 20  # assignments of some columns that are continued if there are too many to try all
_BEST: Final = 3  # assignments found in this way that are tried with all rows
_ABSENT: Final = "\0absent"  # no term: the cell of a column that the answer lacks

Row = tuple[str | None, ...]
_Columns = tuple[int | None, ...]


class TieGroup(NamedTuple):
    """Rows that may come in any order, and the number of them that belong to the result.

    ``places`` is less than the number of rows if a LIMIT or OFFSET cuts through the tie. Rows that
    occur repeatedly in the result are repeated here.
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
    best = (-1, 0, 0)
    for columns in _assignments(expected_rows.rows, answer_rows, width, len(answer.variables)):
        rows = list(dict.fromkeys(_projected(answer_rows, columns)))
        hits, expected_size = expected_rows.compare(rows)
        best = max(best, (hits, -len(rows), -expected_size))
        if hits == len(rows) == expected_size:
            break
    hits, size, expected_size = best[0], -best[1], -best[2]
    score = agreement(hits, size, expected_size, precision_of_nothing=0.0)
    if not expected_size:
        score = score._replace(recall=0.0, f1=0.0)
    unit = "rows in order" if ordered else "rows"
    return Match(score, match_summary(hits, expected_size, size, unit))


class _ExpectedRows:
    """The expected rows, each with its first tie group, and the number of places of each group.

    ``_counts`` are the numbers of occurrences of the rows of each group, the greatest first.
    """

    def __init__(self, groups: Iterable[TieGroup], value: Key, *, ordered: bool) -> None:
        self._group: dict[Row, int] = {}
        self._places: list[int] = []
        self._filled_before: list[int] = []
        self._counts: list[dict[Row, int]] = []
        self._ordered = ordered
        for number, group in enumerate(groups):
            counts = Counter(
                tuple(None if cell is None else value(cell) for cell in row) for row in group.rows
            )
            new = {row: count for row, count in counts.most_common() if row not in self._group}
            self._group |= dict.fromkeys(new, number)
            self._counts.append(new)
            self._places.append(group.places)
            self._filled_before.append(counts.total() - sum(new.values()))

    @property
    def rows(self) -> list[Row]:
        """The distinct rows that can be right."""
        return list(self._group)

    def compare(self, rows: Iterable[Row]) -> tuple[int, int]:
        """Return the number of right rows among distinct ``rows``, and of those expected.

        If an order is demanded, only rows in this order are right.
        """
        found: list[set[Row]] = [set() for _ in self._places]
        hit_groups: list[int] = []
        for row in rows:
            group = self._group.get(row)
            if group is not None and len(found[group]) < self._places[group]:
                found[group].add(row)
                hit_groups.append(group)
        expected_size = len(hit_groups) + sum(map(self._missing, range(len(found)), found))
        return _longest_ascent(hit_groups) if self._ordered else len(hit_groups), expected_size

    def _missing(self, group: int, found: AbstractSet[Row]) -> int:
        """Return how many rows, beside those ``found``, the places of a group need at least."""
        counts = self._counts[group]
        free = self._places[group] - self._filled_before[group]
        free -= sum(counts[row] for row in found)
        missing = 0
        for row, count in counts.items():
            if free <= 0:
                break
            if row not in found:
                free -= count
                missing += 1
        return missing


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
    if available < width:
        return
    if perm(available, width) * size <= MOST_TRIED:
        yield from permutations(range(available), width)
    else:
        yield from _promising(expected, answer, width, available)


def _promising(
    expected: Sequence[Row], answer: Sequence[Row], width: int, available: int
) -> list[_Columns]:
    """Return a few assignments that are good for a sample of the answer's rows, the best first.

    Columns are assigned one after the other. Of the assignments of the first columns, those are
    continued under which the most rows of the sample begin like an expected row (beam search).
    """
    step = max(1, len(answer) * _BEAM * available * width * width // MOST_TRIED)
    sample = answer[::step]
    beam: list[_Columns] = [()]
    for length in range(1, width + 1):
        beginnings = {row[:length] for row in expected}
        rated = [
            (-sum(row in beginnings for row in _projected(sample, columns)), columns)
            for assigned in beam
            for column in range(available)
            if column not in assigned
            for columns in [(*assigned, column)]
        ]
        beam = [columns for _, columns in sorted(rated)[:_BEAM]]
    return beam[:_BEST]


def _common_cells(
    expected_table: Sequence[Row], answer: Sequence[Row], width: int, available: int
) -> list[list[int]]:
    expected = [Counter(row[index] for row in expected_table) for index in range(width)]
    answered = [Counter(row[index] for row in answer) for index in range(available)]
    return [
        [(expected_cells & answered_cells).total() for answered_cells in answered]
        for expected_cells in expected
    ]


def assign_columns(gains: Sequence[Sequence[int]], available: int) -> tuple[int | None, ...]:
    """Assign a different column to each line of ``gains``, so that the sum of gains is greatest.

    This is the Hungarian method with potentials (Kuhn 1955, Munkres 1957) for a few columns:
    importing ``scipy.optimize`` would take longer than judging most answers. Each line has
    ``available`` columns. If there are fewer columns than lines, the lines that gain least get
    ``None``.

    >>> assign_columns([[2, 3], [1, 3]], 2), assign_columns([[1], [5]], 1)
    ((0, 1), (None, 0))
    """
    lines = len(gains)
    width = max(available, lines)  # surplus lines get imaginary columns, which gain 0
    potential, offset = [0] * (lines + 1), [0] * (width + 1)
    owner = [0] * (width + 1)  # the line that has a column, counted from 1; 0 is none
    for line in range(1, lines + 1):
        owner[0] = line
        _augment(gains, available, owner, potential, offset)
    columns: list[int | None] = [None] * lines
    for column in range(1, available + 1):
        if owner[column]:
            columns[owner[column] - 1] = column - 1
    return tuple(columns)


def _augment(
    gains: Sequence[Sequence[int]],
    available: int,
    owner: list[int],
    potential: list[int],
    offset: list[int],
) -> None:
    """Assign a column to the line in ``owner[0]``, along the cheapest augmenting path."""
    width = len(owner) - 1
    cheapest: list[float] = [float("inf")] * (width + 1)
    before, reached = [0] * (width + 1), [False] * (width + 1)
    column = 0
    while owner[column] or column == 0:
        reached[column] = True
        line, nearest, step = owner[column], 0, float("inf")
        for other in range(1, width + 1):
            if reached[other]:
                continue
            gain = gains[line - 1][other - 1] if other <= available else 0
            cost = -gain - potential[line] - offset[other]
            if cost < cheapest[other]:
                cheapest[other], before[other] = cost, column
            if cheapest[other] < step:
                step, nearest = cheapest[other], other
        for other in range(width + 1):
            if reached[other]:
                potential[owner[other]] += int(step)
                offset[other] -= int(step)
            else:
                cheapest[other] -= step
        column = nearest
    while column:
        owner[column] = owner[before[column]]
        column = before[column]


def _projected(rows: Iterable[Row], columns: _Columns) -> Iterator[Row]:
    for row in rows:
        yield tuple(_ABSENT if column is None else row[column] for column in columns)
