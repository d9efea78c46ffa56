# SPDX-License-Identifier: Apache-2.0
"""What servers with a batch interface share: batches that get on a step with each look at them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.servers import scripts
from tests.servers.loopback import Answerer, Response, Speech, echo
from tests.servers.scripts import Behaviour, Entry, Script

LOOKS = 2  # at a batch before it ends


@dataclass(slots=True)
class Asked:
    """One request in a batch, and what became of it. ``done``: the batch got to it."""

    name: str
    body: Any
    response: Response
    entry: Entry
    done: bool = True


@dataclass(slots=True)
class Batch:
    """A batch at the server; it ends as ``ending`` says after some looks."""

    id: str
    asked: list[Asked]
    ending: str
    metadata: Any = None
    made: float = field(default_factory=time.time)
    looks: int = 0
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will be done."""
        return self.looks > LOOKS or self.cancelled

    @property
    def state(self) -> str:
        """The ending, once it has come."""
        return "cancelled" if self.cancelled and self.looks <= LOOKS else self.ending


class BatchDesk:
    """The batches of a server. ``each`` says how single requests in them are treated.

    ``ending`` says how the batch with a number ends: ``completed``, or ``expired`` or ``cancelled``
    after the first half of its requests, or ``failed`` before any.
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
        """All requests that were answered, and so are charged."""
        every = [asked for batch in self.batches for asked in batch.asked]
        return [asked for asked in every if asked.done and asked.response.answer is not None]

    def find(self, number: str) -> Batch | None:
        """The batch with this id."""
        return next((batch for batch in self.batches if batch.id == number), None)

    def made(
        self, requests: list[tuple[str, Any]], path: str, entry: Entry, metadata: Any = None
    ) -> Batch:
        """A new batch of requests, by name and body, that came with ``entry``."""
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
