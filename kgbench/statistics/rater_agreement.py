# SPDX-License-Identifier: Apache-2.0
"""Coefficients of agreement of raters: judges, people and executed outcomes on the same items.

Every coefficient takes :class:`Ratings` and, for resampling, a weight per item: an item of weight
two counts as two equal items. A coefficient is ``None`` where it is undefined: where agreement by
chance is complete, or no item has two ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from kgbench.model import TOLERANCE
from kgbench.statistics.intervals import Interval, normal_quantile
from kgbench.statistics.significance import percentile_interval

Coefficient: TypeAlias = "Callable[[Ratings, Any], float | None]"
_MISSING = -1
_UNDEFINED = 0.05  # share of undefined resamples above which an interval would mislead


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of items by raters.

    ``codes`` is an integer array of items by raters: positions in ``categories``, or -1 where the
    rater did not rate the item.
    """

    codes: Any
    categories: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Sequence[str | None]], categories: Sequence[str]) -> Ratings:
        """Make ratings from one row per item and one column per rater; ``None`` is missing.

        Raises :class:`ValueError` for rows of different lengths, and :class:`KeyError` for a value
        outside ``categories``.
        """
        import numpy as np

        code_of: dict[str | None, int] = {name: k for k, name in enumerate(categories)}
        code_of[None] = _MISSING
        table = [[code_of[value] for value in row] for row in rows]
        raters = len(table[0]) if table else 0
        codes = np.array(table, dtype=int).reshape(len(table), raters)
        return cls(codes, tuple(categories))

    @property
    def items(self) -> int:
        """The number of items, including those without any rating."""
        return len(self.codes)

    @property
    def counts(self) -> Any:
        """The numbers of raters that gave each item each category: items by categories."""
        import numpy as np

        return np.stack(
            [(self.codes == k).sum(axis=1) for k in range(len(self.categories))], axis=1
        ).astype(float)


# --- coefficients ---------------------------------------------------------------------------


def percent_agreement(ratings: Ratings, weights: Any = None) -> float | None:
    """Return the share of agreeing pairs of raters, averaged over items with at least two ratings.

    It is 0 to 1; with two raters it is the share of items on which they agree.
    """
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    totals = counts.sum(axis=1)
    paired = totals > 1
    total = by_item[paired].sum()
    if not total:
        return None
    counts, totals = counts[paired], totals[paired]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (totals * (totals - 1))
    return float((by_item[paired] * agreeing).sum() / total)


def cohen_kappa(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Cohen's kappa of two raters over the items that both have rated; from -1 to 1.

    Source: Cohen, Educational and Psychological Measurement 20, 1960. Raises :class:`ValueError`
    for another number of raters.
    """
    import numpy as np

    if not ratings.items:
        return None
    if ratings.codes.shape[1] != 2:  # noqa: PLR2004 - the definition
        raise ValueError(f"Cohen's kappa needs two raters, not {ratings.codes.shape[1]}")
    both = (ratings.codes != _MISSING).all(axis=1)
    first, second = ratings.codes[both].T
    table = np.zeros((len(ratings.categories), len(ratings.categories)))
    np.add.at(table, (first, second), _item_weights(ratings.items, weights)[both])
    total = table.sum()
    if not total:
        return None
    distances = 1.0 - np.eye(len(table))
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    by_chance = (distances * expected).sum()
    return float(1 - (distances * table).sum() / by_chance) if by_chance else None


def fleiss_kappa(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Fleiss' kappa of any number of raters; at most 1.

    If all items have the same number of ratings, this is the coefficient of Fleiss (Psychological
    Bulletin 76, 1971). Ratings may be missing: observed agreement is then over items with at least
    two ratings, and chance agreement over all rated items (Gwet, Handbook of Inter-Rater
    Reliability, 4th edition 2014, section 2.5).
    """
    shares = _shares(ratings, weights)
    return None if shares is None else _beyond(ratings, weights, float((shares**2).sum()))


def gwet_ac1(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Gwet's AC1 of any number of raters, with missing ratings; at most 1.

    Its chance agreement stays small where one category is much more frequent than the others
    (Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008). It depends on the
    number of possible categories, including those that no rater gave.
    """
    shares = _shares(ratings, weights)
    if shares is None or len(ratings.categories) == 1:
        return None
    chance = float((shares * (1 - shares)).sum()) / (len(ratings.categories) - 1)
    return _beyond(ratings, weights, chance)


def krippendorff_alpha(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Krippendorff's alpha of any number of raters, with missing ratings; at most 1.

    It is that of nominal categories (Krippendorff, Computing Krippendorff's Alpha-Reliability,
    2011), by the matrix of coincidences.
    """
    import numpy as np

    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    totals = counts.sum(axis=1)
    pairable = totals > 1
    counts, totals = counts[pairable], totals[pairable]
    shared = counts * (by_item[pairable] / (totals - 1))[:, None]
    coincidences = counts.T @ shared
    coincidences[np.diag_indices(len(coincidences))] -= shared.sum(axis=0)
    margins = coincidences.sum(axis=1)
    total = margins.sum()
    distances = 1.0 - np.eye(len(margins))
    by_chance = (distances * margins[:, None] * margins[None, :]).sum()
    if not by_chance:
        return None
    return float(1 - (total - 1) * (distances * coincidences).sum() / by_chance)


# --- intervals ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgreementEstimate:
    """A coefficient with its 95 % interval; either is ``None`` where it is undefined.

    ``items`` is the number of items with at least two ratings.
    """

    value: float | None
    interval: Interval | None
    items: int


def estimate(
    coefficient: Coefficient,
    ratings: Ratings,
    clusters: Sequence[Hashable],
    *,
    samples: int = 2_000,
    seed: int = 0,
) -> AgreementEstimate:
    """Estimate a coefficient with a percentile bootstrap interval over whole clusters of items.

    ``clusters`` names the cluster of each item, such as its case. Where no resample differs, as at
    full agreement, the interval is that of a further item (:func:`_with_another_item`). There is no
    interval for fewer than two clusters, or where the coefficient is undefined in more than 5 % of
    the resamples.
    """
    import numpy as np

    rated = int(((ratings.codes != _MISSING).sum(axis=1) > 1).sum()) if ratings.items else 0
    numbers: dict[Hashable, int] = {}
    of_item = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=int)
    value = coefficient(ratings, None) if ratings.items else None
    if value is None or len(numbers) < 2:  # noqa: PLR2004 - nothing varies between resamples of one
        return AgreementEstimate(value, None, rated)
    draws = np.random.default_rng(seed).multinomial(
        len(numbers), np.full(len(numbers), 1 / len(numbers)), size=samples
    )
    values = [coefficient(ratings, draw[of_item]) for draw in draws]
    defined = [v for v in values if v is not None]
    if samples - len(defined) > _UNDEFINED * samples:
        return AgreementEstimate(value, None, rated)
    interval = percentile_interval(defined, value)
    if max(defined) - min(defined) <= TOLERANCE:
        interval = _with_another_item(coefficient, ratings, value, rated / len(numbers))
    return AgreementEstimate(value, interval, rated)


def _with_another_item(
    coefficient: Coefficient, ratings: Ratings, value: float, items_per_cluster: float
) -> Interval:
    """Return the interval of a coefficient whose ``value`` is the same in all resamples.

    As in :func:`~kgbench.statistics.intervals.constant_interval`, a further cluster is of another
    kind with at most the probability of Wilson's upper bound for zero successes, z^2 / (n + z^2).
    Its items, which two categories divide or one unites, get this share of the weight; the ends are
    those of the worst and the best pair of categories.
    """
    import numpy as np

    raters = np.arange(ratings.codes.shape[1])
    weights = np.append(np.ones(ratings.items), normal_quantile() ** 2 * items_per_cluster)
    values = [value]
    for pair in product(range(len(ratings.categories)), repeat=2):
        codes = np.vstack([ratings.codes, np.array(pair)[raters % 2]])
        other = coefficient(Ratings(codes, ratings.categories), weights)
        values += [] if other is None else [other]
    return Interval(min(values), max(values))


# --- parts ----------------------------------------------------------------------------------


def _item_weights(items: int, weights: Any) -> Any:
    import numpy as np

    return np.ones(items) if weights is None else np.asarray(weights, dtype=float)


def _shares(ratings: Ratings, weights: Any) -> Any:
    """Return the mean share of each category in an item's ratings; ``None`` without ratings."""
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    totals = counts.sum(axis=1)
    rated = totals > 0
    total = by_item[rated].sum()
    if not total:
        return None
    return (by_item[rated][:, None] * counts[rated] / totals[rated][:, None]).sum(axis=0) / total


def _beyond(ratings: Ratings, weights: Any, chance: float) -> float | None:
    """Return how far the agreement exceeds that by ``chance``, as a share of what it could."""
    observed = percent_agreement(ratings, weights)
    if observed is None or chance >= 1:
        return None
    return (observed - chance) / (1 - chance)
