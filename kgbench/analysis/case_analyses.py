# SPDX-License-Identifier: Apache-2.0
"""Declarations of the analyses of cases and repetitions; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kgbench.analysis.registry import (
    COMMON,
    ESTIMAND,
    METRIC,
    ROUND,
    AnalysisRequest,
    Option,
    Purpose,
    analysis,
    recorded,
)

if TYPE_CHECKING:
    from kgbench.analysis.score_selectors import Score
    from kgbench.analysis.selection import Selection
    from kgbench.store.protocol import Store

Metric = Annotated[str | None, METRIC]
Round = Annotated[str | None, ROUND]
Solved = Annotated[
    float | None,
    Option(
        "--solved",
        metavar="SCORE",
        help="The least score of a solved dialogue; default: the threshold that each metric "
        "declares.",
    ),
]


@analysis("reliability", Purpose.UNDERSTAND, explained=True)
def reliability(
    *,
    k: Annotated[int, Option("--k", metavar="K", min=1, help="The k of pass@k and pass^k.")] = 2,
    solved: Solved = None,
    metric: Metric = None,
    answers: Round = None,
    common: Annotated[bool, COMMON] = False,
) -> AnalysisRequest:
    """Measure how reliably models solve cases: pass@k, pass^k and agreement of repetitions.

    >>> results = kgbench.open("kgbench-results")
    >>> results.reliability(k=1).where("task", "All tasks").column("pass_1")
    [0.5, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import reliability as computed

    options: dict[str, Any] = {
        "k": k,
        "solved": solved,
        "metric": metric,
        "answers": answers,
        "common": common,
    }

    def parts(store: Store, selection: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(store, selection.tasks, metric, answers)

    return AnalysisRequest(
        lambda store, selection: computed.reliability(store, selection, **options), options, parts
    )


@analysis("items", Purpose.UNDERSTAND, explained=True)
def items(
    *,
    solved: Solved = None,
    metric: Metric = None,
    answers: Round = None,
    alpha: Annotated[
        float,
        Option(
            "--alpha",
            min=0,
            max=1,
            help="Level of the test of item-rest correlations.",
            panel="Tests",
        ),
    ] = 0.05,
    suspect: Annotated[
        bool, Option("--suspect", help="Show only the cases with a finding.")
    ] = False,
) -> AnalysisRequest:
    """Find suspect cases: harder for better models, solved by no model, or solved by every model.

    >>> results = kgbench.open("kgbench-results")
    >>> sorted(set(results.items().column("models")))
    [2]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import items as computed

    options: dict[str, Any] = {
        "solved": solved,
        "metric": metric,
        "answers": answers,
        "alpha": alpha,
        "suspect": suspect,
    }

    def parts(store: Store, selection: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(store, selection.tasks, metric, answers)

    return AnalysisRequest(
        lambda store, selection: computed.items(store, selection, **options), options, parts
    )


@analysis("pairs", Purpose.COMPARE)
def pairs(
    *,
    metric: Metric = None,
    answers: Round = None,
    estimand: Annotated[str, ESTIMAND] = "available",
    alpha: Annotated[
        float,
        Option(
            "--alpha",
            min=0,
            max=1,
            help="Two models differ if the uncorrected p is below.",
            panel="Tests",
        ),
    ] = 0.05,
) -> AnalysisRequest:
    """Compare every two models with independent dialogues and with cases as clusters.

    >>> results = kgbench.open("kgbench-results")
    >>> results.pairs().column("verdict")
    ['still differ']
    """
    from kgbench.analysis.pairs import pairs as computed

    options: dict[str, Any] = {
        "metric": metric,
        "answers": answers,
        "estimand": estimand,
        "alpha": alpha,
    }
    return AnalysisRequest(
        lambda store, selection: computed(store, selection, **options), recorded(options)
    )


@analysis("contamination", Purpose.COMPARE)
def contamination(
    *,
    metric: Metric = None,
    answers: Round = None,
    estimand: Annotated[str, ESTIMAND] = "cases",
) -> AnalysisRequest:
    """Compare scores on published cases with those on generated twins under new names.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.contamination())
    0
    """
    from kgbench.analysis.contamination import contamination as computed

    options: dict[str, Any] = {"metric": metric, "answers": answers, "estimand": estimand}
    return AnalysisRequest(
        lambda store, selection: computed(store, selection, **options), recorded(options)
    )


@analysis("policies", Purpose.COMPARE, by_policy=True)
def policies(
    *,
    cells: Annotated[
        bool,
        Option(
            "--cells",
            help="Show the answers that policies score differently, with the reasons.",
        ),
    ] = False,
) -> AnalysisRequest:
    """Compare the means and ranks that the same answers get under several comparison policies.

    >>> results = kgbench.open("kgbench-results")
    >>> results.policies().names
    ('model', 'n')
    """
    from kgbench.analysis import policies as computed

    return AnalysisRequest(computed.cells if cells else computed.ranks, {"cells": cells})


@analysis("difficulty", Purpose.COMPARE, explained=True)
def difficulty(
    *,
    metric: Metric = None,
    answers: Round = None,
    estimand: Annotated[str, ESTIMAND] = "cases",
) -> AnalysisRequest:
    """Show a score against the level of difficulty of tasks, by family, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.difficulty())
    0
    """
    from kgbench.analysis import difficulty as computed
    from kgbench.analysis import explain

    options: dict[str, Any] = {"metric": metric, "answers": answers, "estimand": estimand}
    return AnalysisRequest(
        lambda store, selection: computed.difficulty(
            store, selection, tasks=selection.tasks, models=selection.models, **options
        ),
        recorded(options),
        lambda store, selection: explain.of_tasks(store, selection.tasks, metric, answers),
    )


@analysis("references", Purpose.UNDERSTAND, by_policy=True)
def references() -> AnalysisRequest:
    """List cases whose reference query becomes doubtful on variants of the graph.

    >>> results = kgbench.open("kgbench-results")
    >>> results.references().names
    ('task', 'case', 'finding', 'exact', 'failing', 'variant', 'reason', 'command')
    """
    from kgbench.analysis import references as computed

    return AnalysisRequest(computed.references)
