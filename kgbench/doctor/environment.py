# SPDX-License-Identifier: Apache-2.0
"""Keys of providers and servers named by the environment; values of keys are never returned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

from kgbench.config.trees import hidden
from kgbench.connectors import keys
from kgbench.connectors.declared import declarations
from kgbench.connectors.servers import Service
from kgbench.doctor import Condition, State
from kgbench.errors import EnvironmentVariableError, ModelSpecError
from kgbench.net import environment, web
from kgbench.net.limits import Limits, Misbehaviour
from kgbench.store.back_ends import public_url

_LIMIT = 5.0  # seconds
_MOST = 1 << 20  # bytes; only the headers are read


def services() -> dict[str, Service]:
    """Return the services with keys by connector; those that share keys occur once."""
    by_keys: dict[tuple[str, ...], tuple[str, Service]] = {}
    for name, declared in declarations().items():
        if declared.service is not None and declared.service.keys:
            by_keys.setdefault(declared.service.keys, (name, declared.service))
    return dict(by_keys.values())


def provider_keys() -> Iterator[Condition]:
    """Yield the variable with the key of each provider, then the settings in the environment."""
    for name, service in services().items():
        yield _key(name, service.keys)
    settings = sorted(name for name in os.environ if name.startswith("KGBENCH_"))
    if settings := [name for name in settings if os.environ[name]]:
        facts = {"variables": settings}
        yield Condition("keys", "settings", State.OK, ", ".join(settings), None, facts)


def _key(name: str, variables: tuple[str, ...]) -> Condition:
    for variable in variables:
        facts = {"variable": variable}
        try:
            source = keys.key_location(variable)
        except ModelSpecError as error:
            advice = f"set {variable} to the key alone"
            return Condition("keys", name, State.BROKEN, str(error), advice, facts)
        if source is not None:
            words = f"a key is in the {source}: {variable}"
            return Condition("keys", name, State.OK, words, None, {**facts, "place": source})
    advice = f"set {' or '.join(variables)}, or: keyring set {keys.SERVICE} {variables[0]}"
    return Condition("keys", name, State.ABSENT, "no key", advice, {"variable": None})


def connections() -> Iterator[Condition]:
    """Yield each variable with a proxy or certificates, and whether it can be used."""
    for variable, value, problem in environment.problems():
        state, words, advice = State.OK, value, None
        if problem is not None:
            state = State.BROKEN
            words, _, repair = problem.partition("; ")
            advice = repair or f"unset {variable}"
        yield Condition("environment", variable, state, words, advice, {"value": value})


def servers() -> Iterator[Condition]:
    """Yield whether the servers named by the environment answer; no key is sent."""
    for service in services().values():
        variable = service.variable
        if variable and (url := os.environ.get(variable, "").strip()):
            yield _answers(variable, url)


def _answers(variable: str, url: str) -> Condition:
    address, parts = hidden(public_url(url)), urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        words = f"{address} is not an http or https address, or contains a user or password"
        return Condition("servers", variable, State.BROKEN, words, f"correct {variable}")
    try:
        with web.request(url, Limits(_MOST, _MOST, _LIMIT), idle=_LIMIT) as response:
            status = response.status
    except (OSError, ValueError, Misbehaviour, EnvironmentVariableError) as error:
        words = f"{address} does not answer: {error}"
        advice = f"start the server, or correct {variable}"
        return Condition("servers", variable, State.BROKEN, words, advice)
    # Without key and path, even a healthy server answers 401 or 404.
    words = f"{address} answers (HTTP {status})"
    return Condition("servers", variable, State.OK, words, None, {"status": status})
