# SPDX-License-Identifier: Apache-2.0
"""The tools that a case offers, and the first prompt with tools and budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from kgbench.model import Case
from kgbench.tasks import catalogue, texts
from kgbench.tool_calls import Tool
from kgbench.tools.module import Spent, ToolModule, budget_of

_FOLDER = "tools"


def may_offer(task_class: str) -> bool:
    """Return whether cases of a task class can offer tools.

    They can if the class's module has a function ``tools``.
    """
    return hasattr(catalogue.module(task_class), "tools")


def tools_of(case: Case) -> tuple[Tool, ...]:
    """Return the tools that ``case`` offers; most cases offer none."""
    if not may_offer(case.task_class):
        return ()
    return tuple(cast("ToolModule", catalogue.module(case.task_class)).tools(case))


def prompt(case: Case, base_prompt: str, tools: Sequence[Tool], *, native: bool) -> str:
    """Return ``base_prompt`` of ``case`` with the budget and, unless ``native``, ``tools``.

    With native tool calling, the tools are sent separately from the messages.
    """
    limits = budget_of(case.parameters).remaining(0, Spent())
    if native:
        return texts.shared_filled(_FOLDER, "native.txt", prompt=base_prompt, budget=limits)
    listed = "\n".join(
        f"* {tool.name}: {tool.description} {json.dumps(dict(tool.parameters), ensure_ascii=False)}"
        for tool in tools
    )
    return texts.shared_filled(
        _FOLDER, "text-protocol.txt", prompt=base_prompt, tools=listed, budget=limits
    )
