# SPDX-License-Identifier: Apache-2.0
"""Answers that are refusals: a status, one message in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """A request that is answered with ``status`` and ``message``."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        super().__init__(message)


ABORT = "kgbench.abort"  # where a request's scope says how its connection is ended at once


class Cut(Exception):
    """An answer that has begun cannot be completed: its connection is ended, so that this shows."""


def busy(seconds: float) -> Refused:
    """All places for queries are taken: 503, come back after ``seconds``."""
    return Refused(
        503,
        "the server is busy with other queries: try again in a moment",
        {"Retry-After": str(max(1, round(seconds)))},
    )


def too_slow(seconds: float) -> Refused:
    """A query took longer than it may: 503 with a long wait, since it will not get faster."""
    return Refused(
        503,
        f"the query was ended after {seconds:g} seconds, the time limit of this server: "
        "ask for less, or download the data",
        {"Retry-After": "60"},
    )
