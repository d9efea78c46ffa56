# SPDX-License-Identifier: Apache-2.0
"""Why a child ended: at a limit of memory, of its stack or of time, or otherwise."""

from __future__ import annotations

import signal
from enum import StrEnum

OUT_OF_MEMORY = 77
"""The exit status of a child that has caught a ``MemoryError``.

It ends at once, because a process cannot be trusted once its memory was short.
"""

_STACK_SIGNALS = frozenset((signal.SIGSEGV, signal.SIGBUS))
_MEMORY_WORDS = ("memory allocation of", "MemoryError", "std::bad_alloc")


class Limit(StrEnum):
    """A limit at which a child ended."""

    MEMORY = "memory"
    STACK = "stack"


class ChildTimeout(Exception):
    """A child did not answer, or did not end, in time."""


class ChildEnded(Exception):
    """A child is gone; ``limit`` is the limit that it hit, or ``None``."""

    def __init__(self, limit: Limit | None, message: str) -> None:
        self.limit = limit
        super().__init__(message)


def limit_hit(status: int, errors: str) -> Limit | None:
    """Return the limit at which a child ended with ``status``; ``None`` where it hit none.

    ``errors`` is what it wrote to standard error. Rust prints "memory allocation of ... bytes
    failed" or "stack overflow" before it aborts, C++ the name of its exception.
    """
    if -status in _STACK_SIGNALS or "stack overflow" in errors:
        return Limit.STACK
    if status == OUT_OF_MEMORY or any(words in errors for words in _MEMORY_WORDS):
        return Limit.MEMORY
    return None


def described(status: int) -> str:
    """Return an exit status in words: the name of a signal, or the number."""
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
