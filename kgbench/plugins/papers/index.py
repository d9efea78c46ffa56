# SPDX-License-Identifier: Apache-2.0
"""The analyses of this plug-in."""

from __future__ import annotations

from collections.abc import Mapping

from kgbench.api import AnalysisEntry, Purpose

INDEX: Mapping[str, AnalysisEntry] = {
    "scaling": AnalysisEntry(
        "kgbench.plugins.papers.scaling:scaling",
        Purpose.COMPARE,
        "Show scores against model size, context length and release date, with trends per family.",
    ),
    "text2kg": AnalysisEntry(
        "kgbench.plugins.papers.text2kg:text2kg",
        Purpose.PAPERS,
        "Show scores of fact extraction by ontology, beside those printed in the Text2KGBench paper.",  # noqa: E501
    ),
    "aspects": AnalysisEntry(
        "kgbench.plugins.papers.aspects:aspects",
        Purpose.PAPERS,
        "Show what task classes read, write and demand; no scores.",
    ),
    "audit": AnalysisEntry(
        "kgbench.plugins.papers.audit:audit",
        Purpose.PAPERS,
        "Audit a published leaderboard: recompute it from its answers and test its scoring rule.",
    ),
    "published-means": AnalysisEntry(
        "kgbench.plugins.papers.published_means:published_means",
        Purpose.PAPERS,
        "Recompute the published means of imported systems from their published scores.",
    ),
}
