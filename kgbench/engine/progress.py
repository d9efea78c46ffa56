# SPDX-License-Identifier: Apache-2.0
"""The progress of a session: counts, waits and the time left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal


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
