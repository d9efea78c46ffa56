# SPDX-License-Identifier: Apache-2.0
"""Aggregation of the scores of a dialogue's answers into scores of the whole dialogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

Rounds = Sequence[Mapping[str, float]]

AGGREGATIONS = ("last", "mean", "max", "meanExt")


def aggregate(rounds: Rounds, names: Iterable[str], max_rounds: int) -> dict[str, float]:
    """Compute the scores called ``names`` of a dialogue whose answers have the scores ``rounds``.

    Each name is an aggregation, ``_`` and the name of a score (``mean_combined``). With k rounds,
    ``last`` is the value of the last round, absent if that round lacks the score; ``max`` the
    greatest value; ``mean`` the sum divided by k; ``meanExt`` the mean over ``max_rounds`` values,
    of which the last is repeated. A round without the score counts 0; a score that no round has is
    absent. Raises :class:`ValueError` for a name of another form.

    >>> aggregate([{"f1": 0.5}, {"f1": 1.0}], ["mean_f1", "meanExt_f1"], 3)
    {'mean_f1': 0.75, 'meanExt_f1': 0.8333333333333334}
    """
    aggregated = {}
    for name in names:
        aggregation, separator, score = name.partition("_")
        if not separator or aggregation not in AGGREGATIONS:
            raise ValueError(f"'{name}' is not an aggregation and a score, such as mean_f1")
        if aggregation == "last":
            if rounds and score in rounds[-1]:
                aggregated[name] = float(rounds[-1][score])
        elif any(score in scores for scores in rounds):
            values = [float(scores.get(score, 0.0)) for scores in rounds]
            aggregated[name] = _SUMMARIES[aggregation](values, max_rounds)
    return aggregated


def _mean(values: Sequence[float], max_rounds: int) -> float:  # noqa: ARG001 - one signature for all
    return sum(values) / len(values)


def _max(values: Sequence[float], max_rounds: int) -> float:  # noqa: ARG001 - one signature for all
    return max(values)


def _mean_extended(values: Sequence[float], max_rounds: int) -> float:
    return (sum(values) + (max_rounds - len(values)) * values[-1]) / max_rounds


_SUMMARIES: dict[str, Callable[[Sequence[float], int], float]] = {
    "mean": _mean,
    "max": _max,
    "meanExt": _mean_extended,
}
