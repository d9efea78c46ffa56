# SPDX-License-Identifier: Apache-2.0
"""Submission, polling and collection of provider batches, with retries that never submit twice.

When the connection fails during a submission, it is unclear whether the provider has the batch.
The provider is then asked, and the batch is submitted again only if the provider does not have it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from kgbench.connectors import CallAbandoned
from kgbench.connectors.batches import Batches, BatchRequest, BatchStatus, Undecided
from kgbench.engine.session import Journal
from kgbench.errors import ContextTooLong, ProviderError, ProviderRefused, RateLimited
from kgbench.model import Reply
from kgbench.net.limits import LONGEST_WAIT as LONGEST_PAUSE
from kgbench.record.batches import Batch

FIRST_WAIT = 2.0  # seconds between two polls of a batch
LONGEST_WAIT = 60.0
_GROWTH = 1.5
_ATTEMPTS = 8  # to submit a batch
_SHORT = 3  # further downloads of results that lack some
_FAILURES = 60  # of polls in a row, which take about an hour

_T = TypeVar("_T")


class BatchesRefused(Exception):
    """The provider accepts no batches or no longer serves them; ``reason`` is its message."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class BatchNotCreated(BatchesRefused):
    """The provider rejected the batch before creating it."""


class BatchClient:
    """A client for the batches of one model; ``scale`` multiplies its waits.

    All methods raise :class:`BatchesRefused` for failures that no retry cures, and
    :class:`~kgbench.connectors.CallAbandoned` once ``giving_up`` is set, but never during
    a submission.
    """

    def __init__(
        self, provider: Batches, journal: Journal, giving_up: asyncio.Event, scale: float
    ) -> None:
        self._provider = provider
        self._journal = journal
        self.giving_up = giving_up
        self._scale = scale

    async def submitted(
        self, batch: Batch, requests: Sequence[BatchRequest], others: Collection[str]
    ) -> Batch | None:
        """Submit ``batch`` and return it with its id.

        Returns ``None`` if the run is given up before the provider has the batch. ``others`` are
        the ids of other known batches.
        """
        for attempt in range(_ATTEMPTS):
            if self.giving_up.is_set():  # since the intention was recorded
                return None
            try:
                batch = replace(batch, id=await self._provider.submit(batch.token, requests))
            except (ProviderRefused, ContextTooLong) as error:
                raise BatchNotCreated(f"{type(error).__name__}: {error}") from None
            except ProviderError as error:
                self._journal.note("batch-failure", iri=batch.iri, error=str(error))
                if not isinstance(error, RateLimited):
                    known = await self.find(batch, others)
                    if known is not None:
                        return known
                last = error
                with suppress(CallAbandoned):
                    await self._back_off(attempt, error)
            else:
                self._journal.note("batch", iri=batch.iri, batch=batch.id, requests=len(requests))
                return batch
        raise BatchNotCreated(f"{type(last).__name__}: {last}")

    async def find(self, batch: Batch, others: Collection[str]) -> Batch | None:
        """Return ``batch`` with its id if the provider has it and the id is not in ``others``."""
        polls = 0
        while True:
            try:
                batch_id = await self._retry(
                    lambda: self._provider.find(batch.token, batch.requests, batch.started, others)
                )
            except Undecided:
                polls += 1
                await self._back_off(polls, None)
                continue
            self._journal.note("batch-sought", iri=batch.iri, batch=batch_id)
            return None if batch_id is None else replace(batch, id=batch_id)

    async def ended(self, batch: Batch) -> BatchStatus:
        """Poll ``batch`` until it has ended and names its results, and return its final status.

        If it does not name them within about an hour, the batch is left to the next session.
        """
        assert batch.id is not None
        batch_id = batch.id
        polls, late, before = 0, 0, ""
        while True:
            status = await self._retry(lambda: self._provider.status(batch_id))
            state = f"{status.state} {status.finished}"
            if state != before:
                polls, before = min(polls, 1), state
                self._journal.note(
                    "batch-state", batch=batch_id, state=status.state, done=status.finished
                )
            if status.missing is not None:
                return status
            late += status.is_late
            if late >= _FAILURES:
                raise BatchesRefused(
                    f"the batch {batch_id} is {status.state}, but does not name its results: "
                    f"repeat the command later to collect them"
                )
            polls += 1
            await self._back_off(polls, None)

    async def results(self, batch: Batch, status: BatchStatus) -> dict[str, Reply | ProviderError]:
        """Return the results of the batch by name.

        If results are missing that the provider counts as finished, they are fetched again a few
        times, because another request for them would be charged.
        """
        assert batch.id is not None
        batch_id, found = batch.id, dict[str, Reply | ProviderError]()

        async def fetch() -> None:
            async for result in self._provider.results(batch_id, status):
                found.setdefault(result.name, result.outcome)

        for short in range(_SHORT + 1):
            await self._retry(fetch)
            if len(found) >= status.finished:
                break
            self._journal.note("batch-short", batch=batch_id, results=len(found))
            if short < _SHORT:
                await self._back_off(short, None)
        return found

    async def pause(self, seconds: float) -> None:
        """Wait for ``seconds``, or until the run is given up."""
        try:
            await asyncio.wait_for(self.giving_up.wait(), seconds)
        except TimeoutError:
            return

    async def _retry(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat ``call`` until it succeeds, and return its result."""
        failures = 0
        while True:
            try:
                return await call()
            except ProviderRefused as error:
                raise BatchesRefused(f"{type(error).__name__}: {error}") from None
            except ProviderError as error:
                self._journal.note("batch-failure", error=str(error))
                failures += 1
                if failures >= _FAILURES:
                    raise BatchesRefused(f"{type(error).__name__}: {error}") from None
                await self._back_off(failures, error)

    async def _back_off(self, attempt: int, error: ProviderError | None) -> None:
        seconds = self._scale * min(LONGEST_WAIT, FIRST_WAIT * _GROWTH**attempt)
        if isinstance(error, RateLimited) and error.retry_after is not None:
            seconds = min(LONGEST_PAUSE, error.retry_after)
        await self.pause(seconds)
        if self.giving_up.is_set():
            raise CallAbandoned
