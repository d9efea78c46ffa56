# SPDX-License-Identifier: Apache-2.0
"""Rows matched with rows by the share of expected cells that they hold, in whatever column.

SPINACH (``eval.py`` of ``stanford-oval/spinach``) and GRASP (``src/grasp/sparql/metrics.py``) both
find the assignment of given to expected rows with the greatest sum of shares. They differ in what
an imperfect pair costs: with GRASP the lacking share is a false negative; with SPINACH a pair
without anything in common is a false positive as well as a false negative. GRASP keeps shares in
single precision, and so are they here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kgbench.errors import EvaluationError
from kgbench.model import QueryResult
from kgbench.policies.matches import Match, found
from kgbench.policies.policy import Policy
from kgbench.policies.values import Key
from kgbench.scoring.agreement import Agreement, harmonic

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PAIRS: Final = 25_000_000  # of rows, 200 MB

_Row = list[str]


def match(expected: QueryResult, answer: QueryResult, value: Key, policy: Policy) -> Match:
    """Agreement of matched rows as ``policy`` counts it.

    Raises :class:`~kgbench.errors.EvaluationError` beyond :data:`MOST_PAIRS`.
    """
    kept = [
        place for place, name in enumerate(expected.variables) if not _ends(name, policy.left_out)
    ]
    wanted = [_row([row[place] for place in kept], value) for row in expected.rows]
    given = [_row(row, value) for row in answer.rows]
    if not wanted or not given:
        return Match(Agreement(0.0, 0.0, 0.0), found(0, len(wanted), len(given), "rows"))
    limit = policy.whole_above
    if limit is not None and max(len(wanted), len(given)) > limit:
        return _whole(wanted, given)
    single = limit is not None
    pairs = _of_single_cells(wanted, given)
    if pairs is None and len(wanted) * len(given) > MOST_PAIRS:
        raise EvaluationError(
            f"{len(given):,} rows cannot be matched with {len(wanted):,}: "
            f"that is more than {MOST_PAIRS:,} pairs"
        )
    if pairs is None:
        pairs = _assigned(_shares(given, wanted, "float32" if single else "float64"))
    agreement = _grasp(pairs, len(wanted), len(given)) if single else None
    agreement = agreement or _spinach(pairs, len(wanted), len(given))
    return Match(agreement, found(float(pairs.sum()), len(wanted), len(given), "rows"))


def _grasp(pairs: NDArray[Any], expected: int, given: int) -> Agreement:
    hits = float(pairs.sum())
    missed = float((1 - pairs).sum()) + expected - len(pairs)
    if hits <= 0:
        return Agreement(0.0, 0.0, 0.0)
    precision, recall = hits / (hits + given - len(pairs)), hits / (hits + missed)
    return Agreement(precision, recall, harmonic(precision, recall))


def _spinach(pairs: NDArray[Any], expected: int, given: int) -> Agreement:
    """SPINACH gives F1 alone; precision and recall are those that its errors add up to.

    A false positive is a given row without a partner, or with one that it shares nothing with.
    """
    positive = pairs[pairs > 0]
    hits = float(positive.sum())
    partial = float((1 - pairs[(pairs < 1) & (pairs > 0)]).sum())
    nothing = int((pairs <= 0).sum())
    errors = partial + 2 * nothing + (given - len(pairs)) + (expected - len(pairs))
    precision = hits / (hits + nothing + given - len(pairs)) if hits else 0.0
    return Agreement(precision, hits / expected, 2 * hits / (2 * hits + errors))


def _whole(wanted: list[_Row], given: list[_Row]) -> Match:
    """Multisets of whole rows, their bound cells in the order of their columns."""
    expected, answered = (Counter(map(tuple, rows)) for rows in (wanted, given))
    hits = (expected & answered).total()
    precision, recall = hits / len(given), hits / len(wanted)
    reason = found(hits, len(wanted), len(given), "whole rows")
    return Match(Agreement(precision, recall, harmonic(precision, recall)), reason)


def _of_single_cells(wanted: list[_Row], given: list[_Row]) -> NDArray[Any] | None:
    """The shares of assigned pairs where expected rows have one cell each, in linear time.

    ``None`` where they have more, or where a given row could be assigned to different ones.
    """
    import numpy as np

    if any(len(row) != 1 for row in wanted):
        return None
    left = Counter(row[0] for row in wanted)
    of_rows = [{cell for cell in row if cell in left} for row in given]
    if any(len(cells) > 1 for cells in of_rows):
        return None
    answered = Counter(cell for cells in of_rows for cell in cells)
    hits = (left & answered).total()
    pairs: NDArray[Any] = np.zeros(min(len(wanted), len(given)))
    pairs[:hits] = 1.0
    return pairs


def _shares(given: list[_Row], wanted: list[_Row], kind: str) -> NDArray[Any]:
    """Which share of each expected row (column) each given row (line) holds."""
    import numpy as np

    shares: NDArray[Any] = np.zeros((len(given), len(wanted)), dtype=kind)
    places: dict[str, list[int]] = defaultdict(list)
    counted = [Counter(row) for row in wanted]
    for place, cells in enumerate(counted):
        for cell in cells:
            places[cell].append(place)
    for line, row in enumerate(given):
        cells = Counter(row)
        common: Counter[int] = Counter()
        for cell, times in cells.items():
            for place in places.get(cell, ()):
                common[place] += min(times, counted[place][cell])
        for place, times in common.items():
            shares[line, place] = times / len(wanted[place])
    return shares


def _assigned(shares: NDArray[Any]) -> NDArray[Any]:
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

    lines, places = linear_sum_assignment(shares, maximize=True)
    assigned: NDArray[Any] = shares[lines, places]
    return assigned


def prepare() -> None:
    """Load what matching needs, for a process that cannot do so later."""
    _assigned(_shares([["a"]], [["a"]], "float64"))


def _row(cells: Any, value: Key) -> _Row:
    return [value(cell) for cell in cells if cell is not None]


def _ends(name: str, endings: tuple[str, ...]) -> bool:
    return bool(endings) and name.endswith(endings)
