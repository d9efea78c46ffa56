# SPDX-License-Identifier: Apache-2.0
"""What parent and child share: the frames of its pipes and how it ends; and how a child answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from kgbench.children import lockdown

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


_LENGTH = struct.Struct("!I")


def packed_frame(payload: bytes) -> bytes:
    """Return ``payload`` as a frame."""
    return _LENGTH.pack(len(payload)) + payload


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read the payload of the next frame of a stream; ``None`` at its end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    payload = stream.read(length)
    return None if len(payload) < length else payload


class FrameDecoder:
    """An incremental decoder of frames from chunks of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the payloads that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield payload


LONGEST_MESSAGE = 1_000  # characters

Handler: TypeAlias = Callable[[bytes, Callable[[bytes], None]], None]
"""Takes the payload of a request, and a function that sends the payload of an answer."""


def answer(prepare: Callable[[Any], Handler], *, opens_files: bool) -> None:
    """Answer requests on standard input until it ends.

    The first is the setup, which ``prepare`` turns into the handler of the others. Then the process
    locks itself down, so that hostile input can only harm the process itself: within ``parent`` and
    ``memory_bytes`` of the setup, and without files unless it ``opens_files``.
    """
    requests, answers = _own_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")

    def send(payload: bytes) -> None:
        answers.write(packed_frame(payload))
        answers.flush()

    first = read_frame(requests)
    if first is None:
        return
    setup = json.loads(first)
    lockdown.die_with_parent(setup["parent"])
    try:
        handle = prepare(setup)
    except BaseException as error:  # noqa: BLE001 - reported by the parent
        send(json.dumps({"failed": summary(error)}).encode("ascii"))
        return
    isolated = lockdown.lock_down(setup["memory_bytes"], opens_files=opens_files)
    with contextlib.suppress(BrokenPipeError):  # the parent has closed the pipe
        send(json.dumps({"isolated": isolated}).encode("ascii"))
        try:
            while (request := read_frame(requests)) is not None:
                handle(request, send)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def summary(error: BaseException) -> str:
    """Return type, message and position of an error, without values of variables."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    position = f" ({Path(frame[0].filename).name}, line {frame[0].lineno})" if frame else ""
    return f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE] + position


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent, and detach standard input and output from them."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    sys.stderr = sys.stdout
    return os.fdopen(requests, "rb", buffering=1 << 16), os.fdopen(answers, "wb", buffering=1 << 16)
