# SPDX-License-Identifier: Apache-2.0
"""Behaviours of a loopback server, and scripts that choose one for each request."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

ANSWER = "answer"
# Failures on the wire, the same for every protocol.
HANG = "hang"  # accept the request and send nothing
CUT = "cut"  # close in the middle of a body
TRICKLE = "trickle"  # send a body too slowly to finish before any timeout
GARBAGE = "garbage"  # bytes that are not HTTP
# Responses that each protocol words in its own way.
RATE_LIMIT = "rate-limit"  # 429; Behaviour.retry_after is the header, None leaves it out
QUOTA = "quota"  # 429 that waiting does not cure
SERVER_ERROR = "server-error"  # 500
OVERLOADED = "overloaded"  # 503 (529 where the provider has that)
MALFORMED = "malformed"  # 200 with half a JSON document
NOT_JSON = "not-json"  # 200 with a page of HTML
EMPTY_CHOICES = "empty-choices"  # 200 without any answer
UNAUTHORISED = "unauthorised"  # 401
UNKNOWN_MODEL = "unknown-model"  # 404
BAD_REQUEST = "bad-request"  # 400
CONTEXT = "context-too-long"  # 400, in the provider's words
TOO_LARGE = "too-large"  # 413
REFUSAL = "refusal"  # 200, the model refuses
FILTER = "content-filter"  # 200, the provider's filter blocks the answer
TRUNCATION = "truncation"  # 200, cut off at the token limit
EMPTY_TEXT = "empty-text"  # 200, an answer without a character

WIRE = (HANG, CUT, TRICKLE, GARBAGE)
# Transient failures: the call fails, and a retry may succeed.
TRANSIENT = (HANG, CUT, GARBAGE, RATE_LIMIT, SERVER_ERROR, OVERLOADED, MALFORMED, EMPTY_CHOICES)
KINDS = (
    ANSWER,
    *WIRE,
    *(RATE_LIMIT, QUOTA, SERVER_ERROR, OVERLOADED, MALFORMED, NOT_JSON, EMPTY_CHOICES),
    *(UNAUTHORISED, UNKNOWN_MODEL, BAD_REQUEST, CONTEXT, TOO_LARGE),
    *(REFUSAL, FILTER, TRUNCATION, EMPTY_TEXT),
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How to treat one request. ``delay`` is in seconds, before anything is sent."""

    kind: str = ANSWER
    delay: float = 0.0
    retry_after: str | None = "0"


@dataclass(slots=True)
class Entry:
    """One request in a server's ledger, with its outcome; times are ``time.time()``.

    ``digest`` identifies the whole body: equal requests have equal digests. ``acknowledged`` is set
    when an answer is sent, unless sending fails; ``usage`` is the charge for that answer.
    """

    number: int
    path: str
    digest: str
    body: Any
    started: float
    parallel: int
    headers: dict[str, str] = field(default_factory=dict)
    method: str = "POST"
    request_id: str = ""
    kind: str = ""
    status: int | None = None
    answer: str | None = None
    usage: dict[str, int] | None = None
    acknowledged: float | None = None


Script = Callable[[Entry], Behaviour]


def always(kind: str = ANSWER, **details: Any) -> Script:
    """Return a script that treats every request alike."""
    behaviour = Behaviour(kind, **details)
    return lambda _: behaviour


def sequence(*kinds: str | Behaviour, then: str = ANSWER) -> Script:
    """Return a script with ``kinds`` in turn, one per request, and ``then`` afterwards."""
    listed = [kind if isinstance(kind, Behaviour) else Behaviour(kind) for kind in kinds]
    return lambda entry: listed[entry.number] if entry.number < len(listed) else Behaviour(then)


def chaos(
    rate: float, seed: int = 0, kinds: Sequence[str] = TRANSIENT, retry_after: str | None = "0.05"
) -> Script:
    """Return a script in which each attempt fails with probability ``rate``, in one of ``kinds``.

    The behaviour depends on the seed, the request and the number of its attempts, not on the order
    in which requests arrive.
    """
    asked: Counter[str] = Counter()
    lock = threading.Lock()

    def script(entry: Entry) -> Behaviour:
        with lock:
            attempt = asked[entry.digest]
            asked[entry.digest] += 1
        text = f"{seed}/{entry.digest}/{attempt}"
        chance = Random(hashlib.sha256(text.encode()).digest())
        if chance.random() >= rate:
            return Behaviour()
        return Behaviour(chance.choice(list(kinds)), retry_after=retry_after)

    return script


def limited(parallel: int, delay: float, retry_after: str | None = "0.05") -> Script:
    """Return a script with a hidden limit: 429 above ``parallel`` requests of ``delay`` each."""

    def script(entry: Entry) -> Behaviour:
        if entry.parallel > parallel:
            return Behaviour(RATE_LIMIT, retry_after=retry_after)
        return Behaviour(delay=delay)

    return script


def slowed(script: Script, delay: float) -> Script:
    """Return ``script`` with ``delay`` seconds before each response."""
    return lambda entry: replace(script(entry), delay=delay)
