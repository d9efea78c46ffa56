# SPDX-License-Identifier: Apache-2.0
"""Which server a model is asked at, and with which key."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from kgbench.connectors import failures, keys
from kgbench.connectors.calls import Caller
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup


class Server(NamedTuple):
    """A server's address, the key that it gets, if any, and who calls."""

    url: str
    key: str | None
    caller: Caller


def server(
    setup: ModelSetup, timeout: float, *, own: str, variable: str, keys_in: tuple[str, ...]
) -> Server:
    """Where to call: at the setup's address, else the one in ``variable``, else the ``own`` one.

    ``own`` is the provider's, which always wants a key; keys are looked for in ``keys_in``. Raises
    :class:`~kgbench.errors.ModelSpecError` for what is no address of a server, and where a key is
    missing or cannot be sent.
    """
    url = setup.base_url or os.environ.get(variable) or own
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelSpecError(
            f"{setup.connector}:{setup.model_id}: '{failures.scrub(url)}' "
            f"is not the address of a server"
        )
    key = keys.found(setup, *keys_in, needed=is_own(url, own))
    return Server(url, key, Caller(setup.spec, timeout, (key,) if key else ()))


def is_own(url: str, own: str) -> bool:
    """Whether ``url`` is the provider's own server."""
    return urlsplit(url).hostname == urlsplit(own).hostname
