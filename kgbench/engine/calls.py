# SPDX-License-Identifier: Apache-2.0
"""Getting one answer: a place in the pace, a deadline, retries, and what to record of a failure."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from kgbench.connectors.calls import Caller
from kgbench.engine.journal import Journal
from kgbench.engine.pacing import GivenUp, Pace
from kgbench.engine.progress import Wait
from kgbench.engine.replies import Replies
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Call, Outcome, Reply, Request
from kgbench.net.limits import LONGEST_WAIT as LONGEST_PAUSE
from kgbench.net.receiving import given

FIRST_WAIT = 1.0  # seconds
LONGEST_WAIT = 60.0
CHARACTERS_PER_TOKEN = 4  # of English text, about; only ever used for estimates
PASSES = 8  # of the event loop, in which a reply that has arrived is read and safe
_SPARE = 100  # repetitions beyond one for each call
_REFUSALS_PER_RETRY = 4  # a refusal for the pace costs nothing, so it may come more often


class Connector(Protocol):
    """An open connection to a model."""

    async def ask(self, request: Request) -> Reply:
        """The model's reply; raises :class:`~kgbench.errors.ProviderError`."""
        ...


class Channel(Protocol):
    """By which a dialogue gets its answers: call by call, or in batches."""

    async def call(self, request: Request, dialogue: str) -> Call:
        """Ask until there is a reply or patience ends; never raises for what a provider does.

        Raises :class:`~kgbench.engine.pacing.GivenUp` when the run stops before there is either.
        """
        ...

    async def arrived(self, request: Request, dialogue: str) -> Call | None:
        """The call that an earlier session made, where its response arrived and was not read."""
        ...


class Patience:
    """How often and when calls to one model are repeated.

    Each call may be repeated ``max_retries`` times after failures, and four times as often where a
    provider only asked for fewer calls. All calls together may be repeated as often as there were
    calls, and a hundred times more: where a provider is down, that ends the knocking.
    ``scale`` shortens the waits in tests.
    """

    def __init__(self, max_retries: int, scale: float) -> None:
        self._max_retries = max_retries
        self._scale = scale
        self._left = _SPARE

    def begun(self) -> None:
        """A call was made for the first time."""
        self._left += 1

    def wait(self, failures: int, refusals: int, error: ProviderError) -> float | None:
        """Seconds until the call is repeated, or ``None`` when it shall not be.

        ``failures`` and ``refusals`` (for the pace) are how many it has had, this one included.
        """
        if isinstance(error, ProviderRefused | ContextTooLong):
            return None
        if failures > self._max_retries or refusals > self._max_retries * _REFUSALS_PER_RETRY:
            return None
        if isinstance(error, RateLimited) and error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_PAUSE else None
        if self._left <= 0:
            return None
        self._left -= 1
        if error.again_after is not None:
            return self._scale * error.again_after
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures + refusals - 1))
        return self._scale * longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it


class Line:
    """The line to one model: whoever has it asks at the model's pace, with its patience.

    ``deadline`` is in seconds, for each attempt. Once ``stopping`` is set no call is repeated.
    What is answered goes to ``replies`` before anything else is done with it. ``waiting`` hears of
    each wait for another attempt when it begins.
    """

    def __init__(
        self,
        connector: Connector,
        pace: Pace,
        patience: Patience,
        *,
        deadline: float,
        journal: Journal,
        stopping: asyncio.Event,
        replies: Replies | None = None,
        waiting: Callable[[Wait], None] = lambda _: None,
    ) -> None:
        self.pace = pace
        self._connector = connector
        self._patience = patience
        self._deadline = deadline
        self._journal = journal
        self._stopping = stopping
        self._replies = replies or Replies()
        self._waiting = waiting
        self._caller: Caller | None = getattr(connector, "caller", None)
        self._secret = next(iter(self._caller.secrets), "") if self._caller is not None else ""

    async def arrived(self, request: Request, dialogue: str) -> Call | None:
        """See :class:`Channel`."""
        found = self._replies.arrived(request, dialogue)
        if found is None:
            return None
        logged, response = found
        with given(response):
            try:
                reply = await self._connector.ask(request)
            except ProviderError:  # it was no answer, and the model is asked again
                return None
        made = Call(logged.started, logged.ended, reply, retries=logged.retries)
        self._replies.received(made, request, dialogue)
        return made

    async def call(self, request: Request, dialogue: str) -> Call:
        """Ask until there is a reply or patience ends; never raises for what a provider does.

        The returned call spans all attempts. Raises :class:`~kgbench.engine.pacing.GivenUp` when
        the run stops before the first attempt has begun.
        """
        tokens = sum(map(len, request.messages)) // CHARACTERS_PER_TOKEN + 1
        others = await self.pace.enter(tokens)
        self._patience.begun()
        started = datetime.now(UTC)
        about = {"dialogue": dialogue, "round": len(request.messages) // 2}
        failures = refusals = 0
        while True:
            self._journal.note(
                "request",
                **about,
                attempt=failures + refusals,
                characters=sum(map(len, request.messages)),
                under_way=self.pace.under_way,
                limit=self.pace.limit,
            )
            retries = failures + refusals
            logged = self._replies.exchange(request, dialogue, started, retries, self._secret)
            with logged as exchange:
                got = await self._attempt(request, tokens, others)
            ended = datetime.now(UTC)
            if isinstance(got, Reply):
                made = Call(started, ended, got, retries=failures + refusals)
                self._replies.received(made, request, dialogue, exchange)
                await asyncio.sleep(0)  # other replies that have arrived are made safe first
                seconds = round((ended - started).total_seconds(), 6)
                self._journal.reply(got, **about, seconds=seconds)
                return made
            self._replies.dropped(exchange)
            refusals += isinstance(got, RateLimited)
            failures += not isinstance(got, RateLimited)
            wait = self._patience.wait(failures, refusals, got)
            self._journal.note(
                "failure",
                **about,
                error=f"{type(got).__name__}: {got}",
                wait=wait,
                limit=self.pace.limit,
            )
            if wait is not None:
                self._waiting(Wait(self._why(got), time.monotonic() + wait))
            place = None if wait is None else await self._again(tokens, wait, got)
            if place is None:
                return Call(
                    started,
                    ended,
                    failure=outcome(got),
                    error=f"{type(got).__name__}: {got}",
                    retries=failures + refusals - 1,
                )
            others = place

    async def _attempt(self, request: Request, tokens: int, others: int) -> Reply | ProviderError:
        """One attempt, made in a place of the pace, which is free again when it returns."""
        try:
            async with asyncio.timeout(self._deadline):
                reply = await self._connector.ask(request)
        except TimeoutError:
            self.pace.failed()
            return ProviderTimeout(f"no answer within {self._deadline:g} seconds")
        except RateLimited as error:
            self.pace.refused(error, others)
            return error
        except ProviderError as error:
            self.pace.failed()
            return error
        except BaseException:
            self.pace.failed()
            raise
        used = reply.usage
        known = None if used.input is None else used.input + (used.output or 0)
        self.pace.answered(tokens, known)
        return reply

    def _why(self, error: ProviderError) -> str:
        """What a failed attempt met, and at which host."""
        host = (self._caller.host if self._caller is not None else "") or "the model"
        if error.status is not None:
            return f"{error.status} from {host}"
        late = isinstance(error, ProviderTimeout)
        return f"no answer in time from {host}" if late else f"no usable answer from {host}"

    async def _again(self, tokens: int, wait: float, error: ProviderError) -> int | None:
        """A place for another attempt, after ``wait``; ``None`` when the run stops meanwhile."""
        if self._stopping.is_set():
            return None
        try:
            if not isinstance(error, RateLimited) or error.retry_after is None:
                if isinstance(error, RateLimited) and not self.pace.under_way:
                    self.pace.pause(wait)  # nothing else is under way: too much even so
                elif await self._stopped_within(wait):
                    return None
            return await self.pace.enter(tokens, first=True)
        except GivenUp:
            return None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True


def outcome(error: ProviderError) -> Outcome:
    """What a failed call is recorded as."""
    if isinstance(error, ContextTooLong):
        return Outcome.CONTEXT_TOO_LONG
    return Outcome.TIMEOUT if isinstance(error, ProviderTimeout) else Outcome.PROVIDER_ERROR
