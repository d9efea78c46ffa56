# SPDX-License-Identifier: Apache-2.0
"""The receiver of a run (:mod:`kgbench.net.receiver`), as the run sees it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from kgbench.net.arrivals import UNSEALED, Response, derived
from kgbench.net.links import BEGIN, FRAME, HEAD
from kgbench.net.receiver import CONTROLS, DONE, END, LINK

PROGRAM = ("-m", "kgbench.net.receiver")
_PATIENCE: Final = 30.0  # seconds for a receiver to end, or to be spoken to
_TOGETHER: Final = 0.05  # seconds for which it is gathered what is needed no more
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR")
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is asked by the calls of a task, and under which ``number`` the receiver logs it.

    ``about`` is what the response belongs to (JSON), ``secret`` the key that the request bears, if
    any. Where a response is ``given`` it is taken in the place of asking.
    """

    number: int
    about: Any
    secret: str = ""
    given: Response | None = None

    def frame(self) -> bytes:
        """What the receiver is told of it before the request."""
        sealed = derived(self.secret) if self.secret else UNSEALED
        content = HEAD.pack(self.number, sealed) + json.dumps(self.about).encode()
        return FRAME.pack(BEGIN, len(content)) + content


UNLOGGED: Final = FRAME.pack(BEGIN, HEAD.size) + HEAD.pack(0, UNSEALED)
"""What the receiver is told before a request whose response is not logged."""


class Receiving:
    """The receiver of a run, a process that is started when it is needed.

    It logs in ``folder``; ``sync`` says that records are brought to the disk.
    """

    def __init__(self, folder: Path, *, sync: bool) -> None:
        self._folder = folder
        self._sync = sync
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._done: list[int] = []  # and not said yet

    def link(self) -> socket.socket:
        """A socket to the receiver, for one connection.

        Raises :class:`OSError` where there is no receiver and none can be started.
        """
        mine, other = socket.socketpair()
        with other:
            try:
                try:
                    self._pass(other)
                except ConnectionError:  # it was killed
                    self.close()
                    self._pass(other)
            except BaseException:
                mine.close()
                raise
        mine.setblocking(False)  # noqa: FBT003
        return mine

    def done(self, number: int) -> None:
        """The response to the exchange of this number is needed no more.

        The receiver is told of several at once: what wakes it makes it wait for its next turn.
        """
        self._done.append(number)
        if len(self._done) == 1:
            try:
                asyncio.get_running_loop().call_later(_TOGETHER, self._say_done)
            except RuntimeError:  # no loop is running
                self._say_done()

    def close(self) -> None:
        """End the receiver, and wait until it is gone; it may be used again."""
        self._say_done()
        control, process = self._control, self._process
        self._control = self._process = None
        if control is None or process is None:
            return
        with control, suppress(OSError):
            control.sendall(CONTROLS.pack(END, 0))
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _say_done(self) -> None:
        numbers, self._done = self._done, []
        if self._control is not None and numbers:
            with suppress(OSError):
                self._control.sendall(b"".join(CONTROLS.pack(DONE, one) for one in numbers))

    def _pass(self, end: socket.socket) -> None:
        if self._control is None:
            self._start()
        assert self._control is not None
        socket.send_fds(self._control, [CONTROLS.pack(LINK, 0)], [end.fileno()])

    def _start(self) -> None:
        mine, other = socket.socketpair()
        mine.settimeout(_PATIENCE)
        passed = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        path = os.pathsep.join(entry for entry in sys.path if entry)
        with other:
            words = [str(other.fileno()), str(self._folder), "sync" if self._sync else ""]
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-P", *PROGRAM, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(other.fileno(),),
                    env=passed | {"PYTHONPATH": path, "PYTHONUTF8": "1"},
                    start_new_session=True,  # it outlives what kills the run
                )
            except BaseException:
                mine.close()
                raise
        self._control = mine


RECEIVER: ContextVar[Receiving | None] = ContextVar("receiver", default=None)
"""The receiver of the run."""

EXCHANGE: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""What the calls of the task belong to."""


@contextmanager
def given(response: Response) -> Iterator[Exchange]:
    """Have calls made inside of ``with`` take ``response`` in the place of asking."""
    with exchange(None, given=response) as made:
        yield made


@contextmanager
def exchange(about: Any, secret: str = "", *, given: Response | None = None) -> Iterator[Exchange]:
    """Have the calls made inside of ``with`` belong to ``about``."""
    made = Exchange(next(_numbers), about, secret, given)
    before = EXCHANGE.set(made)
    try:
        yield made
    finally:
        EXCHANGE.reset(before)
