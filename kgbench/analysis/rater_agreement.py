# SPDX-License-Identifier: Apache-2.0
"""Coefficients of agreement of raters: judges, people and executed outcomes on the same items.

Every coefficient takes :class:`Ratings` and, for resampling, a weight per item: an item of weight
two counts as two equal items. A coefficient is ``None`` where it is undefined: where agreement by
chance is complete, or no item has two ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeAlias, TypeVar

from kgbench.model import TOLERANCE
from kgbench.statistics.intervals import Interval, normal_quantile
from kgbench.statistics.significance import percentile_interval

_Category = TypeVar("_Category", bound=Hashable)
Coefficient: TypeAlias = "Callable[[Ratings, Any], float | None]"
_MISSING = -1
_UNDEFINED = 0.05  # share of undefined resamples above which an interval would mislead


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of items by raters.

    ``codes`` is an integer array of items by raters: positions in ``categories``, or -1 where the
    rater did not rate the item. The order of the categories matters for ordinal and weighted
    coefficients, their values for :func:`krippendorff_alpha` at the interval level.
    """

    codes: Any
    categories: tuple[Hashable, ...]

    @classmethod
    def of(
        cls, rows: Iterable[Sequence[_Category | None]], categories: Sequence[_Category]
    ) -> Ratings:
        """Make ratings from one row per item and one column per rater; ``None`` is missing.

        Raises :class:`ValueError` for a value outside ``categories`` and for rows of different
        lengths.
        """
        import numpy as np

        code_of: dict[_Category | None, int] = {name: k for k, name in enumerate(categories)}
        code_of[None] = _MISSING
        table = [list(row) for row in rows]
        if unknown := {value for row in table for value in row if value not in code_of}:
            listed = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"ratings outside the categories: {listed}")
        if len({len(row) for row in table}) > 1:
            raise ValueError("items have different numbers of raters: use None for missing ratings")
        codes = np.array([[code_of[value] for value in row] for row in table], dtype=int)
        raters = len(table[0]) if table else 0
        return cls(codes.reshape(len(table), raters), tuple(categories))

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

    def confusion(self, weights: Any = None) -> Any:
        """Count items by the categories of two raters; an array with the first rater in rows.

        Raises :class:`ValueError` where there are not exactly two raters.
        """
        import numpy as np

        if self.items and self.codes.shape[1] != 2:  # noqa: PLR2004 - the definition
            raise ValueError(f"a confusion table needs two raters, not {self.codes.shape[1]}")
        table = np.zeros((len(self.categories), len(self.categories)))
        if self.items:
            both = (self.codes != _MISSING).all(axis=1)
            first, second = self.codes[both].T
            np.add.at(table, (first, second), _item_weights(self.items, weights)[both])
        return table


# --- coefficients ---------------------------------------------------------------------------


def percent_agreement(ratings: Ratings, weights: Any = None) -> float | None:
    """Return the share of agreeing pairs of raters, averaged over items with at least two ratings.

    It is 0 to 1; with two raters it is the share of items on which they agree.
    """
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    return _observed(counts, by_item)


def cohen_kappa(ratings: Ratings, weights: Any = None, *, weighting: str = "none") -> float | None:
    """Return Cohen's kappa of two raters over the items that both have rated; from -1 to 1.

    ``weighting`` is ``none`` (Cohen, Educational and Psychological Measurement 20, 1960),
    ``linear`` or ``quadratic``: the growth of disagreement with the distance between two categories
    in their order (Cohen, Psychological Bulletin 70, 1968). Raises :class:`ValueError` for another
    weighting or another number of raters.
    """
    import numpy as np

    table = ratings.confusion(weights)
    positions = np.arange(len(ratings.categories))
    apart = np.abs(positions[:, None] - positions[None, :])
    distances = {"none": (apart > 0) * 1.0, "linear": apart * 1.0, "quadratic": apart**2.0}
    if weighting not in distances:
        raise ValueError(f"'{weighting}' is not a weighting; there are: {', '.join(distances)}")
    total = table.sum()
    if not total:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    by_chance = (distances[weighting] * expected).sum()
    if not by_chance:
        return None
    return float(1 - (distances[weighting] * table).sum() / by_chance)


def fleiss_kappa(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Fleiss' kappa of any number of raters; at most 1.

    If all items have the same number of ratings, this is the coefficient of Fleiss (Psychological
    Bulletin 76, 1971). Ratings may be missing: observed agreement is then over items with at least
    two ratings, and chance agreement over all rated items (Gwet, Handbook of Inter-Rater
    Reliability, 4th edition 2014, section 2.5).
    """
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    shares = _shares(counts, by_item)
    return None if shares is None else _beyond(counts, by_item, float((shares**2).sum()))


def gwet_ac1(ratings: Ratings, weights: Any = None) -> float | None:
    """Return Gwet's AC1 of any number of raters, with missing ratings; at most 1.

    Its chance agreement stays small where one category is much more frequent than the others
    (Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008). It depends on the
    number of possible categories, including those that no rater gave.
    """
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    shares = _shares(counts, by_item)
    if shares is None or len(ratings.categories) == 1:
        return None
    chance = float((shares * (1 - shares)).sum()) / (len(ratings.categories) - 1)
    return _beyond(counts, by_item, chance)


def krippendorff_alpha(
    ratings: Ratings, weights: Any = None, *, level: str = "nominal"
) -> float | None:
    """Return Krippendorff's alpha of any number of raters, with missing ratings; at most 1.

    ``level`` is the level of measurement of the categories: ``nominal``, ``ordinal`` (their order
    counts) or ``interval`` (they are numbers). Source: Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011, by the matrix of coincidences. Raises :class:`ValueError` for another
    level, and at the interval level for categories that are not numbers.
    """
    counts, by_item = ratings.counts, _item_weights(ratings.items, weights)
    totals = counts.sum(axis=1)
    pairable = totals > 1
    counts, totals = counts[pairable], totals[pairable]
    shared = counts * (by_item[pairable] / (totals - 1))[:, None]
    coincidences = counts.T @ shared
    coincidences[_diagonal(len(coincidences))] -= shared.sum(axis=0)
    margins = coincidences.sum(axis=1)
    total = margins.sum()
    distances = _distances(ratings.categories, margins, level)
    by_chance = (distances * margins[:, None] * margins[None, :]).sum()
    if not by_chance:
        return None
    return float(1 - (total - 1) * (distances * coincidences).sum() / by_chance)


COEFFICIENTS: dict[str, Coefficient] = {
    "percent agreement": percent_agreement,
    "Cohen's kappa": cohen_kappa,
    "Cohen's kappa, linear weights": partial(cohen_kappa, weighting="linear"),
    "Cohen's kappa, quadratic weights": partial(cohen_kappa, weighting="quadratic"),
    "Fleiss' kappa": fleiss_kappa,
    "Krippendorff's alpha, nominal": krippendorff_alpha,
    "Krippendorff's alpha, ordinal": partial(krippendorff_alpha, level="ordinal"),
    "Krippendorff's alpha, interval": partial(krippendorff_alpha, level="interval"),
    "Gwet's AC1": gwet_ac1,
}
"""All coefficients by their names in tables."""


# --- intervals ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgreementEstimate:
    """A coefficient with its 95 % interval; either is ``None`` where it is undefined.

    ``items`` is the number of items with at least two ratings, ``clusters`` the number of resampled
    clusters, and ``undefined`` the number of resamples in which the coefficient is undefined.
    """

    value: float | None
    interval: Interval | None
    items: int
    clusters: int
    undefined: int = 0


def estimate(
    coefficient: Coefficient,
    ratings: Ratings,
    clusters: Sequence[Hashable] | None = None,
    *,
    samples: int = 2_000,
    seed: int = 0,
) -> AgreementEstimate:
    """Estimate a coefficient with a percentile bootstrap interval over whole clusters of items.

    ``clusters`` names the cluster of each item, such as its case; by default every item is its own
    cluster. Where no resample differs, as at full agreement, the interval is that of a further item
    (:func:`_with_another_item`). There is no interval for fewer than two clusters, or where the
    coefficient is undefined in more than 5 % of the resamples. Raises :class:`ValueError` where
    ``clusters`` and items differ in length.
    """
    import numpy as np

    rated = int(((ratings.codes != _MISSING).sum(axis=1) > 1).sum()) if ratings.items else 0
    names = range(ratings.items) if clusters is None else clusters
    if len(names) != ratings.items:
        raise ValueError(f"there are {len(names)} names of clusters for {ratings.items} items")
    numbers: dict[Hashable, int] = {}
    of_item = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=int)
    value = coefficient(ratings, None) if ratings.items else None
    if value is None or len(numbers) < 2:  # noqa: PLR2004 - nothing varies between resamples of one
        return AgreementEstimate(value, None, rated, len(numbers))
    draws = np.random.default_rng(seed).multinomial(
        len(numbers), np.full(len(numbers), 1 / len(numbers)), size=samples
    )
    values = [coefficient(ratings, draw[of_item]) for draw in draws]
    defined = [v for v in values if v is not None]
    undefined = samples - len(defined)
    interval = percentile_interval(defined, value) if undefined <= _UNDEFINED * samples else None
    if interval is not None and max(defined) - min(defined) <= TOLERANCE:
        interval = _with_another_item(coefficient, ratings, value, rated / len(numbers))
    return AgreementEstimate(value, interval, rated, len(numbers), undefined)


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
    """Return the weights of items, by default 1 each."""
    import numpy as np

    return np.ones(items) if weights is None else np.asarray(weights, dtype=float)


def _observed(counts: Any, weights: Any) -> float | None:
    """Return the mean share of agreeing pairs of raters over the items with at least one pair."""
    totals = counts.sum(axis=1)
    paired = totals > 1
    total = weights[paired].sum()
    if not total:
        return None
    counts, totals = counts[paired], totals[paired]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (totals * (totals - 1))
    return float((weights[paired] * agreeing).sum() / total)


def _shares(counts: Any, weights: Any) -> Any:
    """Return the mean share of each category in an item's ratings; ``None`` without ratings."""
    totals = counts.sum(axis=1)
    rated = totals > 0
    total = weights[rated].sum()
    if not total:
        return None
    return (weights[rated][:, None] * counts[rated] / totals[rated][:, None]).sum(axis=0) / total


def _beyond(counts: Any, weights: Any, chance: float) -> float | None:
    observed = _observed(counts, weights)
    if observed is None or chance >= 1:
        return None
    return (observed - chance) / (1 - chance)


def _distances(categories: Sequence[Hashable], margins: Any, level: str) -> Any:
    """Return the squared differences of categories by Krippendorff's definition for a level."""
    import numpy as np

    positions = np.arange(len(categories))
    if level == "nominal":
        return (positions[:, None] != positions[None, :]) * 1.0
    if level == "ordinal":
        up_to = np.cumsum(margins) - margins / 2
        return (up_to[:, None] - up_to[None, :]) ** 2
    if level == "interval":
        if not all(isinstance(value, int | float) for value in categories):
            raise ValueError("alpha at the interval level needs numbers as categories")
        values = np.array(categories, dtype=float)
        return (values[:, None] - values[None, :]) ** 2
    raise ValueError(f"'{level}' is not a level; there are: nominal, ordinal, interval")


def _diagonal(size: int) -> Any:
    import numpy as np

    return np.diag_indices(size)
