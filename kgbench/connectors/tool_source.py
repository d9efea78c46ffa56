# SPDX-License-Identifier: Apache-2.0
"""The source of a model's tools: the task, or an MCP server that the model's options name."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.secrets.secret_names import is_secret_field

OPTION: Final = "mcp"
VARIABLES: Final = "mcpVariables"
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
