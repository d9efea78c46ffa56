# SPDX-License-Identifier: Apache-2.0
"""The analyses of this plug-in."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.api import AnalysisEntry, Purpose

INDEX: Mapping[str, AnalysisEntry] = {
    "agreement": AnalysisEntry(
        "kgbench.plugins.judging.agreement:agreement",
        Purpose.JUDGES,
        "Measure the agreement of judges with executed outcomes and each other.",
    ),
    "calibration": AnalysisEntry(
        "kgbench.plugins.judging.calibration:calibration",
        Purpose.JUDGES,
        "Show each calibration of each judge: known verdicts found, verdicts changed, orders obeyed.",  # noqa: E501
    ),
    "judged-means": AnalysisEntry(
        "kgbench.plugins.judging.judged_means:judged_means",
        Purpose.JUDGES,
        "Estimate mean scores from judges, corrected by the items whose truth is known.",
    ),
    "disagreements": AnalysisEntry(
        "kgbench.plugins.judging.disagreements:disagreements",
        Purpose.JUDGES,
        "List the dialogues on which judges disagree with execution or with each other.",
    ),
}
