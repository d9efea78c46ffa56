# SPDX-License-Identifier: Apache-2.0
"""Scores of shapes that must accept correct graphs and refuse mutants with one broken rule each.

Mutation scores: DeMillo, Lipton and Sayward, Hints on Test Data Selection, Computer 1978; balanced
accuracy: Brodersen et al., The Balanced Accuracy and Its Posterior Distribution, ICPR 2010;
informedness: Youden, Index for Rating Diagnostic Tests, Cancer 1950.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import NamedTuple


class Discrimination(NamedTuple):
    """How well shapes discriminate correct graphs and mutants; all values are from 0 to 1.

    ``accepted`` is the share of correct graphs that conform, ``by_component`` the share of mutants
    that do not conform, by the component that they violate, and ``refused`` the mean of these.
    """

    accepted: float
    by_component: dict[str, float]

    @property
    def refused(self) -> float:
        """The mean share of refused mutants; all components have the same weight."""
        return fsum(self.by_component.values()) / len(self.by_component)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the accepted and the refused share; 0.5 without any discrimination."""
        return (self.accepted + self.refused) / 2

    @property
    def informedness(self) -> float:
        """Balanced accuracy above chance, rescaled to 0 to 1."""
        return max(0.0, self.accepted + self.refused - 1)

    @property
    def accuracies(self) -> dict[str, float]:
        """The balanced accuracy of each component."""
        return {name: (self.accepted + share) / 2 for name, share in self.by_component.items()}


def discrimination(right: Sequence[bool], mutants: Sequence[tuple[str, bool]]) -> Discrimination:
    """Compute the shares from the conformance of correct graphs, and of mutants with a component.

    >>> found = discrimination([True, True], [("MinCount", False), ("Class", True)])
    >>> found.accepted, found.refused, found.balanced_accuracy, found.informedness
    (1.0, 0.5, 0.75, 0.5)
    """
    totals = Counter(component for component, _ in mutants)
    refused = Counter(component for component, conforms in mutants if not conforms)
    shares = {
        component: refused[component] / number for component, number in sorted(totals.items())
    }
    return Discrimination(sum(right) / len(right), shares)
