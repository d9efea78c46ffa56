# SPDX-License-Identifier: Apache-2.0
"""A child, as its parent sees it: command, start, messages, end and its reason."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from kgbench.children import answering
from kgbench.children.answering import ChildEnded, ChildTimeout, Limit, described, limit_hit

_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "KGBENCH_DATASETS",
    "XDG_DATA_HOME",  # where installed graphs lie
)
_SET = {
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    # glibc reserves 64 MiB of addresses for threads that allocate at the same time, up to eight
    # times per processor. So the engine's threads would use up a child's limit of memory.
    "MALLOC_ARENA_MAX": "2",
}


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``module`` with this interpreter.

    ``-P`` keeps the current folder off the search path, so that no file there replaces a module.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(*further: str) -> dict[str, str]:
    """Return the environment of a child: where to find code, the language, and no key.

    Its limit of memory is left to its data, also on machines with many processors.

    ``further`` names variables that are passed on besides.
    """
    names = (*_PASSED_ON, *further)
    passed = {name: os.environ[name] for name in names if name in os.environ}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return passed | _SET | {"PYTHONPATH": path}


_START_LIMIT = 60.0  # seconds until a child must be ready
_CHUNK = 1 << 20
_LONGEST_TAIL = 2_000  # bytes of standard error
_MEANING = {
    Limit.MEMORY: "the memory limit was reached",
    Limit.STACK: "the input is nested too deeply for the engine",
}


class Child:
    """A process that runs ``module``, and ends with the thread that started it.

    One thread uses it at a time; only :meth:`kill` may be called by another. If the module calls
    :func:`kgbench.children.answering.answer`, :meth:`set_up` the child, queue requests with
    :meth:`send` and take answers with :meth:`receive`; otherwise use :meth:`write` and
    :meth:`exchange`. Both pipes are polled together, so that messages of any size cannot make the
    two sides block each other. ``pass_fds`` are descriptors that the process inherits.
    """

    def __init__(self, module: str, *arguments: str, pass_fds: Sequence[int] = ()) -> None:
        self._outgoing: deque[memoryview] = deque()
        self._incoming: deque[bytes] = deque()
        self._decoder = answering.FrameDecoder()
        self._killed = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command(module, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=pass_fds,
            env=environment(),
            bufsize=0,
            start_new_session=True,  # the parent handles Ctrl-C
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        streams = (self._process.stdin, self._process.stdout, self._errors)
        self._end = weakref.finalize(self, _finish, self._process, streams)

    def set_up(self, setup: dict[str, Any]) -> Any:
        """Send the setup (JSON), and return what the child says when it is ready.

        Raises :class:`~kgbench.children.answering.ChildEnded` if it cannot be set up in time.
        """
        self.send(json.dumps({"parent": os.getpid(), **setup}).encode("ascii"))
        try:
            ready = json.loads(self.receive(time.monotonic() + _START_LIMIT))
        except ChildEnded:
            self.end()
            raise
        except ChildTimeout:
            ready = {"failed": f"it is not ready after {_START_LIMIT:.0f} seconds"}
        if "failed" in ready:
            self.end()
            raise ChildEnded(None, ready["failed"])
        return ready

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    @property
    def waiting(self) -> int:
        """The number of bytes that are queued but not yet in the pipe."""
        return sum(map(len, self._outgoing))

    @property
    def running(self) -> bool:
        """Whether :meth:`end` has not been called; the child may have ended by itself."""
        return self._end.alive

    @property
    def alive(self) -> bool:
        """Whether the child process exists and was not killed."""
        return not self._killed and self._end.alive and self._process.poll() is None

    def send(self, payload: bytes) -> None:
        """Queue a request, which is written during :meth:`receive`."""
        self.write(answering.packed_frame(payload))

    def receive(self, deadline: float) -> bytes:
        """Return the payload of the next answer.

        Raises :class:`~kgbench.children.answering.ChildTimeout` after ``deadline`` (monotonic), and
        :class:`~kgbench.children.answering.ChildEnded` if the child is gone.
        """
        while not self._incoming:
            data = self.exchange(deadline)
            if data is None:
                raise self._reason_of_end()
            self._incoming.extend(self._decoder.feed(data))
        return self._incoming.popleft()

    def write(self, data: bytes) -> None:
        """Queue data, which are written during :meth:`exchange`."""
        self._outgoing.append(memoryview(data))

    def exchange(self, deadline: float) -> bytes | None:
        """Write and read what is possible; return what was read, ``None`` at the end of output.

        Raises :class:`~kgbench.children.answering.ChildTimeout` if nothing can be read until
        ``deadline`` (monotonic).
        """
        remaining = deadline - time.monotonic()
        readable, writable = _ready(
            self._out, self._in if self._outgoing else None, max(remaining, 0)
        )
        if writable:
            self._write()
        if readable:
            with contextlib.suppress(BlockingIOError):
                return os.read(self._out, _CHUNK) or None
        elif remaining <= 0 or not writable:
            raise ChildTimeout
        return b""

    def close_input(self) -> None:
        """Let the child read the end of its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self, seconds: float) -> tuple[int, str]:
        """Wait for the end; return the exit status and the end of standard error.

        Raises :class:`~kgbench.children.answering.ChildTimeout` after ``seconds``.
        """
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ChildTimeout from None
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), _LONGEST_TAIL, max(size - _LONGEST_TAIL, 0))
        return status, tail.decode("utf-8", "replace").strip()

    def kill(self) -> None:
        """Kill the process, so that a thread in :meth:`receive` sees its end."""
        self._killed = True
        self._process.kill()

    def end(self) -> None:
        """Kill the process and close its pipes; does nothing the second time."""
        self._end()

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

    def _reason_of_end(self) -> ChildEnded:
        """Return the reason of the child's end, from its exit status and standard error."""
        status, message = self.wait(_START_LIMIT)
        limit = limit_hit(status, message)
        if limit is not None:
            return ChildEnded(limit, _MEANING[limit])
        words = f"the process ended with {described(status)}: {message}"
        return ChildEnded(None, words.removesuffix(": "))


def _ready(reading: int, writing: int | None, seconds: float) -> tuple[bool, bool]:
    """Return which of the two descriptors are ready, after at most ``seconds``."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    if writing is not None:
        poll.register(writing, select.POLLOUT)
    events = dict(poll.poll(min(seconds, 86_400.0) * 1_000))
    return reading in events, writing in events


def _finish(process: subprocess.Popen[bytes], streams: tuple[IO[bytes], ...]) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
    for stream in streams:
        with contextlib.suppress(OSError):
            stream.close()


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


def run_once(
    module: str, *arguments: str, seconds: float, content: IO[bytes] | None = None
) -> Finished:
    """Run ``module`` in a child until it ends, with ``content`` on its standard input.

    ``seconds`` limit each wait for the child to read, and the time from the last byte of
    ``content`` to its end. Raises :class:`~kgbench.children.answering.ChildTimeout` at that limit,
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
