# SPDX-License-Identifier: Apache-2.0
"""The analyses of cases and their repetitions; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kgbench.analysis.registry import COMMON, ESTIMAND, METRIC, ROUND, Asked, Option, analysis

if TYPE_CHECKING:
    from kgbench.analysis.choosing import Score
    from kgbench.analysis.selection import Selection
    from kgbench.store.protocol import Store

Metric = Annotated[str | None, METRIC]
Round = Annotated[str | None, ROUND]
Solved = Annotated[
    float | None,
    Option(
        "--solved",
        metavar="SCORE",
        help="The score from which a dialogue is solved; default: what each metric declares.",
    ),
]


@analysis("reliability", explained=True)
def reliability(
    *,
    k: Annotated[int, Option("--k", metavar="K", min=1, help="The k of pass@k and pass^k.")] = 2,
    solved: Solved = None,
    metric: Metric = None,
    answers: Round = None,
    common: Annotated[bool, COMMON] = False,
) -> Asked:
    """How reliably cases are solved: pass@k, pass^k, and whether all repetitions agree.

    >>> results = kgbench.open("kgbench-results")
    >>> results.reliability(k=1).where("task", "All tasks").column("pass_1")
    [0.5, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import reliability as computed

    wanted: dict[str, Any] = {
        "k": k,
        "solved": solved,
        "metric": metric,
        "answers": answers,
        "common": common,
    }

    def parts(opened: Store, chosen: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(opened, chosen.tasks, metric, answers)

    return Asked(
        lambda opened, chosen: computed.reliability(opened, chosen, **wanted), wanted, parts
    )


@analysis("items", explained=True)
def items(
    *,
    solved: Solved = None,
    metric: Metric = None,
    answers: Round = None,
    alpha: Annotated[
        float, Option("--alpha", min=0, max=1, help="Level of the test of item-rest correlations.")
    ] = 0.05,
    irt: Annotated[
        bool,
        Option("--irt", help="Add difficulty and discrimination by the 2PL model (30 models)."),
    ] = False,
    suspect: Annotated[bool, Option("--suspect", help="Only the cases with a finding.")] = False,
) -> Asked:
    """Which cases are suspect: hard for better models, solved by nobody, solved by everybody.

    >>> results = kgbench.open("kgbench-results")
    >>> sorted(set(results.items().column("models")))
    [2]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import items as computed

    wanted: dict[str, Any] = {
        "solved": solved,
        "metric": metric,
        "answers": answers,
        "alpha": alpha,
        "irt": irt,
        "suspect": suspect,
    }

    def parts(opened: Store, chosen: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(opened, chosen.tasks, metric, answers)

    return Asked(lambda opened, chosen: computed.items(opened, chosen, **wanted), wanted, parts)


@analysis("pairs")
def pairs(
    *,
    metric: Metric = None,
    answers: Round = None,
    about: Annotated[str, ESTIMAND] = "cases",
    alpha: Annotated[
        float, Option("--alpha", min=0, max=1, help="A verdict is p below this, uncorrected.")
    ] = 0.05,
) -> Asked:
    """Every two models, by dialogues as if independent and by cases: which verdicts change.

    >>> results = kgbench.open("kgbench-results")
    >>> results.pairs().column("verdict")
    ['still differ']
    """
    from kgbench.analysis.pairs import pairs as computed

    wanted: dict[str, Any] = {"metric": metric, "answers": answers, "about": about, "alpha": alpha}
    return Asked(lambda opened, chosen: computed(opened, chosen, **wanted), wanted)


@analysis("contamination")
def contamination(
    *,
    metric: Metric = None,
    answers: Round = None,
    about: Annotated[str, ESTIMAND] = "cases",
) -> Asked:
    """Published cases beside generated twins of them: what new names change.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.contamination())
    0
    """
    from kgbench.analysis.contamination import contamination as computed

    wanted: dict[str, Any] = {"metric": metric, "answers": answers, "about": about}
    return Asked(lambda opened, chosen: computed(opened, chosen, **wanted), wanted)


@analysis("variance")
def variance(
    *,
    metric: Metric = None,
    answers: Round = None,
    by_task: Annotated[
        bool, Option("--by-task", help="One row for every task and model, not for every model.")
    ] = False,
) -> Asked:
    """Where scores vary: between tasks, between cases, or between answers to the same case.

    >>> results = kgbench.open("kgbench-results")
    >>> results.variance().column("model")
    ['baseline:noisy?rate=0.6&seed=7', 'baseline:oracle']
    """
    from kgbench.analysis.variance import variance as computed

    wanted: dict[str, Any] = {"metric": metric, "answers": answers, "by_task": by_task}
    return Asked(lambda opened, chosen: computed(opened, chosen, **wanted), wanted)


@analysis("policies", by_policy=True)
def policies(
    *,
    cells: Annotated[
        bool,
        Option("--cells", help="The answers that policies score differently, with the reasons."),
    ] = False,
) -> Asked:
    """The same answers under comparison policies: means and ranks side by side.

    >>> results = kgbench.open("kgbench-results")
    >>> results.policies().names
    ('model', 'n')
    """
    from kgbench.analysis import policies as computed

    return Asked(computed.cells if cells else computed.ranks, {"cells": cells})


@analysis("difficulty", explained=True)
def difficulty(
    *,
    metric: Metric = None,
    answers: Round = None,
    about: Annotated[str, ESTIMAND] = "cases",
) -> Asked:
    """A score against the level of difficulty of tasks, by family, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.difficulty())
    0
    """
    from kgbench.analysis import difficulty as computed
    from kgbench.analysis import explain

    wanted: dict[str, Any] = {"metric": metric, "answers": answers, "about": about}
    return Asked(
        lambda opened, chosen: computed.difficulty(
            opened, chosen, tasks=chosen.tasks, models=chosen.models, **wanted
        ),
        wanted,
        lambda opened, chosen: explain.of_tasks(opened, chosen.tasks, metric, answers),
    )


@analysis("audit", by_policy=True)
def audit() -> Asked:
    """What of a published leaderboard follows from its answers, and what its rule does not see.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.audit())
    0
    """
    from kgbench.analysis.audit import audit as computed

    return Asked(computed)


@analysis("published-means")
def published_means() -> Asked:
    """Published means of imported systems, computed anew from their published scores.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.published_means())
    0
    """
    from kgbench.analysis.published_means import published_means as computed

    return Asked(computed)


@analysis("references", by_policy=True)
def references() -> Asked:
    """Cases whose reference query variants of their graph call in question.

    >>> results = kgbench.open("kgbench-results")
    >>> results.references().names
    ('task', 'case', 'finding', 'exact', 'failing', 'variant', 'reason', 'command')
    """
    from kgbench.analysis import references as computed

    return Asked(computed.references)
