# SPDX-License-Identifier: Apache-2.0
"""The child's side of :class:`kgbench.children.child.Child`: set up, lock down, answer requests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from kgbench.children import frames, lockdown
from kgbench.children.endings import OUT_OF_MEMORY

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
        answers.write(frames.packed(payload))
        answers.flush()

    first = frames.read(requests)
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
            while (request := frames.read(requests)) is not None:
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
