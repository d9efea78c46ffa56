# SPDX-License-Identifier: Apache-2.0
"""Batches that servers with a batch interface share; each poll brings a batch closer to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers import scripts
from tests.support.servers.loopback import Answerer, Response, Speech, echo
from tests.support.servers.scripts import Behaviour, Entry, Script

LOOKS = 2  # polls before a batch ends


@dataclass(slots=True)
class Asked:
    """One request in a batch, with its response. ``done``: the batch processed it."""

    name: str
    body: Any
    response: Response
    entry: Entry
    done: bool = True


@dataclass(slots=True)
class Batch:
    """A batch at the server; after a few polls it ends with the status ``ending``."""

    id: str
    asked: list[Asked]
    ending: str
    metadata: Any = None
    made: float = field(default_factory=time.time)
    looks: int = 0
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        """Whether no further request of the batch will be processed."""
        return self.looks > LOOKS or self.cancelled

    @property
    def state(self) -> str:
        """The final status of the batch."""
        return "cancelled" if self.cancelled and self.looks <= LOOKS else self.ending


class BatchDesk:
    """The batches of a server. ``each`` is the script for the single requests in them.

    ``ending`` maps the number of a batch to its final status: ``completed``, or ``expired`` or
    ``cancelled`` after the first half of its requests, or ``failed`` before any.
    """

    def __init__(
        self,
        speech: Speech,
        *,
        each: Script | None = None,
        answer: Answerer = echo,
        ending: Callable[[int], str] = lambda _: "completed",
    ) -> None:
        self.batches: list[Batch] = []
        self._speech = speech
        self._each = each or scripts.always()
        self._answer = answer
        self._ending = ending
        self._number = 0

    @property
    def ledger(self) -> list[Asked]:
        """All requests that were answered and are therefore charged."""
        every = [asked for batch in self.batches for asked in batch.asked]
        return [asked for asked in every if asked.done and asked.response.answer is not None]

    def find(self, number: str) -> Batch | None:
        """Return the batch with this id."""
        return next((batch for batch in self.batches if batch.id == number), None)

    def made(
        self, requests: list[tuple[str, Any]], path: str, entry: Entry, metadata: Any = None
    ) -> Batch:
        """Create a batch of ``requests`` (name and body) that arrived with ``entry``."""
        number = len(self.batches)
        asked = [self._asked(name, body, path, entry) for name, body in requests]
        batch = Batch(f"batch_{number:04d}", asked, self._ending(number), metadata)
        if batch.ending != "completed":
            keep = 0 if batch.ending == "failed" else len(asked) // 2
            for one in asked[keep:]:
                one.done = False
        self.batches.append(batch)
        return batch

    def _asked(self, name: str, body: Any, path: str, made: Entry) -> Asked:
        entry = Entry(self._number, path, "", body, time.time(), 1, made.headers)
        entry.request_id = f"req_in_batch_{self._number:06d}"
        self._number += 1
        behaviour: Behaviour = self._each(entry)
        entry.kind = behaviour.kind
        answer = self._answer(self._speech.prompt(body))
        return Asked(name, body, self._speech.respond(entry, behaviour, answer), entry)
