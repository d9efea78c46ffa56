# SPDX-License-Identifier: Apache-2.0
"""What a model specification may do only after an option of the command line permits it.

Specifications come from configurations, which people share. None of them may choose a secret of
this machine and where it goes, start a command, or run code that comes with a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from kgbench.characters import one_line
from kgbench.connectors import find, keys
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import read, tool_source
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.net.limits import bare

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
    options = read(setup.options, declared.options, setup.spec)
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
