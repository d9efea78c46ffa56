# SPDX-License-Identifier: Apache-2.0
"""What the caller of a run sets, sees and can stop: its settings, its log, its progress, a signal.

Every line of the log has ``time`` (UTC) and ``event``; events of a dialogue have its IRI. Texts of
prompts and answers are not logged: a line has their length, and the IRI leads to them in the store.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from kgbench import clock
from kgbench.connectors import keys
from kgbench.errors import StoreError, WriteFailed
from kgbench.model import Reply
from kgbench.record.reading import RunInfo
from kgbench.secrets import scrub, secrets_in_environment

Say = Callable[[str], None]


class Journal:
    """A log of events; without a ``path`` and ``say`` it does nothing.

    JSON lines are appended to ``path`` as events happen; ``say`` is called with readable lines.
    Raises :class:`~kgbench.errors.StoreError` when the file cannot be opened, and
    :class:`~kgbench.errors.WriteFailed` when a later write fails.
    """

    def __init__(self, path: Path | None = None, say: Say | None = None) -> None:
        self._say = say
        self._path = path
        self._file: BinaryIO | None = None
        self._secrets = secrets_in_environment()
        if path is not None:
            try:
                # Unbuffered: a write that fails raises here, not in close().
                self._file = path.open("ab", buffering=0)
            except OSError as error:
                raise StoreError(f"the log {path} cannot be written: {error.strerror}") from None
        self.silent = path is None and say is None

    def note(self, event: str, **facts: Any) -> None:
        """Log ``event`` with ``facts``, which are JSON values; values of ``None`` are left out."""
        if self.silent:
            return
        clean = {k: self._clean(v) for k, v in facts.items() if v is not None}
        now = clock.now()
        if self._file is not None:
            line = {"time": now.isoformat(), "event": event, **clean}
            self._write(json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
        if self._say is not None:
            words = " ".join(f"{name}={value}" for name, value in clean.items())
            self._say(f"{now:%H:%M:%S} {event} {words}")

    def reply(self, reply: Reply, **fields: Any) -> None:
        """Log a reply without its text; ``fields`` name the dialogue and round."""
        self.note(
            "reply",
            **fields,
            characters=len(reply.text),
            inputTokens=reply.usage.input,
            outputTokens=reply.usage.output,
            finishReason=reply.finish_reason,
            requestId=reply.request_id,
            answeringModel=reply.model,
            outcome=reply.outcome,
        )

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.silent = True

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            message = f"the log {self._path} cannot be written: {error.strerror}"
            raise WriteFailed(message) from error

    def _clean(self, value: Any) -> Any:
        return scrub(value, self._secrets | keys.keys_in_use()) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run on this machine; only ``endpoint`` can change a score.

    ``retry_errors``: repeat dialogues that failed in earlier sessions, unless it is false; if it
    is true, also those that ended because the conversation was too long, which are invalidated.
    ``redo_invalidated``: repeat dialogues that have been invalidated. ``reuse_answers``: take
    answers to identical requests from other runs in the store. ``abandon_batches``: cancel open
    batches of earlier sessions. ``endpoint`` executes the queries about cases whose graph only an
    endpoint has. ``limit``: begin at most so many dialogues with each model. ``preflight``, if
    given, enables a first call to each model, and is called with a line about each. ``executor``
    runs the judges; it is shut down with the session, even if the caller passed an instance.
    ``start_tool_servers``: start the commands that models name as MCP servers. ``tell`` is called
    with readable lines about the tool protocols of the models and the reply log. ``fsync``: sync
    each reply to disk, not only to the operating system's cache.
    """

    run: RunInfo | None = None
    engine: str = "oxigraph"
    executor: str | Executor = "local"
    preflight: Callable[[str], None] | None = None
    start_tool_servers: bool = False
    fsync: bool = False
    patience_scale: float = 1.0
    retry_errors: bool | None = None
    redo_invalidated: bool = False
    reuse_answers: bool = False
    abandon_batches: bool = False
    endpoint: str | None = None
    limit: int | None = None
    tell: Callable[[str], None] = lambda _: None
    journal: Journal = field(default_factory=Journal)


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait before the retry of a failed call.

    ``reason`` is the failure and the host (``429 from 127.0.0.1:4111``), ``until`` a time of
    :func:`time.monotonic`.
    """

    reason: str
    until: float

    @property
    def seconds_left(self) -> float:
        """Seconds until the next attempt, at least 0."""
        return max(0.0, self.until - time.monotonic())

    def __str__(self) -> str:
        return f"waiting: {self.reason}, next attempt in {math.ceil(self.seconds_left)} s"


@dataclass(slots=True)
class Progress:
    """The counts of a session.

    ``before`` dialogues were complete when it began; of these, ``invalidated`` ones do not count
    and are not run again, as requested. ``left_open`` ones failed in an earlier session and are not
    retried, as requested. ``awaited`` answers are under way in batches. ``requests`` are the
    attempts of calls that were not made in batches, ``timeouts`` those without an answer in time.
    ``recovered`` answers had been received by an earlier session and were not requested again;
    ``unclaimed`` ones stay in the reply log: of other dialogues, or not parsable. Tokens
    and ``cost`` (USD) are this session's; ``unpriced`` names the models without a price. ``waits``
    has the last wait of each model by label, even if it is over. ``passed_over`` lists the
    imported cases that are left out, ``tool_protocols`` the models (labels) by tool protocol.
    ``restarts`` says of local models (labels) why their engine was started again.
    """

    run: str
    planned: int
    before: int = 0
    invalidated: int = 0
    complete: int = 0
    failed: int = 0
    left_open: int = 0
    calls: int = 0
    requests: int = 0
    timeouts: int = 0
    awaited: int = 0
    recovered: int = 0
    unclaimed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    stopped_models: dict[str, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    tool_protocols: dict[str, list[str]] = field(default_factory=dict)
    restarts: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    limit: str | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def valid(self) -> int:
        """The number of complete dialogues whose results count."""
        return self.before + self.complete - self.invalidated

    @property
    def finished(self) -> bool:
        """Whether every planned dialogue is complete; it may have been invalidated since."""
        return self.before + self.complete == self.planned

    @property
    def rate(self) -> float:
        """Dialogues per second in this session, failed ones included."""
        return (self.complete + self.failed) / max(time.monotonic() - self.began, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds for the remaining dialogues; ``None`` before the first has ended."""
        remaining = self.planned - self.before - self.complete - self.failed - self.left_open
        return remaining / self.rate if self.rate > 0 else None

    @property
    def waiting(self) -> Wait | None:
        """The current wait that ends last, or ``None``."""
        waits = [wait for wait in self.waits.values() if wait.seconds_left > 0]
        return max(waits, key=lambda wait: wait.until, default=None)


Watch = Callable[[Progress], None]


class StopSignal:
    """A request to stop a run.

    After the first request no dialogue is begun; a second one cancels the dialogues in flight.
    ``reason`` is set when a limit stopped the run, not a person. ``failure`` is an error that
    prevents the run from going on: no call is begun, and only calls in flight are awaited.
    """

    def __init__(self) -> None:
        self.requested = False
        self.reason: str | None = None
        self.failure: BaseException | None = None
        self.event = asyncio.Event()
        self._tasks: Sequence[asyncio.Task[None]] = ()
        self._on_request: Callable[[], None] = lambda: None

    def request(self) -> None:
        """Request a stop, as Ctrl-C does; a second request cancels the tasks."""
        if self.requested and self.reason is None:
            for task in self._tasks:
                task.cancel()
        self.reason = None
        self._begin()

    def limit_reached(self, reason: str) -> None:
        """Stop the run because a limit is reached; ``reason`` names it."""
        if not self.requested:
            self.reason = reason
            self._begin()

    def fail(self, failure: BaseException) -> None:
        """Stop the run because of an error; only the first error is kept."""
        if self.failure is None:
            self.failure, self.reason = failure, None
            self._begin()

    def watch(self, tasks: Sequence[asyncio.Task[None]], on_request: Callable[[], None]) -> None:
        """Set the tasks to cancel at a second request, and a function to call at the first."""
        self._tasks, self._on_request = tasks, on_request

    async def or_else(self, event: Awaitable[object]) -> None:
        """Wait for ``event`` or for a request to stop, whichever comes first."""
        waiting = [asyncio.ensure_future(each) for each in (self.event.wait(), event)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _begin(self) -> None:
        self.requested = True
        self.event.set()
        self._on_request()
