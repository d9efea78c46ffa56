# SPDX-License-Identifier: Apache-2.0
"""Connectors: one small module per provider, found through the entry points ``kgbench.connectors``.

A connector module has a function ``open(setup, timeout)``. What it returns is used as::

    async with find("openai").open(setup, timeout=60.0) as connector:
        reply = await connector.ask(request)

Connectors do not retry: a failed call is one exception, and when to ask again is for the caller to
decide. They read keys from the environment and name them in no message.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol

from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup, Reply, Request
from kgbench.nearest import nearest

__all__ = ["Connector", "ConnectorModule", "find", "names"]

GROUP = "kgbench.connectors"


class Connector(AbstractAsyncContextManager["Connector", None], Protocol):
    """One model, ready to be asked; many questions may be under way at once."""

    async def ask(self, request: Request) -> Reply:
        """The model's answer to ``request``, from one call.

        Raises :class:`~kgbench.errors.ProviderTimeout`, :class:`~kgbench.errors.RateLimited`,
        :class:`~kgbench.errors.ProviderRefused`, :class:`~kgbench.errors.ContextTooLong`, or for
        anything else that went wrong :class:`~kgbench.errors.ProviderError`.
        """
        ...


class ConnectorModule(Protocol):
    """What a connector implements in Python.

    Where its provider answers batches, it also has ``open_batches(setup, timeout)``, which gives
    :class:`~kgbench.connectors.batches.Batches`.
    """

    def open(self, setup: ModelSetup, timeout: float) -> Connector:
        """A connector for the model ``setup``; each call may take ``timeout`` seconds in all.

        Raises :class:`~kgbench.errors.ModelSpecError` when ``setup`` cannot be used: an unknown
        option, a missing key, an extra that is not installed. Nothing is sent before ``ask``.
        """
        ...


def names() -> tuple[str, ...]:
    """The names of all installed connectors, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


@cache
def find(name: str) -> ConnectorModule:
    """The connector module called ``name``.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, when there is none.
    """
    found = sorted(entry_points(group=GROUP, name=name), key=lambda point: point.value)
    if not found:
        raise ModelSpecError(f"there is no connector '{name}': {nearest(name, names())}")
    module: ConnectorModule = found[0].load()
    return module
