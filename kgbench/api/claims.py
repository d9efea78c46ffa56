# SPDX-License-Identifier: Apache-2.0
"""Methods of results for claims about models: comparing them, and planning a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kgbench.api.analysis_methods import SelectedScores
from kgbench.tables import Table


class Claims(SelectedScores):
    """Comparison methods of :class:`kgbench.Results`."""

    _chosen: dict[str, Any]

    def compare(
        self,
        first: str,
        second: str,
        *,
        metric: str | None = None,
        round: str | None = None,
        flips: bool = False,
        estimand: str = "available",
        margin: float | None = None,
        solved: float = 0.5,
        samples: int = 10_000,
        seed: int = 0,
    ) -> Table:
        """Compare two models, two runs or two evaluation passes, task by task.

        Args:
            first: A model (id or name), a run (id, IRI or label) or an evaluation pass (IRI).
            second: The other one, of the same kind.
            metric: As for :meth:`tasks`.
            round: As for :meth:`tasks`.
            flips: Return the cases that only one of the two solved, instead of means.
            estimand: The population of intervals and tests: ``available`` (cases, or repetitions
                where a task has one case), ``cases``, ``repetitions``, ``tasks`` or ``dialogues``
                (as if independent).
            margin: Largest difference that counts as equivalent, for a test of equivalence; at
                least 0.
            solved: Least score of a solved dialogue.
            samples: Number of bootstrap samples, for ``dialogues``; at least 1.
            seed: Seed of the bootstrap.

        Raises:
            QueryError: The two cannot be compared, or a number is out of range.

        >>> results = kgbench.open("kgbench-results")
        >>> table = results.compare("oracle", "noisy")
        >>> table.where("task", "Text2KG-sample").column("difference")
        [0.25]
        """
        from kgbench.analysis import compare as analysis
        from kgbench.analysis.matching import matches, select_sides
        from kgbench.scores.inference import check_estimand

        check_estimand(estimand)
        a, b, chosen = select_sides(self.store, first, second, **self._chosen)
        pairs = matches(self.store, chosen, a, b, metric=metric, round=round)
        if flips:
            return analysis.flips(pairs, a, b, estimand=estimand, solved=solved)
        options: dict[str, Any] = {"estimand": estimand, "margin": margin, "solved": solved}
        return analysis.compare(pairs, a, b, samples=samples, seed=seed, **options)

    def plan(
        self,
        detect: float,
        *,
        power: float = 0.8,
        alpha: float = 0.05,
        between: float | None = None,
        within: float | None = None,
        correlation: float | None = None,
        repetitions: Sequence[int] = (1, 2, 4, 8),
        metric: str | None = None,
        round: str | None = None,
    ) -> Table:
        """Calculate how many cases and repetitions detect a difference, and their effort.

        Variances and effort are estimated from the selected scores, as by ``kgbench plan --from``.

        Args:
            detect: The difference of means to detect.
            power: Probability of detecting it, between 0 and 1.
            alpha: Significance level, between 0 and 1.
            between: Variance of means between cases, instead of the estimate.
            within: Variance within a case, instead of the estimate.
            correlation: Correlation of two models over cases, instead of the estimate.
            repetitions: Numbers of dialogues per case to tabulate.
            metric: As for :meth:`tasks`.
            round: As for :meth:`tasks`.

        Raises:
            QueryError: No task has several cases, or no test can support the claim.

        >>> results = kgbench.open("kgbench-results")
        >>> results.plan(0.2, repetitions=[1]).column("cases")
        [29]
        """
        from kgbench.analysis import planning

        claim = planning.Claim(detect, power, alpha).checked()
        declared = planning.DeclaredVariances(between, within, correlation)
        options: dict[str, Any] = {"metric": metric, "round": round}
        return planning.plan_from(
            self.store, self.selection, claim, declared, repetitions=repetitions, **options
        )
