# SPDX-License-Identifier: Apache-2.0
"""Declarations of the analyses of judges; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from kgbench.analysis.registry import (
    DECLARED,
    AnalysisRequest,
    Option,
    OptionRefused,
    Purpose,
    analysis,
    contents,
)


class JudgeGrouping(StrEnum):
    """The properties that judgements can be grouped by."""

    NOTHING = "nothing"
    TASK = "task"
    MODEL = "model"
    LENGTH = "length"
    POSITION = "position"


Samples = Annotated[int, Option("--samples", min=1, help="Bootstrap samples.", panel="Tests")]
Seed = Annotated[int, Option("--seed", min=0, help="Seed of the bootstrap.", panel="Tests")]


@analysis("agreement", Purpose.JUDGES)
def agreement(
    *,
    by: Annotated[
        JudgeGrouping,
        Option(
            "--by",
            help="Show a row for each task, model, length (of the answer) or position (of the "
            "right option) instead of one for all.",
        ),
    ] = JudgeGrouping.NOTHING,
    biases: Annotated[
        bool,
        Option(
            "--biases", help="Show the biases of judges: leniency, position, length, own family."
        ),
    ] = False,
    declared: Annotated[Path | None, DECLARED] = None,
    samples: Samples = 2_000,
    seed: Seed = 0,
) -> AnalysisRequest:
    """Measure the agreement of judges with executed outcomes and each other, or their biases.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.agreement())
    0
    """
    options: dict[str, Any] = {"samples": samples, "seed": seed}
    if biases:
        if by is not JudgeGrouping.NOTHING:
            raise OptionRefused("by", "biases cover all items: leave out --by or --biases")
        from kgbench.analysis.judge_biases import biases as measured

        return AnalysisRequest(
            lambda store, selection: measured(store, selection, declared=declared, **options),
            {"biases": True, "declared": contents(declared), **options},
        )
    from kgbench.analysis import judge_agreement as computed

    return AnalysisRequest(
        lambda store, selection: computed.agreement(store, selection, by=by, **options),
        {"by": by.value, **options},
    )


@analysis("calibration", Purpose.JUDGES)
def calibration() -> AnalysisRequest:
    """Show each calibration of each judge: known verdicts found, verdicts changed, orders obeyed.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.calibration())
    0
    """
    from kgbench.analysis.calibrations import calibration as computed

    return AnalysisRequest(computed)


@analysis("confusion", Purpose.JUDGES)
def confusion(
    *,
    by: Annotated[
        JudgeGrouping,
        Option(
            "--by",
            help="Make a table for each task, model, length (of the answer) or position (of the "
            "right option) instead of one for all.",
        ),
    ] = JudgeGrouping.NOTHING,
) -> AnalysisRequest:
    """Count the verdicts of each judge by the verdict of execution or of another judge.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.confusion())
    0
    """
    from kgbench.analysis.confusion import confusion as computed

    return AnalysisRequest(
        lambda store, selection: computed(store, selection, by=by), {"by": by.value}
    )


@analysis("judged-means", Purpose.JUDGES)
def judged_means(
    *,
    labelled: Annotated[
        int | None,
        Option(
            "--labelled",
            metavar="N",
            min=1,
            help="Treat the truth of only N random cases as known; default: of all cases.",
        ),
    ] = None,
    truth: Annotated[
        str,
        Option(
            "--truth",
            metavar="NAME",
            help="The source of the truth: execution, or the name of a judge or person.",
        ),
    ] = "execution",
    seed: Annotated[
        int, Option("--seed", min=0, help="Seed of the choice of cases.", panel="Tests")
    ] = 0,
) -> AnalysisRequest:
    """Estimate mean scores from judges, corrected by the items whose truth is known.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.judged_means())
    0
    """
    from kgbench.analysis.judged_means import judged_means as computed

    options: dict[str, Any] = {"labelled": labelled, "truth": truth, "seed": seed}
    return AnalysisRequest(lambda store, selection: computed(store, selection, **options), options)


@analysis("disagreements", Purpose.JUDGES)
def disagreements(
    *,
    most: Annotated[
        int,
        Option("--most", metavar="N", min=1, help="The greatest number of rows.", panel="Limits"),
    ] = 50,
) -> AnalysisRequest:
    """List the dialogues on which judges disagree with execution or with each other.

    >>> results = kgbench.open("kgbench-results")
    >>> results.disagreements().rows
    ()
    """
    from kgbench.analysis.disagreements import disagreements as computed

    return AnalysisRequest(
        lambda store, selection: computed(store, selection, max_rows=most), {"most": most}
    )


@analysis("panels", Purpose.JUDGES)
def panels(
    *,
    rule: Annotated[
        str, Option("--rule", metavar="NAME", help="The declared rule of aggregation.")
    ] = "majority",
) -> AnalysisRequest:
    """Combine the verdicts of several judges by a declared rule.

    >>> results = kgbench.open("kgbench-results")
    >>> results.panels().rows
    ()
    """
    from kgbench.analysis.panels import panels as computed

    return AnalysisRequest(
        lambda store, selection: computed(store, selection, by_rule=rule), {"rule": rule}
    )
