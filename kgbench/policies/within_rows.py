# SPDX-License-Identifier: Apache-2.0
"""Matching of rows by the share of expected cells that they contain, in any column.

SPINACH (``eval.py`` of ``stanford-oval/spinach``) and GRASP (``src/grasp/sparql/metrics.py``) both
assign given to expected rows so that the sum of shares is greatest. They differ in the cost of an
imperfect pair: in GRASP the missing share is a false negative; in SPINACH a pair without a common
cell is also a false positive. GRASP keeps shares in single precision, and so does this module.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kgbench.errors import EvaluationError
from kgbench.model import QueryResult
from kgbench.policies.policy import Match, Policy, match_summary
from kgbench.policies.values import Key
from kgbench.scoring.agreement import Agreement, harmonic

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PAIRS: Final = 25_000_000  # of rows, 200 MB

_Row = list[str]


def match(expected: QueryResult, answer: QueryResult, value: Key, policy: Policy) -> Match:
    """Agreement of matched rows by the rules of ``policy``.

    Raises :class:`~kgbench.errors.EvaluationError` beyond :data:`MOST_PAIRS`.
    """
    kept_columns = [
        index for index, name in enumerate(expected.variables) if not _ends(name, policy.left_out)
    ]
    expected_rows = [_row([row[index] for index in kept_columns], value) for row in expected.rows]
    answer_rows = [_row(row, value) for row in answer.rows]
    if not expected_rows or not answer_rows:
        return Match(
            Agreement(0.0, 0.0, 0.0), match_summary(0, len(expected_rows), len(answer_rows), "rows")
        )
    limit = policy.whole_above
    if limit is not None and max(len(expected_rows), len(answer_rows)) > limit:
        return _match_whole_rows(expected_rows, answer_rows)
    is_grasp = limit is not None
    pairs = _of_single_cells(expected_rows, answer_rows)
    if pairs is None and len(expected_rows) * len(answer_rows) > MOST_PAIRS:
        raise EvaluationError(
            f"{len(answer_rows):,} rows cannot be matched with {len(expected_rows):,}: "
            f"that is more than {MOST_PAIRS:,} pairs"
        )
    if pairs is None:
        pairs = _assigned(_shares(answer_rows, expected_rows, "float32" if is_grasp else "float64"))
    agreement = _grasp(pairs, len(expected_rows), len(answer_rows)) if is_grasp else None
    agreement = agreement or _spinach(pairs, len(expected_rows), len(answer_rows))
    return Match(
        agreement, match_summary(float(pairs.sum()), len(expected_rows), len(answer_rows), "rows")
    )


def _grasp(pairs: NDArray[Any], expected_count: int, answer_count: int) -> Agreement:
    hits = float(pairs.sum())
    missed = float((1 - pairs).sum()) + expected_count - len(pairs)
    if hits <= 0:
        return Agreement(0.0, 0.0, 0.0)
    precision, recall = hits / (hits + answer_count - len(pairs)), hits / (hits + missed)
    return Agreement(precision, recall, harmonic(precision, recall))


def _spinach(pairs: NDArray[Any], expected_count: int, answer_count: int) -> Agreement:
    """Compute SPINACH's F1, and the precision and recall that follow from its error counts.

    A false positive is a given row without a partner, or with a partner that shares no cell.
    """
    positive = pairs[pairs > 0]
    hits = float(positive.sum())
    partial = float((1 - pairs[(pairs < 1) & (pairs > 0)]).sum())
    nothing = int((pairs <= 0).sum())
    errors = partial + 2 * nothing + (answer_count - len(pairs)) + (expected_count - len(pairs))
    precision = hits / (hits + nothing + answer_count - len(pairs)) if hits else 0.0
    return Agreement(precision, hits / expected_count, 2 * hits / (2 * hits + errors))


def _match_whole_rows(expected_rows: list[_Row], answer_rows: list[_Row]) -> Match:
    """Compare multisets of whole rows, with bound cells in the order of their columns."""
    expected, answered = (Counter(map(tuple, rows)) for rows in (expected_rows, answer_rows))
    hits = (expected & answered).total()
    precision, recall = hits / len(answer_rows), hits / len(expected_rows)
    reason = match_summary(hits, len(expected_rows), len(answer_rows), "whole rows")
    return Match(Agreement(precision, recall, harmonic(precision, recall)), reason)


def _of_single_cells(expected: list[_Row], answer: list[_Row]) -> NDArray[Any] | None:
    """Return the shares of assigned pairs if each expected row has one cell, in linear time.

    ``None`` if rows have more cells, or if a given row could be assigned to different rows.
    """
    import numpy as np

    if any(len(row) != 1 for row in expected):
        return None
    expected_cells = Counter(row[0] for row in expected)
    of_rows = [{cell for cell in row if cell in expected_cells} for row in answer]
    if any(len(cells) > 1 for cells in of_rows):
        return None
    answered = Counter(cell for cells in of_rows for cell in cells)
    hits = (expected_cells & answered).total()
    pairs: NDArray[Any] = np.zeros(min(len(expected), len(answer)))
    pairs[:hits] = 1.0
    return pairs


def _shares(answer: list[_Row], expected: list[_Row], kind: str) -> NDArray[Any]:
    """Return the share of each expected row (column) that each given row (line) contains."""
    import numpy as np

    shares: NDArray[Any] = np.zeros((len(answer), len(expected)), dtype=kind)
    columns: dict[str, list[int]] = defaultdict(list)
    counted = [Counter(row) for row in expected]
    for column, cells in enumerate(counted):
        for cell in cells:
            columns[cell].append(column)
    for line, row in enumerate(answer):
        cells = Counter(row)
        common: Counter[int] = Counter()
        for cell, times in cells.items():
            for column in columns.get(cell, ()):
                common[column] += min(times, counted[column][cell])
        for column, times in common.items():
            shares[line, column] = times / len(expected[column])
    return shares


def _assigned(shares: NDArray[Any]) -> NDArray[Any]:
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

    lines, columns = linear_sum_assignment(shares, maximize=True)
    assigned: NDArray[Any] = shares[lines, columns]
    return assigned


def prepare() -> None:
    """Load all libraries for matching, for a process that cannot open files later."""
    _assigned(_shares([["a"]], [["a"]], "float64"))


def _row(cells: Any, value: Key) -> _Row:
    return [value(cell) for cell in cells if cell is not None]


def _ends(name: str, endings: tuple[str, ...]) -> bool:
    return bool(endings) and name.endswith(endings)
