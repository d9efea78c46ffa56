# SPDX-License-Identifier: Apache-2.0
"""Dealing with a provider about batches for as long as it takes: patient, and never in doubt.

Whether a batch was handed in may be unclear when the connection fails. Then the provider is asked,
and only when it surely has no batch of ours is it handed in again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from kgbench.connectors.batches import Asked, Batches, Result, Standing, Undecided
from kgbench.engine.journal import Journal
from kgbench.engine.pacing import GivenUp
from kgbench.errors import ContextTooLong, ProviderError, ProviderRefused, RateLimited
from kgbench.net.limits import LONGEST_WAIT as LONGEST_PAUSE
from kgbench.record.batches import Batch

FIRST_WAIT = 2.0  # seconds between two looks at a batch
LONGEST_WAIT = 60.0
_GROWTH = 1.5
_ATTEMPTS = 8  # to hand a batch in
_FAILURES = 60  # of looks at a batch, one after the other: about an hour of them

_T = TypeVar("_T")


class Stopped(Exception):
    """The provider refuses to deal with batches; ``why`` says so in its words."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class NotMade(Stopped):
    """... and surely has no batch of it."""


class Following:
    """One model's provider; ``scale`` shortens the waits in tests.

    All methods raise :class:`Stopped` for what waiting does not cure, and
    :class:`~kgbench.engine.pacing.GivenUp` once ``giving_up`` is set, but never in the middle of
    handing in.
    """

    def __init__(
        self, provider: Batches, journal: Journal, giving_up: asyncio.Event, scale: float
    ) -> None:
        self._provider = provider
        self._journal = journal
        self._giving_up = giving_up
        self._scale = scale

    async def submitted(
        self, batch: Batch, asked: Sequence[Asked], others: Collection[str]
    ) -> Batch | None:
        """Hand ``batch`` in; it with its id, or ``None`` when that was given up in time.

        ``others`` are the ids of other batches.
        """
        for attempt in range(_ATTEMPTS):
            try:
                batch = replace(batch, id=await self._provider.submit(batch.token, asked))
            except (ProviderRefused, ContextTooLong) as error:
                raise NotMade(f"{type(error).__name__}: {error}") from None
            except ProviderError as error:
                self._journal.note("batch-failure", iri=batch.iri, error=str(error))
                if not isinstance(error, RateLimited):
                    known = await self.found(batch, others)
                    if known is not None:
                        return known
                last = error
                with suppress(GivenUp):
                    await self._wait(attempt, error)
                if self._giving_up.is_set():
                    return None
            else:
                self._journal.note("batch", iri=batch.iri, batch=batch.id, requests=len(asked))
                return batch
        raise NotMade(f"{type(last).__name__}: {last}")

    async def found(self, batch: Batch, others: Collection[str]) -> Batch | None:
        """``batch`` with its id, if the provider has it and it is none of ``others``."""
        looks = 0
        while True:
            try:
                made = await self._trying(
                    lambda: self._provider.find(batch.token, batch.requests, batch.started, others)
                )
            except Undecided:
                looks += 1
                await self._wait(looks, None)
                continue
            self._journal.note("batch-sought", iri=batch.iri, batch=made)
            return None if made is None else replace(batch, id=made)

    async def ended(self, batch: Batch) -> Standing:
        """How the batch has ended, once it has."""
        assert batch.id is not None
        number = batch.id
        looks, before = 0, ""
        while True:
            standing = await self._trying(lambda: self._provider.standing(number))
            said = f"{standing.state} {standing.done}"
            if said != before:
                looks, before = min(looks, 1), said
                self._journal.note(
                    "batch-state", batch=number, state=standing.state, done=standing.done
                )
            if standing.missing is not None:
                return standing
            looks += 1
            await self._wait(looks, None)

    async def results(self, batch: Batch, standing: Standing) -> AsyncIterator[Result]:
        """All results of the batch, each once, however often fetching them has to begin anew."""
        assert batch.id is not None
        seen: set[str] = set()
        failures = 0
        while True:
            try:
                async for result in self._provider.results(batch.id, standing):
                    if result.name not in seen:
                        seen.add(result.name)
                        failures = 0
                        yield result
            except ProviderRefused as error:
                raise Stopped(f"{type(error).__name__}: {error}") from None
            except ProviderError as error:
                self._journal.note("batch-failure", batch=batch.id, error=str(error))
                failures += 1
                await self._after(failures, error)
            else:
                return

    async def pause(self, seconds: float) -> None:
        """Wait, or until the run is given up."""
        try:
            await asyncio.wait_for(self._giving_up.wait(), seconds)
        except TimeoutError:
            return

    async def _trying(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """What ``call`` gives, in the end."""
        failures = 0
        while True:
            try:
                return await call()
            except ProviderRefused as error:
                raise Stopped(f"{type(error).__name__}: {error}") from None
            except ProviderError as error:
                self._journal.note("batch-failure", error=str(error))
                failures += 1
                await self._after(failures, error)

    async def _after(self, failures: int, error: ProviderError) -> None:
        """Wait after so many failures, one after the other; too many are the end."""
        if failures >= _FAILURES:
            raise Stopped(f"{type(error).__name__}: {error}")
        await self._wait(failures, error)

    async def _wait(self, looks: int, error: ProviderError | None) -> None:
        seconds = self._scale * min(LONGEST_WAIT, FIRST_WAIT * _GROWTH**looks)
        if isinstance(error, RateLimited) and error.retry_after is not None:
            seconds = min(LONGEST_PAUSE, error.retry_after)
        await self.pause(seconds)
        if self._giving_up.is_set():
            raise GivenUp
