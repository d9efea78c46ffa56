# SPDX-License-Identifier: Apache-2.0
"""Validation of the arguments of a tool call against the JSON Schema of the tool.

Only the part of JSON Schema that kgbench's tools use is supported: ``type`` (of an object's
properties), ``enum``, ``minimum``, ``maximum`` and ``required``. Undeclared properties are errors.
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
_DEEPEST: Final = 50  # most levels of nested lists and objects


def read(arguments: str) -> dict[str, Any]:
    """Parse the arguments of a call; an empty text stands for no arguments.

    Raises :class:`ValueError`, with a message for the model, if they are not a JSON object.
    Infinite numbers and NaN are refused because JSON has none, and deeply nested values because
    they could not be serialised again.
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
            for container in level
            if isinstance(container, dict | list)
            for inner in (container.values() if isinstance(container, dict) else container)
        ]
    return bool(level)


def fault(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return the fault of ``arguments`` for ``tool`` as a message for the model, or ``None``."""
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        if name not in arguments:
            return f"{tool.name} needs the argument '{name}'"
    for name, value in arguments.items():
        if name not in properties:
            takes = ", ".join(properties) or "no arguments"
            return f"{tool.name} has no argument '{name[:100]}'; it takes {takes}"
        if why := _mismatch(value, properties[name]):
            return f"the argument '{name}' of {tool.name} {why}"
    return None


def _mismatch(value: Any, schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if kind is not None:
        is_boolean = isinstance(value, bool)
        if not isinstance(value, _KINDS[kind]) or (is_boolean and kind != "boolean"):
            return f"must be of the type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(map(str, schema['enum']))}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be at least {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"must be at most {schema['maximum']}"
    return None
