# SPDX-License-Identifier: Apache-2.0
"""Scores of models in bootstrap samples of cases, with their intervals and ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kgbench.analysis.cluster_rows import ROUNDING
from kgbench.analysis.intervals import Interval
from kgbench.analysis.ranking import Case, Units
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.significance import bootstrap_p, percentile_interval


class ResampledScores:
    """Combined scores of all models in bootstrap samples of cases, the same for every model."""

    def __init__(
        self,
        units: Units,
        weights: Mapping[Score, Fraction],
        ranked: list[str],
        unranked: list[str],
        *,
        samples: int,
        seed: int,
    ) -> None:
        import numpy as np

        generator = np.random.default_rng(seed)
        models = [*ranked, *unranked]
        self._ranked = len(ranked)
        self._column = {model: column for column, model in enumerate(models)}
        total = np.zeros((samples, len(models)))
        weight = np.zeros((samples, len(models)))
        for score, dialogues in sorted(units.items(), key=str):
            sums, sizes = self._matrices(_by_case(dialogues))
            draws = generator.multinomial(
                sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), size=samples
            )
            values, numbers = draws @ sums.T, draws @ sizes.T
            has_values = numbers > 0
            # A sample without any case of a model's task gives no score over all its tasks.
            total[~has_values & (sizes.sum(axis=1) > 0)] = np.nan
            share = float(weights[score] * len(weights))  # 1.0 where all count alike
            total[has_values] += share * values[has_values] / numbers[has_values]
            weight[has_values] += share
        with np.errstate(invalid="ignore"):
            self._scores = total / weight

    def _matrices(self, cases: Mapping[Case, Mapping[str, Sequence[float]]]) -> Any:
        import numpy as np

        sums = np.zeros((len(self._column), len(cases)))
        sizes = np.zeros_like(sums)
        for column, (_, by_model) in enumerate(sorted(cases.items(), key=str)):
            for model, values in by_model.items():
                sums[self._column[model], column] = sum(values)
                sizes[self._column[model], column] = len(values)
        return sums, sizes

    def _with(self, *models: str) -> Any:
        """Return the samples with scores of all ``models``; some samples miss rare cases."""
        import numpy as np

        columns = [self._column[model] for model in models]
        return self._scores[~np.isnan(self._scores[:, columns]).any(axis=1)]

    def interval(self, model: str, score: float | None) -> Interval | None:
        """Return the middle 95 % of the model's scores; ``None`` where no sample has one.

        Both ends lie among the scores of samples and the ``score`` itself, so they never leave the
        range of the metrics, and never exclude the score.
        """
        return percentile_interval(self._with(model)[:, self._column[model]].tolist(), score)

    def ranks(self, model: str) -> tuple[int | None, int | None]:
        """Return the middle 95 % of a ranked model's ranks; ``None`` where no sample has one."""
        import numpy as np

        scores = self._with(model)[:, : self._ranked]
        if not len(scores):
            return None, None
        ranks = 1 + (scores > scores[:, [self._column[model]]] + ROUNDING).sum(axis=1)
        low, high = np.quantile(ranks, [0.025, 0.975], method="inverted_cdf")
        return int(low), int(high)

    def p_against(self, best: str, model: str) -> float | None:
        """Return two-sided p of the difference to the best model; ``None`` without samples."""
        scores = self._with(best, model)
        differences = scores[:, self._column[best]] - scores[:, self._column[model]]
        return bootstrap_p([float(d) for d in differences])


def _by_case(
    units: Mapping[Case, Mapping[str, Sequence[float]]],
) -> Mapping[Case, Mapping[str, Sequence[float]]]:
    """Group values by units of resampling: cases, or dialogues where there is a single case."""
    if len({case for case, _ in units}) == 1:
        return units
    cases: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (case, _), by_model in units.items():
        for model, values in by_model.items():
            cases[case, None][model] += values
    return cases
