# SPDX-License-Identifier: Apache-2.0
"""The run's side of its receiver process (:mod:`kgbench.net.receiver`)."""

from __future__ import annotations

import asyncio
import json
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

from kgbench.children.commands import environment
from kgbench.net.links import BEGIN, FRAME, HEAD
from kgbench.net.receiver import CONTROLS, DONE, END, LINK
from kgbench.net.response_log import UNSEALED, Response, derive_key

PROGRAM = ("-m", "kgbench.net.receiver")
_PATIENCE: Final = 30.0  # seconds for a receiver to end, or to read a message
_TOGETHER: Final = 0.05  # seconds during which finished exchanges are gathered
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The exchange that the calls of an asyncio task belong to; the receiver logs its ``number``.

    ``metadata`` describes the request (JSON), ``secret`` is its API key, if any. A ``replay``
    response replaces the call.
    """

    number: int
    metadata: Any
    secret: str = ""
    replay: Response | None = None

    def frame(self) -> bytes:
        """Return the frame that announces the request to the receiver."""
        sealed = derive_key(self.secret) if self.secret else UNSEALED
        content = HEAD.pack(self.number, sealed) + json.dumps(self.metadata).encode()
        return FRAME.pack(BEGIN, len(content)) + content


UNLOGGED: Final = FRAME.pack(BEGIN, HEAD.size) + HEAD.pack(0, UNSEALED)
"""The frame before a request whose response is not logged."""


class ReceiverProcess:
    """The receiver process of a run, started on demand.

    It logs to ``folder``; with ``sync``, records are synced to disk.
    """

    def __init__(self, folder: Path, *, sync: bool) -> None:
        self._folder = folder
        self._sync = sync
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._done: list[int] = []  # finished exchanges that the receiver does not know of

    def link(self) -> socket.socket:
        """Return a socket to the receiver, for one connection.

        Raises :class:`OSError` if there is no receiver and none can be started.
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
        """Release the response of the exchange with this number.

        Several are sent in one message, because every wake-up delays the receiver's next turn.
        """
        self._done.append(number)
        if len(self._done) == 1:
            try:
                asyncio.get_running_loop().call_later(_TOGETHER, self._send_done)
            except RuntimeError:  # no loop is running
                self._send_done()

    def close(self) -> None:
        """End the receiver and wait for it; :meth:`link` starts another one."""
        self._send_done()
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

    def _send_done(self) -> None:
        numbers, self._done = self._done, []
        if self._control is not None and numbers:
            with suppress(OSError):
                self._control.sendall(b"".join(CONTROLS.pack(DONE, number) for number in numbers))

    def _pass(self, end: socket.socket) -> None:
        if self._control is None:
            self._start()
        assert self._control is not None
        socket.send_fds(self._control, [CONTROLS.pack(LINK, 0)], [end.fileno()])

    def _start(self) -> None:
        mine, other = socket.socketpair()
        mine.settimeout(_PATIENCE)
        with other:
            arguments = [str(other.fileno()), str(self._folder), "sync" if self._sync else ""]
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-P", *PROGRAM, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(other.fileno(),),
                    env=environment("SSL_CERT_FILE", "SSL_CERT_DIR"),
                    start_new_session=True,  # survives signals to the run's process group
                )
            except BaseException:
                mine.close()
                raise
        self._control = mine


RECEIVER: ContextVar[ReceiverProcess | None] = ContextVar("receiver", default=None)
"""The receiver process of the run, or ``None``."""

EXCHANGE: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange of the calls of the current asyncio task."""


@contextmanager
def replay(response: Response) -> Iterator[Exchange]:
    """Use ``response`` in place of calls inside the ``with`` block."""
    with exchange(None, replay=response) as exchange_:
        yield exchange_


@contextmanager
def exchange(
    metadata: Any, secret: str = "", *, replay: Response | None = None
) -> Iterator[Exchange]:
    """Make calls inside the ``with`` block belong to the exchange that ``metadata`` describes."""
    current = Exchange(next(_numbers), metadata, secret, replay)
    before = EXCHANGE.set(current)
    try:
        yield current
    finally:
        EXCHANGE.reset(before)
