# SPDX-License-Identifier: Apache-2.0
"""Calls to one model: a slot of the rate limiter, a timeout, retries, and recorded failures."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol

from kgbench import clock
from kgbench.connectors import CallAbandoned, Connector
from kgbench.connectors.calls import Caller
from kgbench.engine.rate_limiter import RateLimiter
from kgbench.engine.replies import Replies
from kgbench.engine.session import Journal, Wait
from kgbench.engine.spending import CHARACTERS_PER_TOKEN
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Call, Outcome, Reply, Request
from kgbench.net.limits import LONGEST_WAIT as LONGEST_PAUSE

FIRST_WAIT = 1.0  # seconds
LONGEST_WAIT = 60.0
PASSES = 8  # iterations of the event loop that suffice to read and log an arrived reply
_SPARE = 100  # retries beyond one for each call
_MOST_LATE = 1  # retries after timeouts of a model that gives the same answer again
_MOST_UNREAD = 1  # retries after replies that cannot be parsed, for which a provider may charge
_REFUSALS_PER_RETRY = 4  # rate-limited attempts cost nothing, so more of them are allowed


class Channel(Protocol):
    """The way in which a dialogue gets its answers: by single calls, or in batches."""

    async def call(self, request: Request, dialogue: str) -> Call:
        """Ask until there is a reply or no retry is left; a provider's failure is in the call.

        Raises :class:`~kgbench.connectors.CallAbandoned` when the run stops before there is either.
        """
        ...


class RetryPolicy:
    """The retries of calls to one model: how many, and after which wait.

    Each call is retried up to ``max_retries`` times after failures, and up to four times as often
    after rate limits. All calls together are retried at most as often as there were calls, plus a
    hundred times, so that a run does not keep calling a provider that is down; rate limits for
    which the provider says how long to wait are not among them. ``scale`` multiplies the waits
    (tests shorten them). A model with ``same`` answers each time (temperature 0) is asked once more
    only after a timeout: the answer would be as late again.
    """

    def __init__(self, max_retries: int, scale: float, *, same: bool = False) -> None:
        self._max_retries = max_retries
        self._most_late = min(max_retries, _MOST_LATE) if same else max_retries
        self._scale = scale
        self._budget = _SPARE

    def count_call(self) -> None:
        """Count a call that is made for the first time."""
        self._budget += 1

    def wait(
        self, failures: int, refusals: int, error: ProviderError, unread: int = 0
    ) -> float | None:
        """Return the seconds to wait before the next attempt, or ``None`` for no retry.

        ``failures`` and ``refusals`` (rate limits) count those of this call, this one included;
        ``unread`` are the failures whose responses could not be parsed.
        """
        if isinstance(error, ProviderRefused | ContextTooLong) or unread > _MOST_UNREAD:
            return None
        most = self._most_late if isinstance(error, ProviderTimeout) else self._max_retries
        if failures > most or refusals > self._max_retries * _REFUSALS_PER_RETRY:
            return None
        if isinstance(error, RateLimited) and error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_PAUSE else None
        if self._budget <= 0:
            return None
        self._budget -= 1
        if error.again_after is not None:
            return self._scale * error.again_after
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (failures + refusals - 1))
        return self._scale * longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it


class ModelClient:
    """A client of one model that keeps its rate limits and retries failed calls.

    ``deadline`` is the timeout of each attempt, in seconds. Once ``stopping`` is set, no call is
    retried. Replies go to ``replies`` (the reply log) before anything else is done with them.
    ``waiting`` is called at the beginning of each wait for another attempt. ``requests`` counts the
    attempts, ``timeouts`` those without a response in time.
    """

    def __init__(
        self,
        connector: Connector,
        rate_limiter: RateLimiter,
        retry_policy: RetryPolicy,
        *,
        deadline: float,
        journal: Journal,
        stopping: asyncio.Event,
        replies: Replies | None = None,
        waiting: Callable[[Wait], None] = lambda _: None,
    ) -> None:
        self.rate_limiter = rate_limiter
        self._connector = connector
        self._retry_policy = retry_policy
        self._deadline = deadline
        self._journal = journal
        self._stopping = stopping
        self._replies = replies or Replies()
        self._waiting = waiting
        self.requests = self.timeouts = 0
        self._caller: Caller | None = getattr(connector, "caller", None)

    def stop(self, *, at_once: bool) -> None:
        """Begin no dialogue any more; with ``at_once``, begin no call at all."""
        self.rate_limiter.close(at_once=at_once)

    async def call(self, request: Request, dialogue: str) -> Call:
        """Ask until there is a reply or no retry is left; a provider's failure is in the call.

        The returned call spans all attempts. Raises
        :class:`~kgbench.connectors.CallAbandoned` when the run stops before the first attempt has
        begun.
        """
        tokens = sum(map(len, request.messages)) // CHARACTERS_PER_TOKEN + 1
        others = await self.rate_limiter.enter(tokens)
        if self._stopping.is_set() and len(request.messages) == 1:  # it would begin a dialogue
            self.rate_limiter.release_failed()
            raise CallAbandoned
        self._retry_policy.count_call()
        started = clock.now()
        fields = {"dialogue": dialogue, "round": len(request.messages) // 2}
        failures = refusals = unread = 0
        while True:
            self._journal.note(
                "request",
                **fields,
                attempt=failures + refusals,
                characters=sum(map(len, request.messages)),
                under_way=self.rate_limiter.under_way,
                limit=self.rate_limiter.limit,
            )
            result = await self._attempt(request, tokens, others)
            ended = clock.now()
            if isinstance(result, Reply):
                call = Call(started, ended, result, retries=failures + refusals)
                self._replies.log_call(call, request, dialogue)
                await asyncio.sleep(0)  # lets other replies that have arrived be logged first
                seconds = round((ended - started).total_seconds(), 6)
                self._journal.reply(result, **fields, seconds=seconds)
                return call
            if result.raw is not None:
                unread += 1
                self._replies.log_unread(result.raw, request, dialogue)
            refusals += isinstance(result, RateLimited)
            failures += not isinstance(result, RateLimited)
            wait = self._retry_policy.wait(failures, refusals, result, unread)
            self._journal.note(
                "failure",
                **fields,
                error=f"{type(result).__name__}: {result}",
                wait=wait,
                limit=self.rate_limiter.limit,
            )
            if wait is not None:
                self._waiting(Wait(describe_attempt(result, self._caller), time.monotonic() + wait))
            slot = None if wait is None else await self._again(tokens, wait, result)
            if slot is None:
                return Call(
                    started,
                    ended,
                    failure=outcome(result),
                    error=f"{type(result).__name__}: {result}",
                    retries=failures + refusals - 1,
                )
            others = slot

    async def _attempt(self, request: Request, tokens: int, others: int) -> Reply | ProviderError:
        """Make one attempt in a slot of the rate limiter, which is free again on return."""
        self.requests += 1
        try:
            async with asyncio.timeout(self._deadline):
                reply = await self._connector.ask(request)
        except TimeoutError:
            self.timeouts += 1
            self.rate_limiter.release_late()
            return ProviderTimeout(f"no answer within {self._deadline:g} seconds")
        except ProviderTimeout as error:
            self.timeouts += 1
            self.rate_limiter.release_late()
            return error
        except RateLimited as error:
            self.rate_limiter.release_refused(error, others)
            return error
        except ProviderError as error:
            self.rate_limiter.release_failed()
            return error
        except BaseException:
            self.rate_limiter.release_failed()
            raise
        usage = reply.usage
        known = None if usage.input is None else usage.input + (usage.output or 0)
        self.rate_limiter.release_answered(tokens, known)
        return reply

    async def _again(self, tokens: int, wait: float, error: ProviderError) -> int | None:
        """Wait for another attempt and its slot; ``None`` when the run stops meanwhile."""
        if self._stopping.is_set():
            return None
        try:
            if not isinstance(error, RateLimited) or error.retry_after is None:
                if isinstance(error, RateLimited) and not self.rate_limiter.under_way:
                    self.rate_limiter.pause(
                        wait
                    )  # refused although it was the only call: pause all calls
                elif await self._stopped_within(wait):
                    return None
            return await self.rate_limiter.enter(tokens, first=True)
        except CallAbandoned:
            return None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True


def describe_attempt(error: ProviderError, caller: Caller | None) -> str:
    """Describe a failed attempt and name its host."""
    host = (caller.host if caller is not None else "") or "the model"
    if error.status is not None:
        return f"{error.status} from {host}"
    late = isinstance(error, ProviderTimeout)
    return f"no answer in time from {host}" if late else f"no usable answer from {host}"


def outcome(error: ProviderError) -> Outcome:
    """Return the outcome as which a failed call is recorded."""
    if isinstance(error, ContextTooLong):
        return Outcome.CONTEXT_TOO_LONG
    return Outcome.TIMEOUT if isinstance(error, ProviderTimeout) else Outcome.PROVIDER_ERROR
