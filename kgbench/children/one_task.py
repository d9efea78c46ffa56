# SPDX-License-Identifier: Apache-2.0
"""A child that does one task and ends, as its parent sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import IO

from kgbench.children.child import Child
from kgbench.children.endings import Limit, described, limit_hit

_CHUNK = 1 << 20
_LONGEST_REASON = 200  # characters


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that has ended: its exit status, and its texts on standard output and error."""

    status: int
    out: str
    errors: str

    @property
    def limit(self) -> Limit | None:
        """The limit that it hit, if any."""
        return limit_hit(self.status, self.errors)

    @property
    def reason(self) -> str:
        """How it ended, with the last line that it wrote to standard error."""
        last = self.errors.strip().rpartition("\n")[2]
        return f"{described(self.status)} ({last[:_LONGEST_REASON]})"


def run(module: str, *arguments: str, seconds: float, content: IO[bytes] | None = None) -> Finished:
    """Run ``module`` in a child until it ends, with ``content`` on its standard input.

    ``seconds`` limit each wait for the child to read, and the time from the last byte of
    ``content`` to its end. Raises :class:`~kgbench.children.endings.ChildTimeout` at that limit,
    and any error of reading ``content``; the child is gone in any case.
    """
    child = Child(module, *arguments)
    out = bytearray()
    try:
        while content is not None and (chunk := content.read(_CHUNK)):
            child.write(chunk)
            while child.waiting:
                out += child.exchange(time.monotonic() + seconds) or b""
        child.close_input()
        deadline = time.monotonic() + seconds
        while (data := child.exchange(deadline)) is not None:
            out += data
        status, errors = child.wait(seconds)
    finally:
        child.end()
    return Finished(status, out.decode("utf-8", "replace"), errors)
