# SPDX-License-Identifier: Apache-2.0
"""Tools that an MCP server offers, and validation of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from kgbench.model import Json
from kgbench.tool_calls import Tool, ToolOutcome, ToolResult
from kgbench.tools import arguments

LONGEST: Final = 1 << 16
"""Maximum length of a result in characters."""
_CUT: Final = "\n(the rest is not shown)"


class ToolSet(Protocol):
    """A set of tools that a server offers."""

    @property
    def instructions(self) -> str:
        """Instructions for clients about the tools as a whole."""
        ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools in the order in which they are listed."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which the tools can be called."""
        ...

    async def use(self, name: str, values: Mapping[str, Json]) -> ToolResult:
        """Call the tool ``name``; the arguments match its schema."""
        ...


async def run_tool_call(
    offered: ToolSet, name: str, values: Mapping[str, Any] | None
) -> ToolResult:
    """Validate and run a call from a client; errors become results, long results are cut."""
    tool = next((candidate for candidate in offered.tools if candidate.name == name), None)
    if tool is None:
        known = ", ".join(candidate.name for candidate in offered.tools)
        return _error(f"there is no tool '{name[:100]}'; there are {known}")
    try:
        parsed = arguments.read(json.dumps(values or {}))
    except ValueError as error:
        return _error(str(error))
    if problem := arguments.fault(tool, parsed):
        return _error(problem)
    result = await offered.use(name, parsed)
    if len(result.text) <= LONGEST:
        return result
    outcome = ToolOutcome.TRUNCATED if result.outcome is ToolOutcome.OK else result.outcome
    return ToolResult(result.text[: LONGEST - len(_CUT)] + _CUT, outcome)


def _error(message: str) -> ToolResult:
    return ToolResult(f"error: {message}", ToolOutcome.ERROR)
