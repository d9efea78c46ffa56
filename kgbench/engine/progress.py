# SPDX-License-Identifier: Apache-2.0
"""Where a run stands while it is under way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Wait:
    """A failed call that is made again later.

    ``why`` names what happened and the host (``429 from 127.0.0.1:4111``), ``until`` is a time of
    :func:`time.monotonic`.
    """

    why: str
    until: float

    @property
    def seconds_left(self) -> float:
        """Seconds until the next attempt, 0 where its time has come."""
        return max(0.0, self.until - time.monotonic())

    def __str__(self) -> str:
        return f"waiting: {self.why}, next attempt in {math.ceil(self.seconds_left)} s"


@dataclass(slots=True)
class Progress:
    """Counts of a session; ``before`` were complete when it began.

    ``left_open`` failed in an earlier session and are not asked again, as was wished. ``awaited``
    answers are under way in batches. ``recovered`` answers had been received by an earlier session,
    and were not asked for again; ``kept`` ones, in the write-ahead log, belong to no dialogue that
    this session has held. Tokens and ``cost`` (USD) are this session's; ``unpriced`` names the
    models that it leaves out. ``waits`` has the last wait of each model, by its label, which may be
    over. ``passed_over`` says which imported cases are not asked, ``tool_protocols`` which models
    (labels) are offered tools by which protocol.
    """

    run: str
    planned: int
    before: int = 0
    complete: int = 0
    failed: int = 0
    left_open: int = 0
    calls: int = 0
    awaited: int = 0
    recovered: int = 0
    kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    stopped_models: dict[str, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    tool_protocols: dict[str, list[str]] = field(default_factory=dict)
    interrupted: bool = False
    limit: str | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def finished(self) -> bool:
        """Whether every planned dialogue is complete."""
        return self.before + self.complete == self.planned

    @property
    def rate(self) -> float:
        """Dialogues per second in this session, those that failed included."""
        return (self.complete + self.failed) / max(time.monotonic() - self.began, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this rate; ``None`` before there is one."""
        left = self.planned - self.before - self.complete - self.failed - self.left_open
        return left / self.rate if self.rate > 0 else None

    @property
    def waiting(self) -> Wait | None:
        """Of the waits that are not over, the one that ends last."""
        waits = [wait for wait in self.waits.values() if wait.seconds_left > 0]
        return max(waits, key=lambda wait: wait.until, default=None)


Watch = Callable[[Progress], None]
