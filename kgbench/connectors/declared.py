# SPDX-License-Identifier: Apache-2.0
"""What connectors declare, such as their options, and what specifications may do if permitted.

Built-in connectors have a constant ``DECLARED``, which the documentation and ``kgbench doctor``
use; connectors of other packages may have one.

Specifications come from configurations, which people share. None of them may choose a secret of
this machine and where it goes, start a command, or run code that comes with a model.

>>> numbers = read_options({"rate": "0.3"}, {"rate": Option(float, 0.0, 0, 1)}, "baseline:noisy")
>>> numbers["rate"]
0.3
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from kgbench.characters import one_line
from kgbench.connectors import extraction, find, keys, names
from kgbench.errors import ModelSpecError, nearest
from kgbench.model import Json, ModelSetup
from kgbench.net.limits import bare
from kgbench.secrets import is_secret_field

if TYPE_CHECKING:
    from kgbench.connectors.servers import Service

#: The names under which interfaces limit the tokens of an answer.
ANSWER_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
MCP: Final = "mcp"
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


def read_options(
    values: Mapping[str, Json], declared: Mapping[str, Option], spec: str
) -> dict[str, Any]:
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
    written = str(setup.options.get(MCP) or "").strip()
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
            raise ModelSpecError(f"{setup.label}: {VARIABLES} is for {MCP}, which is not given")
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
        raise ModelSpecError(f"{setup.label}: {MCP} is no command: {error}") from None
    return ToolSource(None, command, variables)


def _address(setup: ModelSetup, written: str) -> str:
    try:
        parts = urlsplit(written)
        secret = parts.username or parts.password
        known = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known, secret = False, None
    if not known:
        raise ModelSpecError(f"{setup.label}: {MCP} has an address without a host")
    if secret or any(is_secret_field(name) for name, _ in parse_qsl(parts.query)):
        raise ModelSpecError(
            f"the address in {MCP} holds a password or key: name the variable that has it in "
            f"{VARIABLES} instead"
        )
    return parts._replace(fragment="").geturl()


PROTOCOL_OPTION = "toolProtocol"
NATIVE, TEXT = "native", "text"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a connector, used by its documentation and to parse specifications.

    ``specifications`` are the forms of its model specifications. ``options`` add to the options
    that all connectors have. ``extra`` is the extra of kgbench's package that installs its SDK.
    ``embeddings`` is its server if that has OpenAI's endpoint of embeddings.
    ``sampling`` are the parameters that it passes on to the provider; ``None`` passes on all of
    them. ``native_tools`` says whether the provider's own tool calling can offer tools to a model.
    ``models`` are the only models, each with the names of its options; ``None`` leaves them open.
    """

    specifications: tuple[str, ...]
    options: Mapping[str, Option]
    service: Service | None = None
    extra: str | None = None
    embeddings: Service | None = None
    sampling: tuple[str, ...] | None = None
    native_tools: Callable[[ModelSetup], bool] = lambda _: False
    models: Mapping[str, Collection[str]] | None = None

    def options_of(self, setup: ModelSetup) -> dict[str, Any]:
        """Return all options of the model of ``setup``, with its values; see :func:`check`."""
        declared = self.options
        if self.models is not None:
            if setup.model_id not in self.models:
                hint = nearest(setup.model_id, self.models)
                raise ModelSpecError(
                    f"there is no {setup.connector} model '{setup.model_id}': {hint}"
                )
            declared = {name: declared[name] for name in self.models[setup.model_id]}
        return read_options(setup.options, declared, setup.spec)


def check(setup: ModelSetup) -> None:
    """Check ``setup`` against the declaration of its connector, if there is one.

    Raises :class:`~kgbench.errors.ModelSpecError` for an unknown option, value or sampling
    parameter, for a model that the connector lacks, and for an address that contradicts its
    version. Keys are not checked.
    """
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    if declared is None:
        return
    chosen = declared.options_of(setup)
    tool_source(setup)
    if declared.sampling is not None:
        sampling(setup, {name: name for name in declared.sampling})
    if declared.service is not None and setup.base_url is not None:
        declared.service.address(setup, chosen)


def declarations() -> dict[str, Declaration]:
    """Return the declarations of the installed connectors, by name, in the order of names."""
    modules = {name: find(name) for name in names()}
    return {
        name: module.DECLARED for name, module in modules.items() if hasattr(module, "DECLARED")
    }


def is_native(setup: ModelSetup, plan: str | None = None) -> bool:
    """Return whether ``setup`` is offered tools by its provider's own tool calling.

    Its option ``toolProtocol`` decides, else the ``plan``, else whether the connector supports tool
    calling. Raises :class:`~kgbench.errors.ModelSpecError` if ``native`` is requested of a
    connector without tool calling.
    """
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    able = declared is not None and declared.native_tools(setup)
    chosen = setup.options.get(PROTOCOL_OPTION) or plan or (NATIVE if able else TEXT)
    if chosen == NATIVE and not able:
        raise ModelSpecError(
            f"{setup.spec}: the connector {setup.connector} has no tool calling of its own; "
            f"leave out {PROTOCOL_OPTION}, or give this model the option {PROTOCOL_OPTION}={TEXT}"
        )
    return bool(chosen == NATIVE)


ALLOW_SECRET: Final = "--allow-secret"  # noqa: S105 - the name of an option
START_TOOL_SERVERS: Final = "--start-tool-servers"
TRUST_REMOTE_CODE: Final = "--trust-remote-code"


class Requirement(NamedTuple):
    """What a model would do, in words, and the option that permits it."""

    model: str
    action: str
    option: str

    def __str__(self) -> str:
        return one_line(f"{self.model} {self.action}, which needs the option {self.option}")


def requirements(setup: ModelSetup) -> list[Requirement]:
    """Return what the specification of a model needs options for, whether or not they are given.

    The key of a provider may go to the provider's own server (see
    :meth:`~kgbench.connectors.servers.Service.is_declared_for`). Raises
    :class:`~kgbench.errors.ModelSpecError` for invalid options.
    """
    needed = []
    source = tool_source(setup)
    if source is not None:
        destination = bare(source.address) if source.address else f"the command '{source}'"
        needed += [_secret(setup, name, destination) for name in source.variables]
        if source.command:
            action = f"starts the command '{source}'"
            needed.append(Requirement(setup.label, action, START_TOOL_SERVERS))
    declared: Declaration | None = getattr(find(setup.connector), "DECLARED", None)
    if declared is None:
        return needed
    options = read_options(setup.options, declared.options, setup.spec)
    variable, service = options.get("key_env"), declared.service
    if variable and service is not None:
        url = service.address(setup, options).url
        if not service.is_declared_for(variable, url):
            needed.append(_secret(setup, variable, bare(url)))
    template = options.get("chat_template") or "{"
    if setup.base_url is not None and "{" not in template:  # a file
        action = f"sends the file {template} to {bare(setup.base_url)}"
        needed.append(Requirement(setup.label, action, f"{ALLOW_SECRET} {template}"))
    if options.get("trust_remote_code"):
        action = "runs code that comes with the model"
        needed.append(Requirement(setup.label, action, TRUST_REMOTE_CODE))
    return needed


def require(setups: Iterable[ModelSetup], given: Collection[str] = ()) -> None:
    """Raise :class:`~kgbench.errors.ModelSpecError` if an option is needed that is not ``given``.

    Secrets are permitted by :func:`~kgbench.connectors.keys.allowed`. A variable without a value
    and a missing file cannot be sent.
    """
    for setup in setups:
        for needed in requirements(setup):
            option, _, name = needed.option.partition(" ")
            if option in given or (name and (keys.is_allowed(name) or not _exists(name))):
                continue
            raise ModelSpecError(
                f"{needed}: give it only if you trust the configuration and what it names"
            )


def _exists(name: str) -> bool:
    return keys.key_location(name) is not None or Path(name).exists()


def _secret(setup: ModelSetup, name: str, destination: str) -> Requirement:
    action = f"sends the secret {name} to {destination}"
    return Requirement(setup.label, action, f"{ALLOW_SECRET} {name}")
