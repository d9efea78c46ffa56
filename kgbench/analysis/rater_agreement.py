# SPDX-License-Identifier: Apache-2.0
"""Agreement of raters beyond chance: judges, people and executed outcomes on the same items.

Every coefficient takes :class:`Ratings` and, for resampling, a weight per item: an item of weight
two counts as two equal items. A coefficient is ``None`` where it is undefined, which is where the
chance agreement is complete, or where no item has two ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from kgbench.analysis.intervals import Interval
from kgbench.analysis.significance import percentile_interval

_Category = TypeVar("_Category", bound=Hashable)
Coefficient: TypeAlias = "Callable[[Ratings, Any], float | None]"
_MISSING = -1
_UNDEFINED = 0.05  # share of undefined resamples above which an interval would mislead


@dataclass(frozen=True, slots=True)
class Ratings:
    """What each rater said of each item.

    ``codes`` is an integer array of items by raters: positions in ``categories``, or -1 where the
    rater did not rate the item. The order of the categories matters to ordinal and weighted
    coefficients, their values to :func:`krippendorff_alpha` at the interval level.
    """

    codes: Any
    categories: tuple[Hashable, ...]

    @classmethod
    def of(
        cls, rows: Iterable[Sequence[_Category | None]], categories: Sequence[_Category]
    ) -> Ratings:
        """Ratings from one row per item and one column per rater; ``None`` is a missing rating.

        Raises :class:`ValueError` for a value outside ``categories`` and for rows of different
        lengths.
        """
        import numpy as np

        place: dict[_Category | None, int] = {name: k for k, name in enumerate(categories)}
        place[None] = _MISSING
        table = [list(row) for row in rows]
        if unknown := {value for row in table for value in row if value not in place}:
            named = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"ratings outside the categories: {named}")
        if len({len(row) for row in table}) > 1:
            raise ValueError("items have different numbers of raters: mark missing ones by None")
        codes = np.array([[place[value] for value in row] for row in table], dtype=int)
        raters = len(table[0]) if table else 0
        return cls(codes.reshape(len(table), raters), tuple(categories))

    @property
    def items(self) -> int:
        """The number of items, those without any rating included."""
        return len(self.codes)

    @property
    def counts(self) -> Any:
        """How many raters gave each item each category: an array of items by categories."""
        import numpy as np

        return np.stack(
            [(self.codes == k).sum(axis=1) for k in range(len(self.categories))], axis=1
        ).astype(float)

    def confusion(self, weights: Any = None) -> Any:
        """Items by the categories that two raters gave; an array, the first rater's in rows.

        Raises :class:`ValueError` where there are not exactly two raters.
        """
        import numpy as np

        if self.items and self.codes.shape[1] != 2:  # noqa: PLR2004 - the definition
            raise ValueError(f"a confusion table is of two raters, not {self.codes.shape[1]}")
        table = np.zeros((len(self.categories), len(self.categories)))
        if self.items:
            both = (self.codes != _MISSING).all(axis=1)
            first, second = self.codes[both].T
            np.add.at(table, (first, second), _each(self.items, weights)[both])
        return table


# --- coefficients ---------------------------------------------------------------------------


def percent_agreement(ratings: Ratings, weights: Any = None) -> float | None:
    """The share of pairs of raters that agree, averaged over items with two ratings or more.

    From 0 to 1; with two raters the share of items on which they agree.
    """
    counts, by_item = ratings.counts, _each(ratings.items, weights)
    return _observed(counts, by_item)


def cohen_kappa(ratings: Ratings, weights: Any = None, *, weighting: str = "none") -> float | None:
    """Cohen's kappa of two raters, over the items that both have rated; from -1 to 1.

    ``weighting`` is ``none`` (Cohen, Educational and Psychological Measurement 20, 1960),
    ``linear`` or ``quadratic``: how disagreement grows with the distance of two categories in
    their order (Cohen, Psychological Bulletin 70, 1968). Raises :class:`ValueError` for another
    weighting or another number of raters.
    """
    import numpy as np

    table = ratings.confusion(weights)
    places = np.arange(len(ratings.categories))
    apart = np.abs(places[:, None] - places[None, :])
    distances = {"none": (apart > 0) * 1.0, "linear": apart * 1.0, "quadratic": apart**2.0}
    if weighting not in distances:
        raise ValueError(f"'{weighting}' is no weighting; there are: {', '.join(distances)}")
    total = table.sum()
    if not total:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    by_chance = (distances[weighting] * expected).sum()
    if not by_chance:
        return None
    return float(1 - (distances[weighting] * table).sum() / by_chance)


def fleiss_kappa(ratings: Ratings, weights: Any = None) -> float | None:
    """Fleiss' kappa of any number of raters; at most 1.

    With as many ratings of every item this is the coefficient of Fleiss (Psychological Bulletin
    76, 1971). Ratings may be missing: observed agreement is then over items with two ratings or
    more, and chance agreement over all rated items (Gwet, Handbook of Inter-Rater Reliability,
    4th edition 2014, section 2.5).
    """
    counts, by_item = ratings.counts, _each(ratings.items, weights)
    shares = _shares(counts, by_item)
    return None if shares is None else _beyond(counts, by_item, float((shares**2).sum()))


def gwet_ac1(ratings: Ratings, weights: Any = None) -> float | None:
    """Gwet's AC1 of any number of raters, with missing ratings; at most 1.

    Its chance agreement stays small where one category is much more frequent than the others
    (Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008). It depends on the
    number of categories that could be given, also of those that no rater gave.
    """
    counts, by_item = ratings.counts, _each(ratings.items, weights)
    shares = _shares(counts, by_item)
    if shares is None or len(ratings.categories) == 1:
        return None
    chance = float((shares * (1 - shares)).sum()) / (len(ratings.categories) - 1)
    return _beyond(counts, by_item, chance)


def krippendorff_alpha(
    ratings: Ratings, weights: Any = None, *, level: str = "nominal"
) -> float | None:
    """Krippendorff's alpha of any number of raters, with missing ratings; at most 1.

    ``level`` says what categories are: ``nominal``, ``ordinal`` (their order counts) or
    ``interval`` (they are numbers). Source: Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011, by way of the matrix of coincidences. Raises :class:`ValueError` for
    another level, and for categories that are no numbers at the interval level.
    """
    counts, by_item = ratings.counts, _each(ratings.items, weights)
    given = counts.sum(axis=1)
    pairable = given > 1
    counts, given = counts[pairable], given[pairable]
    shared = counts * (by_item[pairable] / (given - 1))[:, None]
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
"""Every coefficient by the name that tables give it."""


# --- intervals ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreed:
    """A coefficient with its 95 % interval; either is ``None`` where it is undefined.

    ``items`` counts items with two ratings or more, ``clusters`` what was resampled, and
    ``undefined`` the resamples in which the coefficient is undefined.
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
) -> Agreed:
    """A coefficient with a percentile bootstrap interval over whole clusters of items.

    ``clusters`` names the cluster of each item, such as its case; without it every item is one. No
    interval is given for fewer than two clusters, or where more than 5 % of the resamples leave
    the coefficient undefined. Raises :class:`ValueError` where ``clusters`` has another length.
    """
    import numpy as np

    rated = int(((ratings.codes != _MISSING).sum(axis=1) > 1).sum()) if ratings.items else 0
    names = range(ratings.items) if clusters is None else clusters
    if len(names) != ratings.items:
        raise ValueError(f"{len(names)} clusters are named for {ratings.items} items")
    place: dict[Hashable, int] = {}
    of_item = np.array([place.setdefault(name, len(place)) for name in names], dtype=int)
    value = coefficient(ratings, None) if ratings.items else None
    if value is None or len(place) < 2:  # noqa: PLR2004 - nothing varies between resamples of one
        return Agreed(value, None, rated, len(place))
    draws = np.random.default_rng(seed).multinomial(
        len(place), np.full(len(place), 1 / len(place)), size=samples
    )
    drawn = [coefficient(ratings, drawn[of_item]) for drawn in draws]
    known = [one for one in drawn if one is not None]
    undefined = samples - len(known)
    interval = percentile_interval(known) if undefined <= _UNDEFINED * samples else None
    return Agreed(value, interval, rated, len(place), undefined)


# --- parts ----------------------------------------------------------------------------------


def _each(items: int, given: Any) -> Any:
    """The weights of items; one each where none are given."""
    import numpy as np

    return np.ones(items) if given is None else np.asarray(given, dtype=float)


def _observed(counts: Any, weights: Any) -> float | None:
    """The mean share of agreeing pairs of raters over the items that have a pair."""
    given = counts.sum(axis=1)
    paired = given > 1
    total = weights[paired].sum()
    if not total:
        return None
    counts, given = counts[paired], given[paired]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (given * (given - 1))
    return float((weights[paired] * agreeing).sum() / total)


def _shares(counts: Any, weights: Any) -> Any:
    """The mean share of each category among an item's ratings; ``None`` without any rating."""
    given = counts.sum(axis=1)
    rated = given > 0
    total = weights[rated].sum()
    if not total:
        return None
    return (weights[rated][:, None] * counts[rated] / given[rated][:, None]).sum(axis=0) / total


def _beyond(counts: Any, weights: Any, chance: float) -> float | None:
    observed = _observed(counts, weights)
    if observed is None or chance >= 1:
        return None
    return (observed - chance) / (1 - chance)


def _distances(categories: Sequence[Hashable], margins: Any, level: str) -> Any:
    """The squared differences of categories, as Krippendorff defines them for each level."""
    import numpy as np

    places = np.arange(len(categories))
    if level == "nominal":
        return (places[:, None] != places[None, :]) * 1.0
    if level == "ordinal":
        up_to = np.cumsum(margins) - margins / 2
        return (up_to[:, None] - up_to[None, :]) ** 2
    if level == "interval":
        if not all(isinstance(value, int | float) for value in categories):
            raise ValueError("alpha at the interval level needs categories that are numbers")
        values = np.array(categories, dtype=float)
        return (values[:, None] - values[None, :]) ** 2
    raise ValueError(f"'{level}' is no level; there are: nominal, ordinal, interval")


def _diagonal(size: int) -> Any:
    import numpy as np

    return np.diag_indices(size)
