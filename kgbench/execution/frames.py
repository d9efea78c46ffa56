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
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def decode(payload: bytes) -> Json:
    """Decode the payload of a frame."""
    return json.loads(payload.decode("utf-8", "surrogatepass"))


def case_to_json(case: Case) -> dict[str, Json]:
    """Convert a case to JSON; :func:`case_from_json` reverses it."""
    return {
        "iri": case.iri,
        "suite": case.suite,
        "task_class": case.task_class,
        "parameters": dict(case.parameters),
        "data": dict(case.data),
        "digest": case.digest,
        "uid": case.uid,
    }


def case_from_json(value: Mapping[str, Any]) -> Case:
    """Restore a case from :func:`case_to_json`."""
    return Case(**value)


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Convert a verdict to JSON; :func:`verdict_from_json` reverses it."""
    return {
        "scores": dict(verdict.scores),
        "infos": dict(verdict.infos),
        "outcome": verdict.outcome,
        "next_prompt": verdict.next_prompt,
        "feedback": verdict.feedback,
    }


def verdict_from_json(value: Mapping[str, Any]) -> Verdict:
    """Restore a verdict from :func:`verdict_to_json`."""
    return Verdict(**{**value, "outcome": Outcome(value["outcome"])})


def result_to_json(result: ToolResult) -> dict[str, Json]:
    """Convert a tool's result to JSON; :func:`result_from_json` reverses it."""
    return {"text": result.text, "outcome": result.outcome}


def result_from_json(value: Mapping[str, Any]) -> ToolResult:
    """Restore a tool's result from :func:`result_to_json`."""
    return ToolResult(value["text"], ToolOutcome(value["outcome"]))
