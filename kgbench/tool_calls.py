# SPDX-License-Identifier: Apache-2.0
"""Plain values for tools, tool calls and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

TOOL_RESULTS = "tool-results"
"""The kind of feedback of a prompt with the results of tools."""
OUTCOME_KEY = "w3id.org/kgbench/toolOutcome"
"""The key in ``_meta`` of an MCP server's tool result for the outcome of the call."""


class ToolOutcome(StrEnum):
    """How a tool call ended (a SKOS scheme in the ontology)."""

    OK = "ok"
    ERROR = "error"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    OVER_BUDGET = "over-budget"


class Fault(StrEnum):
    """Why a call was not passed to any tool."""

    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown-tool"
    ARGUMENTS = "arguments"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as offered to a model; ``parameters`` is the JSON Schema of its arguments.

    A call of a tool with ``ends`` ends the dialogue: the model answers or gives up.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by a model; ``arguments`` is JSON as the model wrote it.

    ``id`` is the id from the provider, if any. ``malformed`` is the fault of a call that could not
    be parsed; then ``arguments`` is the whole text of the call.
    """

    name: str
    arguments: str
    id: str | None = None
    malformed: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: text for the model, and the outcome."""

    text: str
    outcome: ToolOutcome = ToolOutcome.OK
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class ToolServer:
    """The identity of a tool server, by its own name and version.

    ``digest`` is the SHA-256 (hex) of the names, descriptions and schemas of its tools, as
    canonical JSON.
    """

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call with its result and its times.

    ``server`` is the server that executed the call; ``None`` if kgbench did.
    """

    call: ToolCall
    result: ToolResult
    started: datetime
    ended: datetime
    server: ToolServer | None = None
