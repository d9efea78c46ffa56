# SPDX-License-Identifier: Apache-2.0
"""Assignment of the columns of one table to those of another.

This is the Hungarian method with potentials (Kuhn 1955, Munkres 1957) for a few columns. Importing
``scipy.optimize`` would take longer than judging most answers.
"""

from __future__ import annotations

from collections.abc import Sequence


def assign_columns(gains: Sequence[Sequence[int]], available: int) -> tuple[int | None, ...]:
    """Assign a different column to each line of ``gains``, so that the sum of gains is greatest.

    Each line has ``available`` columns. If there are fewer columns than lines, the lines that gain
    least get ``None``.

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
