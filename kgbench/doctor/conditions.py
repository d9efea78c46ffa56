# SPDX-License-Identifier: Apache-2.0
"""The condition of an examined thing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from kgbench.model import Json


class State(StrEnum):
    """The state of a thing; only something that is present but does not work is broken."""

    OK = "ok"
    ABSENT = "absent"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a thing in a part of kgbench, with words, advice, and ``facts`` as JSON."""

    part: str
    name: str
    state: State
    words: str
    advice: str | None = None
    facts: dict[str, Json] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """Return the condition as JSON-shaped data."""
        return asdict(self)
