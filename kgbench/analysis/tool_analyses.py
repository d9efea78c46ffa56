# SPDX-License-Identifier: Apache-2.0
"""The analysis of tool calls; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from kgbench.analysis.registry import METRIC, Asked, Option, OptionRefused, analysis


class ToolRows(StrEnum):
    """What a table of tool calls has a row for."""

    TOOL = "tool"
    MODEL = "model"


@analysis("tools")
def tools(
    *,
    by: Annotated[
        ToolRows,
        Option(
            "--by",
            help="Rows per tool (what was called, what it brought), or per model (success against "
            "calls, tokens and cost).",
        ),
    ] = ToolRows.TOOL,
    metric: Annotated[str | None, METRIC] = None,
) -> Asked:
    """What models asked of tools, what that brought, and what success with tools costs.

    >>> results = kgbench.open("kgbench-results")
    >>> results.tools().notes
    ('No dialogue of this selection has tool calls.',)
    """
    from kgbench.analysis.tool_success import tool_success
    from kgbench.analysis.tool_usage import tool_usage

    if by is ToolRows.MODEL:
        wanted: dict[str, Any] = {"by": by.value, "metric": metric}
        return Asked(lambda opened, chosen: tool_success(opened, chosen, metric), wanted)
    if metric is not None:
        raise OptionRefused("metric", "rows of tools have no score: add --by model")
    return Asked(tool_usage, {"by": by.value})
