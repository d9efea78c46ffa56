# SPDX-License-Identifier: Apache-2.0
"""Refused requests: a status, a message, and headers such as Retry-After."""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """A request is refused with ``status`` and ``message``."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        super().__init__(message)


ABORT = "kgbench.abort"  # key in the scope's state of the function that aborts the connection


class ResponseAborted(Exception):
    """A started response cannot be completed; its connection is aborted, so that clients notice."""


def busy(seconds: float) -> Refused:
    """Return a 503 with Retry-After, because all workers are taken."""
    return Refused(
        503,
        "the server is busy with other queries: try again in a moment",
        {"Retry-After": str(max(1, round(seconds)))},
    )


def too_slow(seconds: float) -> Refused:
    """Return a 503 with a long Retry-After, because the request exceeded its time limit."""
    return Refused(
        503,
        f"the request exceeded the time limit of this server ({seconds:g} seconds): "
        "request less data, or download it",
        {"Retry-After": "60"},
    )


def displaced(seconds: float) -> Refused:
    """Return a 503 with a long Retry-After, because another request needed the place."""
    return Refused(
        503,
        f"the request was ended after {seconds:g} seconds because others were waiting: "
        "request less data, or try again later",
        {"Retry-After": "60"},
    )


def too_large() -> Refused:
    """Return a 503, because the answer exceeds the limit of rows or bytes."""
    message = "the answer exceeds the size limit of this server: use LIMIT, or download the data"
    return Refused(503, message)
