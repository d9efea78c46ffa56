# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of one thing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from kgbench.model import Json


class State(StrEnum):
    """How a thing is. Only what is there and does not work is broken."""

    OK = "ok"
    ABSENT = "absent"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Condition:
    """A thing in a part of kgbench, its state in words, and what to do; ``facts`` are JSON."""

    part: str
    name: str
    state: State
    words: str
    advice: str | None = None
    facts: dict[str, Json] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """Return the condition as JSON-shaped data."""
        return asdict(self)
