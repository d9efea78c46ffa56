# SPDX-License-Identifier: Apache-2.0
"""The tools of GRASP: parsing their recorded results, and executing recorded queries again.

GRASP's search tools use unpublished indexes, and its other tools use them to describe results. The
tool ``execute`` runs a query, whose result any engine must reproduce: a number of rows, a truth
value, or an error.

>>> outcome("Got no rows and 2 columns")
<ToolOutcome.EMPTY: 'empty'>
>>> parse_result("Got 1,000 rows and 3 columns, showing the first 10 rows below:")
1000
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from kgbench.api import Executor, Json, ToolCall, ToolResult
from kgbench.tool_calls import ToolOutcome
from kgbench.tools import arguments

EXECUTE: Final = "execute"
"""The tool that runs a query; its arguments are ``kg`` and ``sparql``."""
ENDS: Final = frozenset(("answer", "cancel"))
"""The tools that end a dialogue."""
NOT_PUBLISHED: Final = "no result of this call was published"

ParsedResult: TypeAlias = "int | bool | None"
"""The result of a query: a number of rows, a truth value, or ``None`` for an error."""

_ROWS: Final = re.compile(r"Got (no|[0-9][0-9,]*) rows?\b")
_NOTHING: Final = re.compile(r"(?:Got no rows|No [^\n]{0,80}\bfound)\b")
_SOME: Final = re.compile(r"[^\n]{0,200}showing the first\b")
_FAILED: Final = re.compile(
    r"(?:Failed to |Call to function |SPARQL execution failed|Unknown |Constraint \"|Only two of )"
)
_NOT_DONE: Final = "Not executed due to loop"
_UNSEEN: Final = "without being known from previous searches"
_TRUTH: Final = re.compile(r"[^\n]{0,80}?\b(true|false)\b", re.IGNORECASE)
_TIME: Final = re.compile(r"\btime(?:d )?-?out\b", re.IGNORECASE)
_PREFIX: Final = re.compile(
    r"^[ \t*-]{0,8}([\w.-]{0,40}): <([^<>\s]{1,200})>?[ \t]*$", re.MULTILINE
)


class UnreadableError(ValueError):
    """A result states neither rows nor a truth value nor an error."""


def outcome(text: str) -> ToolOutcome:
    """Return the outcome of a call, by the text of its result."""
    if text.startswith(_NOT_DONE):
        return ToolOutcome.REFUSED
    if text == NOT_PUBLISHED or _FAILED.match(text):
        return ToolOutcome.ERROR
    if _NOTHING.match(text):
        return ToolOutcome.EMPTY
    return ToolOutcome.TRUNCATED if _SOME.match(text) else ToolOutcome.OK


def parse_result(text: str) -> ParsedResult:
    """Parse the result of ``execute``.

    Raises :class:`UnreadableError` if it contains nothing that can be compared.
    """
    if outcome(text) is ToolOutcome.ERROR:
        return None
    if rows := _ROWS.match(text):
        return 0 if rows[1] == "no" else int(rows[1].replace(",", ""))
    if truth := _TRUTH.match(text):
        return truth[1].lower() == "true"
    raise UnreadableError("the result names no number of rows")


def again(call: ToolCall, result: ToolResult, prompt: str) -> Mapping[str, Json] | str:
    """Return the arguments for :func:`use` to repeat a recorded call, or the obstacle as a text.

    ``prompt`` is the first prompt of the dialogue, which lists the prefixes that queries may use.
    """
    if call.name in ENDS:
        return "the call ends the dialogue"
    if call.name != EXECUTE:
        return "a tool of GRASP itself, whose indexes are not published"
    if result.text in {NOT_PUBLISHED, _NOT_DONE} or _UNSEEN in result.text:
        return "GRASP did not execute the query"
    try:
        parse_result(result.text)
        query = arguments.read(call.arguments).get("sparql")
    except ValueError as error:
        return str(error)
    if not isinstance(query, str):
        return "the call has no query"
    return {"sparql": query, "prefixes": dict(_PREFIX.findall(prompt))}


def use(recorded: Mapping[str, Any], graph: str, executor: Executor) -> ToolResult:
    """Execute the query from :func:`again` on ``graph``."""
    result = executor.results(recorded["sparql"], graph, recorded["prefixes"])
    if result.error is not None:
        return ToolResult(f"SPARQL execution failed:\n{result.error}", ToolOutcome.ERROR)
    if result.boolean is not None:
        return ToolResult(str(result.boolean))
    number, columns = f"{len(result.rows):,}" if result.rows else "no", len(result.variables)
    text = f"Got {number} row{'s' * (number != '1')} and {columns} column{'s' * (columns != 1)}"
    return ToolResult(text, outcome(text))


def agree(recorded: ToolResult, new_result: ToolResult) -> bool:
    """Return whether two results state the same about a query."""
    before, after = parse_result(recorded.text), parse_result(new_result.text)
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def why_different(recorded: ToolResult, new_result: ToolResult) -> str | None:
    """Return the reason why results of different engines differ, or ``None`` if it is unknown.

    ``time``: the recorded query timed out. ``engine``: only one of the engines executes the query.
    """
    before, after = parse_result(recorded.text), parse_result(new_result.text)
    if before is None and _TIME.search(recorded.text):
        return "time"
    return "engine" if (before is None) != (after is None) else None
