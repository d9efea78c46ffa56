# SPDX-License-Identifier: Apache-2.0
"""Calls <-> JSON: what a write-ahead log holds of a reply until its turn is in the store.

Everything that a turn records of its call is there, and nothing else: no request, no header. What
arrived before a session was killed, and was not read, is there as it arrived.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kgbench.model import Call, Json, Outcome, Reply, Usage
from kgbench.net.arrivals import Logged
from kgbench.rdf import canonical_json


class Received(NamedTuple):
    """A call that was answered: in which turn (IRI) of which run (id), and to what.

    ``asked`` is the digest of the request, by which a reply to other words is told.
    """

    run: str
    turn: str
    asked: str
    call: Call


class Arrived(NamedTuple):
    """A response that arrived and was not read; the fields are those of :class:`Received`."""

    run: str
    turn: str
    asked: str
    started: datetime
    retries: int
    response: Logged

    @property
    def ended(self) -> datetime:
        """When the last of it came."""
        return datetime.fromtimestamp(self.response.ended, UTC)

    def written(self) -> bytes:
        """All of it as one line of JSON, without its end."""
        return canonical_json({"arrived": self.response.json()}).encode("ascii")


def about(run: str, turn: str, asked: str, started: datetime, retries: int) -> dict[str, Json]:
    """What a response belongs to, for :func:`arrived`; the fields of :class:`Arrived`."""
    return {
        "run": run,
        "turn": turn,
        "asked": asked,
        "started": started.isoformat(),
        "retries": retries,
    }


def arrived(logged: Logged) -> Arrived:
    """What a response that was logged under :func:`about` belongs to."""
    said = logged.about
    started = datetime.fromisoformat(said["started"])
    return Arrived(said["run"], said["turn"], said["asked"], started, said["retries"], logged)


def written(received: Received) -> bytes:
    """``received`` as one line of JSON, without its end."""
    call, reply = received.call, received.call.reply
    assert reply is not None
    outcome = None if reply.outcome is None else str(reply.outcome)
    answered = {name: getattr(reply, name) for name in Reply.__slots__}
    usage = {name: getattr(reply.usage, name) for name in Usage.__slots__}
    return canonical_json(
        {
            "run": received.run,
            "turn": received.turn,
            "asked": received.asked,
            "started": call.started.isoformat(),
            "ended": call.ended.isoformat(),
            "retries": call.retries,
            "batch": call.batch,
            "reply": {**answered, "usage": usage, "outcome": outcome},
        }
    ).encode("ascii")


def read(line: bytes) -> Received | Arrived:
    """What was written as a line; raises :class:`ValueError` for any other line."""
    try:
        said = json.loads(line)
        if "arrived" in said:
            return arrived(Logged.of_json(said["arrived"]))
        call = Call(
            datetime.fromisoformat(said["started"]),
            datetime.fromisoformat(said["ended"]),
            _reply(said["reply"]),
            retries=said["retries"],
            batch=said["batch"],
        )
        return Received(said["run"], said["turn"], said["asked"], call)
    except (KeyError, TypeError) as error:
        raise ValueError(f"a line of the write-ahead log lacks {error}") from None


def _reply(said: dict[str, Any]) -> Reply:
    outcome = None if said["outcome"] is None else Outcome(said["outcome"])
    # A log of an earlier version lacks the fields that came later.
    return Reply(**{**said, "usage": Usage(**said["usage"]), "outcome": outcome})
