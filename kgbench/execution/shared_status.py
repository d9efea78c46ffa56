# SPDX-License-Identifier: Apache-2.0
"""Shared memory in which a child process notes its current query, for its parent to read.

A note costs no system call and survives a crash of the child.
"""

from __future__ import annotations

import hashlib
import mmap

SIZE = 64  # bytes of a SHA-256 in hex; all zero while no query runs
_BLANK = bytes(SIZE)


def query_digest(query: str) -> str:
    """Return the digest that identifies a query in shared memory and in requests."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()


class SharedStatus:
    """A note in shared memory; ``descriptor`` is an open file of :data:`SIZE` bytes."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def enter(self, digest: str) -> None:
        """Note that the query with this digest starts."""
        self._memory[:] = digest.encode("ascii")

    def leave(self) -> None:
        """Note that no query runs."""
        self._memory[:] = _BLANK

    def read(self) -> str | None:
        """Return the digest of the current query, or of the query in which the child ended."""
        note = bytes(self._memory)
        return None if note == _BLANK else note.decode("ascii")
