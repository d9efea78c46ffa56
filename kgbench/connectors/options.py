# SPDX-License-Identifier: Apache-2.0
"""Options of model specifications, whose values may be given as text, and the tools that they name.

>>> numbers = read({"rate": "0.3"}, {"rate": Option(float, 0.0, 0, 1)}, "baseline:noisy")
>>> numbers["rate"]
0.3
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from kgbench.connectors import extraction
from kgbench.errors import ModelSpecError
from kgbench.model import Json, ModelSetup
from kgbench.secrets.secret_names import is_secret_field

#: The names under which interfaces limit the tokens of an answer.
ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
OPTION: Final = "mcp"
VARIABLES: Final = "mcpVariables"
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


class ToolSource(NamedTuple):
    """An MCP server: the ``address`` of a running one, or the ``command`` that starts one.

    ``variables`` of the environment are passed to the command. For an address there is at most one,
    whose value is sent as a bearer token.
    """

    address: str | None
    command: tuple[str, ...]
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.address or self.command[0]


def tool_source(setup: ModelSetup) -> ToolSource | None:
    """Return the MCP server whose tools ``setup`` gets, or ``None`` for the tools of the task.

    Raises :class:`~kgbench.errors.ModelSpecError` for an invalid address or command, and for an
    address that contains a password or key.
    """
    written = str(setup.options.get(OPTION) or "").strip()
    names = str(setup.options.get(VARIABLES) or "")
    variables = tuple(name.strip() for name in names.split(",") if name.strip())
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            raise ModelSpecError(
                f"{setup.label}: {VARIABLES} has a name that no variable can have: give names of "
                "environment variables, separated by commas, never their values"
            )
    if not written:
        if variables:
            raise ModelSpecError(f"{setup.label}: {VARIABLES} is for {OPTION}, which is not given")
        return None
    if _ADDRESS.match(written):
        if len(variables) > 1:
            raise ModelSpecError(
                f"{setup.label}: an address is sent one token: name one variable in {VARIABLES}"
            )
        return ToolSource(_address(setup, written), (), variables)
    try:
        command = tuple(shlex.split(written))
    except ValueError as error:
        raise ModelSpecError(f"{setup.label}: {OPTION} is no command: {error}") from None
    return ToolSource(None, command, variables)


def _address(setup: ModelSetup, written: str) -> str:
    try:
        parts = urlsplit(written)
        secret = parts.username or parts.password
        known = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known, secret = False, None
    if not known:
        raise ModelSpecError(f"{setup.label}: {OPTION} has an address without a host")
    if secret or any(is_secret_field(name) for name, _ in parse_qsl(parts.query)):
        raise ModelSpecError(
            f"the address in {OPTION} holds a password or key: name the variable that has it in "
            f"{VARIABLES} instead"
        )
    return parts._replace(fragment="").geturl()
