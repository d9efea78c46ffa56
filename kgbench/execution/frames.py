# SPDX-License-Identifier: Apache-2.0
r"""The messages between kgbench and a judging child: JSON, with cases, verdicts and results.

Texts are UTF-8 with surrogates passed through: escaped as ``\ud83d\ude00``, two lone surrogates
would be decoded as one character.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kgbench.model import Case, Json, Outcome, Verdict
from kgbench.tool_calls import ToolOutcome, ToolResult


def encode(message: Json) -> bytes:
    """Encode ``message`` as the payload of a frame; :func:`decode` reverses it."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=_as_json)
    return text.encode("utf-8", "surrogatepass")


def _as_json(value: object) -> dict[str, Json]:
    if isinstance(value, Case | ToolResult):
        return {name: getattr(value, name) for name in value.__slots__}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def decode(payload: bytes) -> Json:
    """Decode the payload of a frame."""
    return json.loads(payload.decode("utf-8", "surrogatepass"))


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Convert a verdict to JSON; :func:`verdict_from_json` reverses it."""
    fields = {name: getattr(verdict, name) for name in Verdict.__slots__}
    return {**fields, "scores": dict(verdict.scores), "infos": dict(verdict.infos)}


def verdict_from_json(value: Mapping[str, Any]) -> Verdict:
    """Restore a verdict from :func:`verdict_to_json`."""
    return Verdict(**{**value, "outcome": Outcome(value["outcome"])})


def result_from_json(value: Mapping[str, Any]) -> ToolResult:
    """Restore a tool's result from its JSON."""
    return ToolResult(value["text"], ToolOutcome(value["outcome"]))
