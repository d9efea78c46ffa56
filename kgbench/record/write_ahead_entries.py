# SPDX-License-Identifier: Apache-2.0
"""Entries of the write-ahead log, which keeps replies as JSON until their turn is stored.

An entry has everything that a turn records of its call, and nothing else: no request, no headers. A
response that arrived before the session was killed, and was not parsed, is kept as it arrived.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kgbench.model import Call, Json, Outcome, Reply, Usage
from kgbench.net.response_log import LoggedResponse
from kgbench.rdf import canonical_json


class AnsweredCall(NamedTuple):
    """An answered call, with its run (id) and turn (IRI).

    By ``request_digest`` a reply to another request is detected.
    """

    run: str
    turn: str
    request_digest: str
    call: Call


class UnparsedResponse(NamedTuple):
    """A response that arrived but was not parsed; fields as in :class:`AnsweredCall`."""

    run: str
    turn: str
    request_digest: str
    started: datetime
    retries: int
    response: LoggedResponse

    @property
    def ended(self) -> datetime:
        """When its last byte arrived."""
        return datetime.fromtimestamp(self.response.ended, UTC)

    def written(self) -> bytes:
        """Serialise it as one line of JSON, without newline."""
        return canonical_json({"arrived": self.response.json()}).encode("ascii")


def log_fields(
    run: str, turn: str, request_digest: str, started: datetime, retries: int
) -> dict[str, Json]:
    """Return the fields of :class:`UnparsedResponse` that are logged with a response."""
    return {
        "run": run,
        "turn": turn,
        "asked": request_digest,
        "started": started.isoformat(),
        "retries": retries,
    }


def unparsed_response(logged: LoggedResponse) -> UnparsedResponse:
    """Return a logged response with the fields that :func:`log_fields` gave it."""
    fields = logged.about
    started = datetime.fromisoformat(fields["started"])
    return UnparsedResponse(
        fields["run"], fields["turn"], fields["asked"], started, fields["retries"], logged
    )


def serialised(received: AnsweredCall) -> bytes:
    """Serialise ``received`` as one line of JSON, without newline."""
    call, reply = received.call, received.call.reply
    assert reply is not None
    outcome = None if reply.outcome is None else str(reply.outcome)
    answered = {name: getattr(reply, name) for name in Reply.__slots__}
    usage = {name: getattr(reply.usage, name) for name in Usage.__slots__}
    return canonical_json(
        {
            "run": received.run,
            "turn": received.turn,
            "asked": received.request_digest,
            "started": call.started.isoformat(),
            "ended": call.ended.isoformat(),
            "retries": call.retries,
            "batch": call.batch,
            "reply": {**answered, "usage": usage, "outcome": outcome},
        }
    ).encode("ascii")


def read(line: bytes) -> AnsweredCall | UnparsedResponse:
    """Parse a line of the log; raises :class:`ValueError` if it is malformed."""
    try:
        entry = json.loads(line)
        if "arrived" in entry:
            return unparsed_response(LoggedResponse.of_json(entry["arrived"]))
        call = Call(
            datetime.fromisoformat(entry["started"]),
            datetime.fromisoformat(entry["ended"]),
            _reply(entry["reply"]),
            retries=entry["retries"],
            batch=entry["batch"],
        )
        return AnsweredCall(entry["run"], entry["turn"], entry["asked"], call)
    except (KeyError, TypeError) as error:
        raise ValueError(f"a line of the write-ahead log lacks {error}") from None


def _reply(fields: dict[str, Any]) -> Reply:
    outcome = None if fields["outcome"] is None else Outcome(fields["outcome"])
    # Logs of earlier versions lack newer fields.
    return Reply(**{**fields, "usage": Usage(**fields["usage"]), "outcome": outcome})
