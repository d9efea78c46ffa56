# SPDX-License-Identifier: Apache-2.0
"""Batch interfaces of providers: many requests at once, answered within a day at a lower price.

The provider identifies a batch by an id. A process may die between the submission and the response
with the id; therefore every batch is submitted with a token of ours, by which :meth:`Batches.find`
finds it again. :func:`name` makes the name of each request in a batch from token and request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from kgbench import clock
from kgbench.connectors import find
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import ModelSetup, Reply, Request
from kgbench.net.limits import seconds_of

# Limits of one batch; providers allow several times as much (50,000 or 100,000 requests, 200 MB).
MOST_REQUESTS = 10_000
MOST_CHARACTERS = 20_000_000

# Allowance for times of batches that do not agree with the server's own clock: the greatest offset
# of a time zone, as servers that write local times as UTC have.
_SKEW = timedelta(hours=14)
_LONGEST_NAME = 64  # characters; the limit of both providers


class BatchRequest(NamedTuple):
    """A request of a batch, with the name that identifies its result."""

    name: str
    request: Request


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The status of a batch; ``state`` is the provider's word, ``finished`` a number of requests.

    ``missing`` is set when the batch has ended: the error of a request without a result.
    ``results`` are the provider's ids of the result files. ``is_late`` is true while a batch that
    the provider calls ended does not name its results yet.
    """

    state: str
    finished: int
    missing: ProviderError | None = None
    results: tuple[str, ...] = ()
    is_late: bool = False


class Undecided(Exception):
    """It is unknown whether the provider has a batch until another batch has ended."""


class Batches(AbstractAsyncContextManager["Batches", None], Protocol):
    """A client for batches of one model; methods raise ``ProviderError`` like ``Connector.ask``."""

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:
        """Submit a batch under ``token`` and return its id."""
        ...

    async def find(
        self, token: str, requests: int, since: datetime, others: Collection[str]
    ) -> str | None:
        """Return the id of the batch that was submitted under ``token``, if there is one.

        ``requests`` is its number of requests, ``since`` a time before its submission, ``others``
        the ids of other batches. Raises :class:`Undecided` if this cannot be known yet.
        """
        ...

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch with this id."""
        ...

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:
        """Yield the results of a batch that has ended, in any order."""
        ...

    async def cancel(self, batch: str) -> None:
        """Ask the provider to cancel the batch."""
        ...


class Result(NamedTuple):
    """The reply to the request called ``name``, or its error."""

    name: str
    outcome: Reply | ProviderError


def open_batches(setup: ModelSetup, timeout: float) -> Batches:
    """Open the batch interface of the model ``setup``.

    Raises :class:`~kgbench.errors.ModelSpecError` if there is none, and as ``open`` does.
    """
    require(setup)
    opened: Batches = find(setup.connector).open_batches(setup, timeout)  # type: ignore[attr-defined]
    return opened


def require(setup: ModelSetup) -> None:
    """Raise :class:`~kgbench.errors.ModelSpecError` if ``setup`` has no batch interface."""
    if not hasattr(find(setup.connector), "open_batches"):
        raise ModelSpecError(
            f"{setup.spec} cannot be asked in batches: leave it out (--model), or run it without "
            f"--batch"
        )


def earliest(since: datetime, headers: Mapping[str, str]) -> datetime:
    """Return the earliest time by the server's clock of a batch submitted after ``since``.

    ``since`` is by our clock, from which the server's may differ; its ``Date`` is in the
    ``headers`` of a response.
    """
    now = seconds_of(headers.get("date", ""))
    ahead = timedelta(0) if now is None else datetime.fromtimestamp(now, UTC) - clock.now()
    return since + ahead - _SKEW


def name(token: str, key: str) -> str:
    """Return the name of the request ``key`` (hex) in the batch ``token``, cut to the limit."""
    return f"{token}-{key}"[:_LONGEST_NAME]
