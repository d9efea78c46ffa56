# SPDX-License-Identifier: Apache-2.0
"""Clusters of many weighted means at once, such as the differences of all pairs of models.

A call of NumPy has a fixed cost, which is most of its time for an array of a hundred clusters. One
by one, the half a million pairs of a thousand models would take minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

ROUNDING = 1e-12
"""Differences of means of scores of the size of 1 that the rounding of sums can explain.

It is smaller than :data:`~kgbench.model.TOLERANCE`, which makes two recorded scores equal: means
over different numbers of dialogues, such as 100,000 and 99,999, can differ by 1e-10 in fact.
"""


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Clusters of several weighted means: the arrays have a row for each mean.

    For each cluster, ``strata`` has the number of its stratum, ``weights`` the sum of the weights
    of its values, and ``totals`` their weighted sum. A cluster that does not belong to a row has
    the stratum ``count``, which is the number of strata. ``lone`` has the number of strata of each
    row that are left out because they have one cluster. ``opposite`` maps the stratum of the
    answers of a first model to that of the answers of a second model to the same case: these
    answers are not paired.
    """

    strata: Any
    weights: Any
    totals: Any
    count: int
    lone: Any
    opposite: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of_sums(
        cls,
        strata: Any,
        present: Any,
        weights: Any,
        totals: Any,
        opposite: Mapping[int, int] = MappingProxyType({}),
    ) -> ClusterRows:
        """Make rows from the stratum of each cluster, and the clusters ``present`` in each row.

        ``strata`` numbers strata from 0, in one row for all rows or in as many. Strata with one
        cluster are left out of a row. Its clusters are sorted, so that no floating-point sum
        depends on the order of rows of a table, which differs between a store and its publication.
        A total that differs from 0 only by rounding is 0: else equal means of repeated values, such
        as of .1, .2 and .3 and of .2, .2 and .2, would differ in every case.
        """
        import numpy as np

        count = int(strata.max()) + 1 if strata.size else 0
        every = np.broadcast_to(strata, present.shape)
        numbers = summed(strata, count, present)
        used = present & (np.take_along_axis(numbers, every, 1) > 1)
        arrays = (
            np.where(used, every, count),
            np.where(used, weights, 0.0),
            np.where(used & (np.abs(totals) > ROUNDING * weights), totals, 0.0),
        )
        order = np.lexsort((arrays[1], arrays[2], arrays[0]), axis=-1)
        strata, weights, totals = (np.take_along_axis(array, order, 1) for array in arrays)
        lone = (numbers[:, :count] == 1).sum(axis=1)
        return cls(strata, weights, totals, count, lone, opposite)

    @cached_property
    def used(self) -> Any:
        """Whether each cluster belongs to its row."""
        return self.strata < self.count

    @cached_property
    def _numbers(self) -> Any:
        """The numbers of clusters by row and stratum."""
        return summed(self.strata, self.count, self.used)[:, : self.count].astype(int)

    @cached_property
    def number(self) -> Any:
        """The number of clusters of each row."""
        return self._numbers.sum(axis=1)

    @cached_property
    def unpaired(self) -> Any:
        """Whether each row has strata of answers that are not paired (``opposite``)."""
        return self._numbers[:, [*self.opposite]].any(axis=1)

    @cached_property
    def varying(self) -> Any:
        """The number of clusters of each row in strata whose clusters vary."""
        return (self._numbers * (self._variances > 0)).sum(axis=1)

    @cached_property
    def freedom(self) -> Any:
        """The effective degrees of freedom of each error; NaN where no stratum varies.

        With the variance V of the contribution of each stratum of G clusters, these are
        (sum of V)^2 / (sum of V^2 / (G - 1)) (Satterthwaite, Biometrics Bulletin 2, 1946): G - 1 in
        one stratum, and at most clusters less strata. A stratum that does not vary, such as a task
        that both models always solve, tells nothing about the variance of the others.
        """
        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            shares = self._variances / _exact_sums(self._variances)[:, None]
            parts = np.where(self._numbers > 1, shares**2 / (self._numbers - 1), 0.0)
            return 1 / _exact_sums(parts)

    @cached_property
    def _all_weights(self) -> Any:
        return _exact_sums(self.weights)

    @cached_property
    def means(self) -> Any:
        """The weighted mean of each row; NaN without clusters."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return _exact_sums(self.totals) / self._all_weights

    @cached_property
    def errors(self) -> Any:
        """The cluster-robust standard error of each mean; NaN without clusters."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return np.sqrt(_exact_sums(self._variances)) / self._all_weights

    @cached_property
    def _variances(self) -> Any:
        """The variance of the weighted sum of each stratum, by row.

        It is G / (G - 1) times the sum over clusters of the squared sum of residuals from the mean
        of the stratum (Liang and Zeger, Biometrika 73, 1986; Miller, arXiv 2411.00640, section 2.2,
        with the correction for G).
        """
        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            centres = summed(self.strata, self.count, self.totals) / summed(
                self.strata, self.count, self.weights
            )
            expected = np.where(
                self.used, self.weights * np.take_along_axis(centres, self.strata, 1), 0.0
            )
            residuals = self.totals - expected
            rounding = ROUNDING * (np.abs(self.totals) + np.abs(expected) + self.weights)
            squares = np.where(np.abs(residuals) > rounding, residuals, 0.0) ** 2
            factors = np.where(self._numbers > 1, self._numbers / (self._numbers - 1), 0.0)
            return factors * summed(self.strata, self.count, squares)[:, : self.count]


def summed(groups: Any, count: int, values: Any) -> Any:
    """Sum the values of each row by group, in order.

    ``groups`` numbers the group of each value from 0 to ``count``, in one row for all rows of
    ``values`` or in as many. The result has a column for each number.
    """
    import numpy as np

    places = np.arange(len(values))[:, None] * (count + 1) + groups
    sums = np.bincount(places.ravel(), values.ravel(), len(values) * (count + 1))
    return sums.reshape(len(values), count + 1)


def _exact_sums(values: Any) -> Any:
    """Sum each row exactly, so that the result does not depend on the order of its values."""
    import numpy as np

    return np.array([math.fsum(row) for row in values.tolist()])
