# SPDX-License-Identifier: Apache-2.0
"""Tools that a model is offered, its calls of them and what they gave, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

TOOL_RESULTS = "tool-results"
"""The kind of feedback of a prompt that gives the results of tools."""


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
    """A tool as a model sees it; ``parameters`` is the JSON Schema of its arguments.

    A call of a tool that ``ends`` is the model's last word: it answers or gives up.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asked of a tool: ``arguments`` is JSON as the model wrote it.

    ``id`` is the provider's, if it gave one. ``malformed`` says what is wrong with a call that
    could not be read; then ``arguments`` is all that was written.
    """

    name: str
    arguments: str
    id: str | None = None
    malformed: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave: text for the model, and how the call ended."""

    text: str
    outcome: ToolOutcome = ToolOutcome.OK
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A server that gives tools, as it names itself.

    ``digest`` is the SHA-256 (hex) of the names, descriptions and schemas of the tools it offered,
    as canonical JSON.
    """

    name: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call with its result, and when the tool worked on it.

    ``server`` gave the result; ``None`` if kgbench did.
    """

    call: ToolCall
    result: ToolResult
    started: datetime
    ended: datetime
    server: ToolServer | None = None
