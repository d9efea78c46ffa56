# SPDX-License-Identifier: Apache-2.0
"""Which providers have keys, and which servers the environment names: names, never values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

from kgbench.config.credentials import hidden
from kgbench.connectors import keys
from kgbench.connectors.declared import declarations
from kgbench.connectors.servers import Service
from kgbench.doctor.conditions import Condition, State
from kgbench.errors import ModelSpecError
from kgbench.net import web
from kgbench.net.limits import Limits, Misbehaviour
from kgbench.store.back_ends import shown

_OURS = "KGBENCH_"
_LIMIT = 5.0  # seconds
_MOST = 1 << 20  # bytes, of which none is read but the headers


def services() -> dict[str, Service]:
    """The services of connectors, by the first connector's name where several share the keys."""
    by_keys: dict[tuple[str, ...], tuple[str, Service]] = {}
    for name, declared in declarations().items():
        if declared.service is not None and declared.service.keys:
            by_keys.setdefault(declared.service.keys, (name, declared.service))
    return dict(by_keys.values())


def known() -> Iterator[Condition]:
    """For each provider, which variable holds a key; then the settings of kgbench that are set."""
    for name, service in services().items():
        yield _key(name, service.keys)
    ours = sorted(name for name in os.environ if name.startswith(_OURS) and os.environ[name])
    if ours:
        facts = {"variables": ours}
        yield Condition("keys", "settings", State.OK, ", ".join(ours), None, facts)


def _key(name: str, variables: tuple[str, ...]) -> Condition:
    for variable in variables:
        try:
            place = keys.place(variable)
        except ModelSpecError as error:
            advice = f"set {variable} to the key alone"
            facts = {"variable": variable}
            return Condition("keys", name, State.BROKEN, str(error), advice, facts)
        if place is not None:
            words = f"a key is in the {place}: {variable}"
            facts = {"variable": variable, "place": place}
            return Condition("keys", name, State.OK, words, None, facts)
    asked = f"set {' or '.join(variables)}, or: keyring set {keys.SERVICE} {variables[0]}"
    return Condition("keys", name, State.ABSENT, "no key", asked, {"variable": None})


def servers() -> Iterator[Condition]:
    """Yield whether the servers that the environment names answer; they are sent no key."""
    for service in services().values():
        variable = service.variable
        url = os.environ.get(variable, "").strip() if variable else ""
        if variable and url:
            yield _answers(variable, url)


def _answers(variable: str, url: str) -> Condition:
    named = hidden(shown(url))
    advice = f"start the server, or correct {variable}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        words = f"{named} is no http or https address without user and password"
        return Condition("servers", variable, State.BROKEN, words, f"correct {variable}")
    try:
        with web.request(url, Limits(_MOST, _MOST, _LIMIT), idle=_LIMIT) as answer:
            status = answer.status
    except (OSError, ValueError, Misbehaviour) as error:
        words = f"{named} does not answer: {error}"
        return Condition("servers", variable, State.BROKEN, words, advice)
    # Without a key and a path a server that is well says 401 or 404.
    words = f"{named} answers (HTTP {status})"
    return Condition("servers", variable, State.OK, words, None, {"status": status})
