# SPDX-License-Identifier: Apache-2.0
"""Where a run stands while it is under way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(slots=True)
class Progress:
    """Counts of a session; ``before`` were complete when it began.

    ``left_open`` failed in an earlier session and are not asked again, as was wished. ``awaited``
    answers are under way in batches. Tokens and
    ``cost`` (USD) are this session's; ``unpriced`` names the models that it leaves out.
    """

    run: str
    planned: int
    before: int = 0
    complete: int = 0
    failed: int = 0
    left_open: int = 0
    calls: int = 0
    awaited: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=dict)
    stopped_models: dict[str, str] = field(default_factory=dict)
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


Watch = Callable[[Progress], None]
