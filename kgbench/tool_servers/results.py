# SPDX-License-Identifier: Apache-2.0
"""What MCP servers say, as tools and results of a bounded size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kgbench.characters import one_line
from kgbench.errors import ProviderRefused
from kgbench.rdf import canonical_json, digest
from kgbench.tool_calls import Tool, ToolOutcome, ToolResult, ToolServer
from kgbench.tools.servers import OUTCOME_KEY

LONGEST: Final = 1 << 16
"""The most characters of a result."""
MOST: Final = 64
"""The most tools of a server that a model is offered."""
_LISTED: Final = 1 << 18  # characters of all tools together
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider takes for a name
_NAMED: Final = 200  # characters of the name of a server
_CUT: Final = "\n(the rest is not shown)"
_FAILED: Final = frozenset((ToolOutcome.ERROR, ToolOutcome.REFUSED))
_DONE: Final = frozenset((ToolOutcome.OK, ToolOutcome.EMPTY, ToolOutcome.TRUNCATED))


def offered(listed: Iterable[Any], taken: Iterable[str]) -> tuple[Tool, ...]:
    """Return the tools that a server listed and a model can be offered, in its order.

    Names that a provider would refuse, repeated ones and those ``taken`` by the task are left out.
    Raises :class:`~kgbench.errors.ProviderRefused` if no tool is left, or all are too long.
    """
    known = set(taken)
    found: list[Tool] = []
    for one in listed:
        if _NAME.fullmatch(one.name) and one.name not in known and len(found) < MOST:
            known.add(one.name)
            found.append(Tool(one.name, one.description or "", one.input_schema))
    if not found:
        raise ProviderRefused("the tool server offers no tool that a model can be given")
    if len(canonical_json(_described(found))) > _LISTED:
        raise ProviderRefused(
            f"the tools of the tool server have more than {_LISTED} characters of descriptions"
        )
    return tuple(found)


def identified(info: Any, tools: Sequence[Tool]) -> ToolServer:
    """Return the server, as it names itself, with the digest of ``tools``."""
    name, version = (
        one_line(str(getattr(info, part, None) or ""))[:_NAMED] for part in ("name", "version")
    )
    return ToolServer(name or "unnamed", version, digest(canonical_json(_described(tools))))


def _described(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.parameters)}
        for tool in tools
    ]


def result(given: Any) -> ToolResult:
    """Return what a server gave for a call, as text; what is no text is named and not shown."""
    parts = [
        block.text if block.type == "text" else f"({block.type.replace('_', ' ')} is not shown)"
        for block in given.content
    ]
    text = "\n".join(parts)
    if not text and given.structured_content is not None:
        text = json.dumps(given.structured_content, ensure_ascii=False)
    outcome = _outcome(given, text)
    if len(text) > LONGEST:
        text = text[: LONGEST - len(_CUT)] + _CUT
        outcome = ToolOutcome.TRUNCATED if outcome is ToolOutcome.OK else outcome
    return ToolResult(text, outcome)


def _outcome(given: Any, text: str) -> ToolOutcome:
    """Return how a call ended; what the server says of it counts where it fits what it did."""
    possible = _FAILED if given.is_error else _DONE
    said = (given.meta or {}).get(OUTCOME_KEY)
    if isinstance(said, str) and said in possible:
        return ToolOutcome(said)
    if given.is_error:
        return ToolOutcome.ERROR
    return ToolOutcome.OK if text.strip() else ToolOutcome.EMPTY
