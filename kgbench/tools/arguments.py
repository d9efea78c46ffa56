# SPDX-License-Identifier: Apache-2.0
"""Checking the arguments of a tool call against the JSON Schema that the tool declares.

The part of JSON Schema that tools of kgbench use: ``type`` (of an object's properties), ``enum``,
``minimum``, ``maximum``, ``required``, and no properties beside the declared ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from kgbench.tool_calls import Tool

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_DEEPEST: Final = 50  # levels of lists and objects


def read(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call; no text counts as no arguments.

    Raises :class:`ValueError`, with words for the model, where they are no JSON object. JSON has
    no infinite numbers and no NaN, and what is nested too deeply could not be sent back.
    """
    try:
        value = _READER.decode(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")  # noqa: TRY004 - a fault of the model
    if _is_deep(value):
        raise ValueError(f"the arguments are nested more than {_DEEPEST} levels deep")
    return value


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:20]} is too large")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


_READER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def fault(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with ``arguments`` for ``tool``, in words for the model; ``None``: nothing."""
    known: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        if name not in arguments:
            return f"{tool.name} needs the argument '{name}'"
    for name, value in arguments.items():
        if name not in known:
            takes = ", ".join(known) or "no arguments"
            return f"{tool.name} has no argument '{name[:100]}'; it takes {takes}"
        if why := _unfit(value, known[name]):
            return f"the argument '{name}' of {tool.name} {why}"
    return None


def _unfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if kind is not None:
        is_truth = isinstance(value, bool)
        if not isinstance(value, _KINDS[kind]) or (is_truth and kind != "boolean"):
            return f"must be of the type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(map(str, schema['enum']))}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"must be at most {schema['maximum']}"
    return None
