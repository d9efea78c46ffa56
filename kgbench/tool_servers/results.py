# SPDX-License-Identifier: Apache-2.0
"""Conversion of the tools and results of MCP servers, with limits on their sizes.

Secrets are hidden before a text is cut: the beginning of a secret at the cut would not be found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kgbench.characters import one_line
from kgbench.errors import ProviderRefused
from kgbench.rdf import canonical_json, digest
from kgbench.secrets.detection import SecretDetector
from kgbench.tool_calls import Tool, ToolOutcome, ToolResult, ToolServer
from kgbench.tools.servers import OUTCOME_KEY

LONGEST: Final = 1 << 16
"""The most characters of a result."""
MOST: Final = 64
"""The most tools of a server that a model is offered."""
_LISTED: Final = 1 << 18  # characters of all tools together
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")  # names that every provider accepts
_NAMED: Final = 200  # characters of the name of a server
_CUT: Final = "\n(the rest is not shown)"
_FAILED: Final = frozenset((ToolOutcome.ERROR, ToolOutcome.REFUSED))
_DONE: Final = frozenset((ToolOutcome.OK, ToolOutcome.EMPTY, ToolOutcome.TRUNCATED))


def usable_tools(
    listed: Iterable[Any], taken: Iterable[str], secrets: SecretDetector
) -> tuple[Tool, ...]:
    """Return the listed tools of a server that a model can be offered, in order.

    ``secrets`` are hidden in descriptions and schemas. Tools are left out if a provider would
    refuse their name, if the name is repeated or contains a secret, or if the task has a tool of
    that name (``taken``). Raises :class:`~kgbench.errors.ProviderRefused` if no tool is left, or if
    their descriptions are too long.
    """
    names = set(taken)
    tools: list[Tool] = []
    for tool in listed:
        usable = _NAME.fullmatch(tool.name) and not secrets.tells(tool.name)
        if usable and tool.name not in names and len(tools) < MOST:
            names.add(tool.name)
            description = secrets.hide(tool.description or "")
            tools.append(Tool(tool.name, description, secrets.hide_in(tool.input_schema)))
    if not tools:
        raise ProviderRefused("the tool server offers no tool that a model can be given")
    if len(canonical_json(_as_json(tools))) > _LISTED:
        raise ProviderRefused(
            f"the tools of the tool server have more than {_LISTED} characters of descriptions"
        )
    return tuple(tools)


def server_identity(info: Any, tools: Sequence[Tool], secrets: SecretDetector) -> ToolServer:
    """Return the identity of a server: its own name and version, and the digest of ``tools``.

    ``secrets`` are hidden in name and version.
    """
    name, version = (
        one_line(secrets.hide(str(getattr(info, part, None) or "")))[:_NAMED]
        for part in ("name", "version")
    )
    return ToolServer(name or "unnamed", version, digest(canonical_json(_as_json(tools))))


def _as_json(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.parameters)}
        for tool in tools
    ]


def result(response: Any, secrets: SecretDetector) -> ToolResult:
    """Convert the result of a call to text, without ``secrets``.

    Content that is not text is only mentioned.
    """
    parts = [
        block.text if block.type == "text" else f"({block.type.replace('_', ' ')} is not shown)"
        for block in response.content
    ]
    text = "\n".join(parts)
    if not text and response.structured_content is not None:
        text = json.dumps(response.structured_content, ensure_ascii=False)
    text = secrets.hide(text)
    outcome = _outcome(response, text)
    if len(text) > LONGEST:
        text = text[: LONGEST - len(_CUT)] + _CUT
        outcome = ToolOutcome.TRUNCATED if outcome is ToolOutcome.OK else outcome
    return ToolResult(text, outcome)


def _outcome(response: Any, text: str) -> ToolOutcome:
    """Return the outcome of a call: the server's claim if plausible, otherwise a derived one."""
    possible = _FAILED if response.is_error else _DONE
    claimed = (response.meta or {}).get(OUTCOME_KEY)
    if isinstance(claimed, str) and claimed in possible:
        return ToolOutcome(claimed)
    if response.is_error:
        return ToolOutcome.ERROR
    return ToolOutcome.OK if text.strip() else ToolOutcome.EMPTY
