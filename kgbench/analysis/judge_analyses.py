# SPDX-License-Identifier: Apache-2.0
"""The analyses of judges; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from kgbench.analysis.registry import DECLARED, Asked, Option, OptionRefused, analysis, contents


class By(StrEnum):
    """What judgements are grouped by."""

    NOTHING = "nothing"
    TASK = "task"
    MODEL = "model"
    LENGTH = "length"
    POSITION = "position"


Samples = Annotated[int, Option("--samples", min=1, help="Bootstrap samples.")]
Seed = Annotated[int, Option("--seed", min=0, help="Seed of the bootstrap.")]


@analysis("agreement")
def agreement(
    *,
    by: Annotated[
        By,
        Option(
            "--by",
            help="Rows for each task, model, length (of the answer) or position (of the right "
            "option) instead of one for all.",
        ),
    ] = By.NOTHING,
    biases: Annotated[
        bool,
        Option("--biases", help="Biases of judges: leniency, position, length, own family."),
    ] = False,
    declared: Annotated[Path | None, DECLARED] = None,
    samples: Samples = 2_000,
    seed: Seed = 0,
) -> Asked:
    """How far judges agree with executed outcomes and with each other; their biases.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.agreement())
    0
    """
    wanted: dict[str, Any] = {"samples": samples, "seed": seed}
    if biases:
        if by is not By.NOTHING:
            raise OptionRefused("by", "biases are of all items: leave out --by or --biases")
        from kgbench.analysis.judge_biases import biases as measured

        return Asked(
            lambda opened, chosen: measured(opened, chosen, declared=declared, **wanted),
            {"biases": True, "declared": contents(declared), **wanted},
        )
    from kgbench.analysis import judge_agreement as computed

    return Asked(
        lambda opened, chosen: computed.agreement(opened, chosen, by=by, **wanted),
        {"by": by.value, **wanted},
    )


@analysis("calibration")
def calibration() -> Asked:
    """Each calibration of each judge: known verdicts found, verdicts changed, orders obeyed.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.calibration())
    0
    """
    from kgbench.analysis.calibrations import calibration as computed

    return Asked(computed)


@analysis("confusion")
def confusion(
    *,
    by: Annotated[
        By,
        Option(
            "--by",
            help="A table for each task, model, length (of the answer) or position (of the right "
            "option) instead of one for all.",
        ),
    ] = By.NOTHING,
) -> Asked:
    """How often each judge gives each verdict, by what execution implies or another judge says.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.confusion())
    0
    """
    from kgbench.analysis.confusion import confusion as computed

    return Asked(lambda opened, chosen: computed(opened, chosen, by=by), {"by": by.value})


@analysis("judged-means")
def judged_means(
    *,
    labelled: Annotated[
        int | None,
        Option(
            "--labelled",
            metavar="N",
            min=1,
            help="Take the truth of only so many cases for known, at random; default: of all.",
        ),
    ] = None,
    truth: Annotated[
        str,
        Option(
            "--truth",
            metavar="NAME",
            help="What counts as true: execution, or the verdicts of a judge or person.",
        ),
    ] = "execution",
    seed: Annotated[int, Option("--seed", min=0, help="Seed of the choice of cases.")] = 0,
) -> Asked:
    """What judges say on average, corrected by the part of the items whose truth is known.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.judged_means())
    0
    """
    from kgbench.analysis.judged_means import judged_means as computed

    wanted: dict[str, Any] = {"labelled": labelled, "truth": truth, "seed": seed}
    return Asked(lambda opened, chosen: computed(opened, chosen, **wanted), wanted)


@analysis("disagreements")
def disagreements(
    *,
    most: Annotated[int, Option("--most", metavar="N", min=1, help="Rows at most.")] = 50,
) -> Asked:
    """The dialogues that judges judge otherwise than execution, or than each other.

    >>> results = kgbench.open("kgbench-results")
    >>> results.disagreements().rows
    ()
    """
    from kgbench.analysis.disagreements import disagreements as computed

    return Asked(lambda opened, chosen: computed(opened, chosen, most=most), {"most": most})


@analysis("panels")
def panels(
    *,
    rule: Annotated[
        str, Option("--rule", metavar="NAME", help="The declared rule of aggregation.")
    ] = "majority",
    declared: Annotated[Path | None, DECLARED] = None,
) -> Asked:
    """The verdicts of several judges as one, by a declared rule; judges of the judged family apart.

    >>> results = kgbench.open("kgbench-results")
    >>> results.panels().rows
    ()
    """
    from kgbench.analysis.panels import panels as computed

    return Asked(
        lambda opened, chosen: computed(opened, chosen, by_rule=rule, declared=declared),
        {"rule": rule, "declared": contents(declared)},
    )
