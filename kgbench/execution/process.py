# SPDX-License-Identifier: Apache-2.0
"""The parent's side of a judging child: start, messages, end, and the reason of its end."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import IO

from kgbench.children.commands import command, environment
from kgbench.children.endings import ChildEnded, ChildTimeout, Limit, described, limit_hit
from kgbench.errors import EvaluationError
from kgbench.execution import frames
from kgbench.execution.shared_status import SIZE, SharedStatus
from kgbench.model import Json
from kgbench.tasks import keys

_START_LIMIT = 60.0  # seconds until a child must be ready
_CHUNK = 1 << 20
_MEANING = {
    Limit.MEMORY: "the memory limit was reached",
    Limit.STACK: "the input is nested too deeply for the engine",
}


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a child: engine, memory, task classes, graphs as (name, path).

    ``policy`` is the comparison policy that it judges by, if any; ``loads`` names optional parts
    to load (:data:`kgbench.execution.warming.LOADERS`).
    """

    engine: str
    memory_bytes: int
    classes: frozenset[str]
    graphs: tuple[tuple[str, str], ...]
    policy: str | None = None
    loads: frozenset[str] = frozenset()


class Process:
    """A child process; used by one thread at a time.

    Queue requests with :meth:`send`, take answers with :meth:`receive`. Both pipes are polled
    together, so that messages of any size cannot make the two sides block each other.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._outgoing: deque[memoryview] = deque()
        self._incoming: deque[Json] = deque()
        self._decoder = frames.Decoder()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in kill
        board = _shared_file()
        self._board = SharedStatus(board)
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command("kgbench.execution.child"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                pass_fds=(board,),
                env=environment(),
                bufsize=0,
                start_new_session=True,  # the parent handles Ctrl-C
            )
        finally:
            os.close(board)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._in = self._child.stdin.fileno()
        self._out = self._child.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        streams = (self._child.stdin, self._child.stdout, self._errors)
        self._end = weakref.finalize(self, _finish, self._child, streams, self._board)
        self._start(board)

    @property
    def waiting(self) -> int:
        """The number of bytes that are queued but not yet in the pipe."""
        return sum(map(len, self._outgoing))

    @property
    def running(self) -> bool:
        """Whether the child has not been killed from here; it may have ended by itself."""
        return self._end.alive

    @property
    def alive(self) -> bool:
        """Whether the child process exists."""
        return self._end.alive and self._child.poll() is None

    @property
    def query(self) -> str | None:
        """The digest of the child's current query, or of that in which it ended."""
        return self._board.read() if self._end.alive else None

    def send(self, message: Json) -> None:
        """Queue a message, which is written during :meth:`receive`."""
        self._outgoing.append(memoryview(frames.encode(message)))

    def receive(self, deadline: float) -> Json:
        """Return the next answer; raises :class:`ChildTimeout` after ``deadline`` (monotonic)."""
        while not self._incoming:
            remaining = deadline - time.monotonic()
            readable, writable = _ready(
                self._out, self._in if self._outgoing else None, max(remaining, 0)
            )
            if writable:
                self._write()
            if readable:
                self._read()
            elif remaining <= 0:
                raise ChildTimeout
        return self._incoming.popleft()

    def kill(self) -> None:
        """Kill the child; does nothing if it has ended."""
        self._end()

    def _start(self, board: int) -> None:
        self.send(
            {
                "parent": os.getpid(),
                "board": board,
                "engine": self.setup.engine,
                "memory_bytes": self.setup.memory_bytes,
                "classes": sorted(self.setup.classes),
                "graphs": self.setup.graphs,
                "policy": self.setup.policy,
                "loads": sorted(self.setup.loads),
                "task_key": keys.user_key(),
            }
        )
        try:
            failure = self.receive(time.monotonic() + _START_LIMIT).get("failed")
        except ChildEnded as ended:
            failure = str(ended)
        except ChildTimeout:
            failure = f"it is not ready after {_START_LIMIT:.0f} seconds"
        if failure is not None:
            self.kill()
            raise EvaluationError(f"no judging process could be started: {failure}")

    def _write(self) -> None:
        piece = self._outgoing[0]
        try:
            written = os.write(self._in, piece[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._outgoing.clear()  # the next read finds that the child is gone
            return
        if written == len(piece):
            self._outgoing.popleft()
        else:
            self._outgoing[0] = piece[written:]

    def _read(self) -> None:
        try:
            data = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            raise self._reason_of_end()
        self._incoming.extend(self._decoder.feed(data))

    def _reason_of_end(self) -> ChildEnded:
        """Return the reason of the child's end, from its exit status and standard error."""
        status, message = self._child.wait(), self._standard_error()
        limit = limit_hit(status, message)
        if limit is not None:
            return ChildEnded(limit, _MEANING[limit])
        words = f"the judging process ended with {described(status)}: {message}"
        return ChildEnded(None, words.removesuffix(": "))

    def _standard_error(self) -> str:
        """Return the end of the child's standard error."""
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), 2_000, max(size - 2_000, 0))
        return tail.decode("utf-8", "replace").strip()


def _ready(reading: int, writing: int | None, seconds: float) -> tuple[bool, bool]:
    """Return which of the two descriptors are ready, after at most ``seconds``."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    if writing is not None:
        poll.register(writing, select.POLLOUT)
    events = dict(poll.poll(min(seconds, 86_400.0) * 1_000))
    return reading in events, writing in events


def _shared_file() -> int:
    """Return the descriptor of a new anonymous file for shared memory."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        return os.dup(file.fileno())


def _finish(
    child: subprocess.Popen[bytes], streams: tuple[IO[bytes], ...], board: SharedStatus
) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    child.wait()
    for stream in streams:
        with contextlib.suppress(OSError):
            stream.close()
    board.close()
