# SPDX-License-Identifier: Apache-2.0
"""Formulas of scores: similarity of texts, brevity of answers, and aggregation over rounds.

Similarity is that of :mod:`difflib`. Brevity says how little text an answer has besides the
requested content, from 0 to 1. Scores of a dialogue's answers are aggregated into scores of the
whole dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

TIMES: Final = 50


@lru_cache(maxsize=256)  # models often repeat an answer to the same question
def ratio(text: str, reference: str) -> float:
    """Return the ratio of :class:`difflib.SequenceMatcher`, from 0 to 1.

    The ratio is not symmetric: the order of the arguments matters. The popularity heuristic stays
    on, so that near-identical texts of more than 200 characters may reach only 0.9. A text more
    than :data:`TIMES` as long as the reference has ratio 0 without a comparison, which would take
    quadratic time and give 0.04 at most.
    """
    if len(text) > TIMES * max(len(reference), 1):
        return 0.0
    return SequenceMatcher(None, text, reference).ratio()


def improvement(ratio: float, baseline: float) -> float:
    """Return the improvement of ``ratio`` over ``baseline``, the similarity before the change.

    It is 0.2 ratio/baseline up to the baseline, then linear to 1. Not clamped: rounding can give
    1.0000000000000002. Source: Meyer et al., LLM-KG-Bench 3.0, ESWC 2025, section 3.4.1.
    """
    if ratio <= baseline:
        return 0.2 * ratio / baseline if baseline else 0.0
    return 0.2 + 0.8 * (ratio - baseline) / (1 - baseline)


def by_length(needed: int, answer: str) -> float:
    """Return ``needed`` characters divided by the length of ``answer``, at most 1.

    The result is 1 if ``answer`` is empty.
    """
    return min(1.0, needed / len(answer)) if answer else 1.0


def by_blanks(expected: str, answer: str) -> float:
    """Return the spaces in ``expected`` plus 1, divided by those in ``answer`` plus 1, at most 1.

    Spaces are U+0020: line breaks and fences do not count.
    """
    return min(1.0, (expected.count(" ") + 1) / (answer.count(" ") + 1))


def by_block(block: str | None, answer: str) -> float:
    """Return the share of ``block``, with its fences, in the length of ``answer``.

    The share is 0 without a block. White space around the block does not count if the answer has no
    other text.
    """
    if block is None:
        return 0.0
    if answer.strip() == block:
        return 1.0
    return len(block) / len(answer)


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
