# SPDX-License-Identifier: Apache-2.0
"""A child that does one task and ends, as its parent sees it."""

from __future__ import annotations

import os
import selectors
import subprocess
from dataclasses import dataclass
from typing import IO

from kgbench.children.commands import command, environment
from kgbench.children.endings import ChildTimeout, Limit, described, limit_hit

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
    stdin = subprocess.DEVNULL if content is None else subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command(module, *arguments),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as child:
        try:
            if content is not None and child.stdin is not None:
                _feed(content, child.stdin.fileno(), seconds)
            out, errors = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ChildTimeout from None
        except BaseException:
            child.kill()
            raise
    return Finished(
        child.returncode, out.decode("utf-8", "replace"), errors.decode("utf-8", "replace")
    )


def _feed(content: IO[bytes], pipe: int, seconds: float) -> None:
    """Write a document to the child; stops early where the child has ended.

    Writing does not block, so that a child that no longer reads cannot hold its parent.
    """
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_WRITE)
        while chunk := content.read(_CHUNK):
            rest = memoryview(chunk)
            while rest:
                if not ready.select(seconds):
                    raise ChildTimeout
                try:
                    rest = rest[os.write(pipe, rest) :]
                except BrokenPipeError:
                    return
