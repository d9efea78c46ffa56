# SPDX-License-Identifier: Apache-2.0
"""Which providers have keys, and which servers the environment names: names, never values."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from urllib.parse import urlsplit

from kgbench.config.credentials import hidden
from kgbench.connectors import keys
from kgbench.doctor.conditions import Condition, State
from kgbench.errors import ModelSpecError
from kgbench.store.back_ends import shown

#: The environment variables that each connector looks for a key in, by its name.
VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "vllm": ("VLLM_API_KEY",),
}
#: The variables that move a connector to another server.
SERVERS = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
_OURS = "KGBENCH_"
_LIMIT = 5.0  # seconds


def known() -> Iterator[Condition]:
    """For each provider, which variable holds a key; then the settings of kgbench that are set."""
    for name, variables in VARIABLES.items():
        yield _key(name, variables)
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
    """Whether the servers that the environment names answer; they are sent no key."""
    for variable in SERVERS:
        url = os.environ.get(variable, "").strip()
        if url:
            yield _answers(variable, url)


def _answers(variable: str, url: str) -> Condition:
    named = hidden(shown(url))
    advice = f"start the server, or correct {variable}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        words = f"{named} is no http or https address without user and password"
        return Condition("servers", variable, State.BROKEN, words, f"correct {variable}")
    opener = urllib.request.build_opener(_Stay)
    try:
        with opener.open(url, timeout=_LIMIT) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except (urllib.error.URLError, OSError, HTTPException, ValueError) as error:
        words = f"{named} does not answer: {getattr(error, 'reason', error)}"
        return Condition("servers", variable, State.BROKEN, words, advice)
    # Without a key and a path a server that is well says 401 or 404.
    words = f"{named} answers (HTTP {status})"
    return Condition("servers", variable, State.OK, words, None, {"status": status})


class _Stay(urllib.request.HTTPRedirectHandler):
    """Nobody asked for the server that a redirection names."""

    def redirect_request(self, *_: object) -> None:
        """Not followed."""
