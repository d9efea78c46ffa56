# SPDX-License-Identifier: Apache-2.0
"""Declarations of the analyses of papers and challenges; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from kgbench.analysis.registry import (
    AnalysisRequest,
    Option,
    OptionRefused,
    Purpose,
    analysis,
)

if TYPE_CHECKING:
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store


class Text2KG(StrEnum):
    """The tables of Text2KGBench."""

    ONTOLOGIES = "ontologies"
    OVERVIEW = "overview"
    PER_ONTOLOGY = "per-ontology"
    AVERAGES = "averages"


@analysis("text2kg", Purpose.PAPERS)
def text2kg(
    *,
    kind: Annotated[
        Text2KG,
        Option(
            "--table",
            help="Table 1 (ontologies), 2 (overview) or 3 (per-ontology) of the paper, or "
            "averages with intervals.",
        ),
    ] = Text2KG.OVERVIEW,
) -> AnalysisRequest:
    """Show scores of fact extraction by ontology, beside those printed in the Text2KGBench paper.

    >>> results = kgbench.open("kgbench-results")
    >>> results.text2kg(kind="ontologies").names[:3]
    ('collection', 'ontology', 'concepts')
    """
    from kgbench.analysis.text2kg import TABLES

    def compute(store: Store, selection: Selection) -> Table:
        if kind is Text2KG.ONTOLOGIES and selection.narrowed:
            raise OptionRefused(
                "kind",
                "the table of ontologies has no scores: leave out --task, --model and --run",
            )
        return TABLES[kind.value](store, selection)

    return AnalysisRequest(compute, {"table": kind.value})


@analysis("audit", Purpose.PAPERS, by_policy=True)
def audit() -> AnalysisRequest:
    """Audit a published leaderboard: recompute it from its answers and test its scoring rule.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.audit())
    0
    """
    from kgbench.analysis.audit import audit as computed

    return AnalysisRequest(computed)


@analysis("published-means", Purpose.PAPERS)
def published_means() -> AnalysisRequest:
    """Recompute the published means of imported systems from their published scores.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.published_means())
    0
    """
    from kgbench.analysis.published_means import published_means as computed

    return AnalysisRequest(computed)
