# SPDX-License-Identifier: Apache-2.0
"""Options of model specifications, whose values may be given as text.

>>> numbers = read({"rate": "0.3"}, {"rate": Option(float, 0.0, 0, 1)}, "baseline:noisy")
>>> numbers["rate"]
0.3
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from kgbench.connectors import extraction
from kgbench.errors import ModelSpecError
from kgbench.model import Json, ModelSetup


class Option(NamedTuple):
    """A declared option: its type, its default, and the inclusive limits of a number.

    ``meaning`` is its documentation, in Markdown; a default of ``None`` means "not set".
    """

    kind: type
    default: Json
    minimum: float | None = None
    maximum: float | None = None
    allowed: tuple[str, ...] = ()
    meaning: str = ""


#: The names under which interfaces limit the tokens of an answer.
ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")

# Options of every connector.
COMMON = {
    "extraction": Option(
        str,
        extraction.DEFAULT,
        allowed=tuple(extraction.STEPS),
        meaning="what of an answer is judged: the whole, or what follows its reasoning",
    ),
    "toolProtocol": Option(
        str,
        None,
        allowed=("native", "text"),
        meaning="how tools are offered: `native` where the provider has tool calling, else `text`",
    ),
    "mcp": Option(
        str,
        None,
        meaning="the address of an MCP server, or a command that starts one: the model gets its "
        "tools in place of those of the task",
    ),
    "mcpVariables": Option(
        str,
        None,
        meaning="environment variables with secrets of that server: passed to a command, sent to "
        "an address as the bearer token; names, separated by commas",
    ),
}


def read(values: Mapping[str, Json], declared: Mapping[str, Option], spec: str) -> dict[str, Any]:
    """Return all ``declared`` and common options with the given ``values``, else their defaults.

    Raises :class:`~kgbench.errors.ModelSpecError` for an unknown option or an invalid value.
    """
    declared = {**declared, **COMMON}
    for name in values:
        if name not in declared:
            near = get_close_matches(name, declared, n=1) or sorted(declared)
            hint = f"; it takes {', '.join(near)}" if near else ""
            raise ModelSpecError(f"{spec} has no option '{name}'{hint}")
    return {
        name: _value(name, values[name], option, spec) if name in values else option.default
        for name, option in declared.items()
    }


def _value(name: str, written: Json, option: Option, spec: str) -> Any:
    try:
        value = _convert(written, option.kind)
    except (TypeError, ValueError, OverflowError):
        kind = {int: "a whole number", float: "a number", bool: "true or false"}
        raise ModelSpecError(
            f"{spec}: option '{name}' is {written!r}, but must be {kind.get(option.kind, 'a text')}"
        ) from None
    low, high = option.minimum, option.maximum
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ModelSpecError(f"{spec}: option '{name}' is {written!r}, but must be {limits}")
    if option.allowed and value not in option.allowed:
        allowed = ", ".join(option.allowed)
        raise ModelSpecError(
            f"{spec}: option '{name}' is {written!r}, but must be one of {allowed}"
        )
    return value


def _convert(written: Json, kind: type) -> Any:
    if isinstance(written, bool) or kind is bool:
        truth = {"true": True, "false": False}.get(str(written).lower())
        if kind is not bool or truth is None:
            raise TypeError
        return truth
    if kind is int and isinstance(written, float) and not written.is_integer():
        raise ValueError
    if kind is str and not isinstance(written, str):
        raise TypeError
    return kind(written)


def sampling(setup: ModelSetup, names: Mapping[str, str]) -> dict[str, Json]:
    """Return the sampling parameters of ``setup`` under the names of the provider's API.

    Raises :class:`~kgbench.errors.ModelSpecError` for a parameter that the API does not have.
    """
    for name in setup.sampling:
        if name not in names:
            known = ", ".join(sorted(set(names)))
            raise ModelSpecError(f"{setup.spec} does not take '{name}'; it takes {known}")
    return {names[name]: value for name, value in setup.sampling.items()}
