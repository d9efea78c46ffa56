# SPDX-License-Identifier: Apache-2.0
"""Connectors to providers, one module each, found by the entry points ``kgbench.connectors``.

A connector module has a function ``open(setup, timeout)``. Its result is used as::

    async with find("openai").open(setup, timeout=60.0) as connector:
        reply = await connector.ask(request)

Connectors do not retry: a failed call raises one exception, and the caller decides about retries.
They read keys from the environment and never show them in a message.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kgbench import entry_points
from kgbench.errors import ModelSpecError, nearest
from kgbench.model import ModelSetup, Reply, Request

__all__ = ["CallAbandoned", "Connector", "ConnectorModule", "find", "lacking", "names"]

GROUP = "kgbench.connectors"


class CallAbandoned(Exception):
    """The run stops before this call has begun."""


class Connector(AbstractAsyncContextManager["Connector", None], Protocol):
    """An open connection to one model; several calls may be under way at once."""

    async def ask(self, request: Request) -> Reply:
        """Return the model's answer to ``request``, from one call.

        Raises :class:`~kgbench.errors.ProviderTimeout`, :class:`~kgbench.errors.RateLimited`,
        :class:`~kgbench.errors.ProviderRefused`, :class:`~kgbench.errors.ContextTooLong`, or
        :class:`~kgbench.errors.ProviderError` for any other failure.
        """
        ...


class ConnectorModule(Protocol):
    """The interface of a connector module.

    If its provider has a batch interface, the module also has ``open_batches(setup, timeout)``,
    which returns :class:`~kgbench.connectors.batches.Batches`.
    """

    def open(self, setup: ModelSetup, timeout: float) -> Connector:
        """Return a connector for the model ``setup``; ``timeout`` limits each call, in seconds.

        Raises :class:`~kgbench.errors.ModelSpecError` if ``setup`` cannot be used: an unknown
        option, a missing key, an extra that is not installed. Nothing is sent before ``ask``.
        """
        ...


def names() -> tuple[str, ...]:
    """Return the names of all installed connectors, sorted."""
    return entry_points.names(GROUP)


def find(name: str) -> ConnectorModule:
    """Load the connector module called ``name``.

    Raises :class:`~kgbench.errors.ModelSpecError`, with the nearest names, if there is none.
    """
    if name not in names():
        raise ModelSpecError(f"there is no connector '{name}': {nearest(name, names())}")
    module: ConnectorModule = entry_points.load(GROUP, name)
    return module


def lacking(setup: ModelSetup) -> str | None:
    """Return why a model cannot be called from here, such as a missing key; ``None`` if it can.

    Nothing is sent.
    """
    try:
        find(setup.connector).open(setup, timeout=1.0)
    except ModelSpecError as error:
        return str(error)
    return None
