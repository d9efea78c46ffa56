# SPDX-License-Identifier: Apache-2.0
"""The two-parameter logistic model of item response theory (2PL).

A model of ability t solves an item with probability 1 / (1 + exp(-a (t - b))): ``a`` is the
discrimination of the item and ``b`` its difficulty. Abilities have a standard normal distribution
and are integrated out (marginal likelihood by EM: Bock and Aitkin, Psychometrika 46, 1981). Normal
priors keep estimates finite with few models: mean 1 and deviation 1 for the slope a, mean 0 and
deviation 3 for the intercept -a b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODELS_NEEDED = 30
"""The least number of models that item parameters are estimated from."""
_NODES, _REACH = 41, 4.0
_ROUNDS, _STEADY = 500, 1e-4
_SLOPE, _SLOPE_SD, _INTERCEPT_SD = 1.0, 1.0, 3.0
_FLAT = 0.1  # below this slope the difficulty of an item cannot be estimated
_STEP = 1.0


class ItemParameters(NamedTuple):
    """Discrimination and difficulty of an item, in standard deviations of the models' abilities.

    ``difficulty`` is ``None`` where the item hardly discriminates (less than 0.1).
    """

    discrimination: float
    difficulty: float | None


def two_parameters(solved: NDArray[np.float64]) -> list[ItemParameters]:
    """Estimate the parameters of each item (row) from the shares of tries that models solved.

    Columns are models. A share is 0 to 1, ``nan`` where a model has no tries. Each share counts as
    one try, because repetitions of a model on an item are not independent. An item that all models
    or no model solved has no finite maximum-likelihood estimate: its estimate comes from the prior.
    """
    import numpy as np
    from scipy.special import log_expit, logsumexp  # type: ignore[import-untyped]

    nodes = np.linspace(-_REACH, _REACH, _NODES)
    prior = -(nodes**2) / 2
    prior -= logsumexp(prior)
    tried = ~np.isnan(solved)
    right = np.where(tried, solved, 0.0)
    wrong = np.where(tried, 1.0 - right, 0.0)
    slopes, intercepts = np.ones(len(solved)), np.zeros(len(solved))
    for _ in range(_ROUNDS):
        logits = slopes[:, None] * nodes + intercepts[:, None]
        joint = right.T @ log_expit(logits) + wrong.T @ log_expit(-logits) + prior
        abilities = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        new = _fitted(right @ abilities, tried @ abilities, nodes, slopes, intercepts)
        change = max(abs(new[0] - slopes).max(), abs(new[1] - intercepts).max())
        slopes, intercepts = new
        if change < _STEADY:
            break
    return [
        ItemParameters(float(a), float(-d / a) if abs(a) >= _FLAT else None)
        for a, d in zip(slopes, intercepts, strict=True)
    ]


def _fitted(right: Any, tries: Any, nodes: Any, slopes: Any, intercepts: Any) -> tuple[Any, Any]:
    """Make one step of Newton's method for every item, given expected counts at each ability."""
    import numpy as np
    from scipy.special import expit

    chance = expit(slopes[:, None] * nodes + intercepts[:, None])
    excess = right - tries * chance
    weight = tries * chance * (1 - chance)
    to_slope = excess @ nodes - (slopes - _SLOPE) / _SLOPE_SD**2
    to_intercept = excess.sum(axis=1) - intercepts / _INTERCEPT_SD**2
    curve_slope = weight @ nodes**2 + 1 / _SLOPE_SD**2
    curve_both = weight @ nodes
    curve_intercept = weight.sum(axis=1) + 1 / _INTERCEPT_SD**2
    determinant = curve_slope * curve_intercept - curve_both**2
    by_slope = (curve_intercept * to_slope - curve_both * to_intercept) / determinant
    by_intercept = (curve_slope * to_intercept - curve_both * to_slope) / determinant
    return (
        slopes + np.clip(by_slope, -_STEP, _STEP),
        intercepts + np.clip(by_intercept, -_STEP, _STEP),
    )
