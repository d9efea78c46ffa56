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


class Offered(Protocol):
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

    async def use(self, name: str, given: Mapping[str, Json]) -> ToolResult:
        """Call the tool ``name``; the arguments match its schema."""
        ...


async def called(offered: Offered, name: str, given: Mapping[str, Any] | None) -> ToolResult:
    """Validate and run a call from a client; errors become results, long results are cut."""
    tool = next((one for one in offered.tools if one.name == name), None)
    if tool is None:
        known = ", ".join(one.name for one in offered.tools)
        return _error(f"there is no tool '{name[:100]}'; there are {known}")
    try:
        read = arguments.read(json.dumps(given or {}))
    except ValueError as error:
        return _error(str(error))
    if why := arguments.fault(tool, read):
        return _error(why)
    found = await offered.use(name, read)
    if len(found.text) <= LONGEST:
        return found
    outcome = ToolOutcome.TRUNCATED if found.outcome is ToolOutcome.OK else found.outcome
    return ToolResult(found.text[: LONGEST - len(_CUT)] + _CUT, outcome)


def _error(why: str) -> ToolResult:
    return ToolResult(f"error: {why}", ToolOutcome.ERROR)
