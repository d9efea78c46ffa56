# SPDX-License-Identifier: Apache-2.0
"""Declaration of the analysis of tool calls; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from kgbench.analysis.registry import (
    METRIC,
    AnalysisRequest,
    Option,
    OptionRefused,
    Purpose,
    analysis,
)


class ToolRows(StrEnum):
    """The kinds of rows of the tables of tool calls."""

    TOOL = "tool"
    MODEL = "model"


@analysis("tools", Purpose.UNDERSTAND)
def tools(
    *,
    by: Annotated[
        ToolRows,
        Option(
            "--by",
            help="Show rows per tool (calls and their outcomes), or per model (success against "
            "calls, tokens and cost).",
        ),
    ] = ToolRows.TOOL,
    metric: Annotated[str | None, METRIC] = None,
) -> AnalysisRequest:
    """Show which tools models called, the outcomes of the calls, and the cost of success.

    >>> results = kgbench.open("kgbench-results")
    >>> results.tools().notes
    ('No dialogue of this selection has tool calls.',)
    """
    from kgbench.analysis.tool_success import tool_success
    from kgbench.analysis.tool_usage import tool_usage

    if by is ToolRows.MODEL:
        options: dict[str, Any] = {"by": by.value, "metric": metric}
        return AnalysisRequest(
            lambda store, selection: tool_success(store, selection, metric), options
        )
    if metric is not None:
        raise OptionRefused("metric", "rows of tools have no score: add --by model")
    return AnalysisRequest(tool_usage, {"by": by.value})
