# SPDX-License-Identifier: Apache-2.0
"""Batch interfaces: many requests handed in at once and answered within a day, for less money.

A batch is known to its provider by an id. Between handing it in and learning the id a process may
die; therefore every batch is handed in under a token of ours, by which :meth:`Batches.find` finds
it again. The name of each request in a batch is made by :func:`name` from token and request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kgbench.connectors import find
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import ModelSetup, Reply, Request

# Of one batch; the providers allow some times as much (50,000 or 100,000 requests, 200 MB).
MOST_REQUESTS = 10_000
MOST_CHARACTERS = 20_000_000

_LONGEST_NAME = 64  # characters; both providers take no more


class Asked(NamedTuple):
    """A request under the name by which its answer is recognised."""

    name: str
    request: Request


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch is. ``state`` is the provider's word.

    ``missing`` is set when the batch has ended: what it means for a request without a result.
    ``results`` are the provider's names of where these are.
    """

    state: str
    done: int
    missing: ProviderError | None = None
    results: tuple[str, ...] = ()


class Undecided(Exception):
    """Whether the provider has a batch cannot be known before a batch that it does have ends."""


class Batches(AbstractAsyncContextManager["Batches", None], Protocol):
    """One model, ready to be asked in batches. All methods raise ``ProviderError`` as ``ask``."""

    async def submit(self, token: str, asked: Sequence[Asked]) -> str:
        """Hand in a batch under ``token``; its id."""
        ...

    async def find(
        self, token: str, requests: int, since: datetime, others: Collection[str]
    ) -> str | None:
        """The id of the batch of so many ``requests`` handed in under ``token``, if there is one.

        ``since`` is when that was begun; it is none of ``others``. Raises :class:`Undecided` where
        only time will tell.
        """
        ...

    async def standing(self, batch: str) -> Standing:
        """How far the batch with this id is."""
        ...

    def results(self, batch: str, standing: Standing) -> AsyncIterator[Result]:
        """The results of a batch that has ended, in any order."""
        ...

    async def cancel(self, batch: str) -> None:
        """Ask that nothing more of the batch be done."""
        ...


class Result(NamedTuple):
    """What came of the request with this ``name``."""

    name: str
    outcome: Reply | ProviderError


def open_batches(setup: ModelSetup, timeout: float) -> Batches:
    """The model ``setup`` through its provider's batch interface.

    Raises :class:`~kgbench.errors.ModelSpecError` where there is none, and as ``open`` does.
    """
    require(setup)
    opened: Batches = find(setup.connector).open_batches(setup, timeout)  # type: ignore[attr-defined]
    return opened


def require(setup: ModelSetup) -> None:
    """Raise :class:`~kgbench.errors.ModelSpecError` where ``setup`` has no batch interface."""
    if not hasattr(find(setup.connector), "open_batches"):
        raise ModelSpecError(
            f"{setup.spec} cannot be asked in batches: leave it out (--model), or run it without "
            f"--batch"
        )


def name(token: str, key: str) -> str:
    """The name of the request ``key`` (hex) in the batch ``token``: no longer than is allowed."""
    return f"{token}-{key}"[:_LONGEST_NAME]
