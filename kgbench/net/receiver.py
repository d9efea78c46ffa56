# SPDX-License-Identifier: Apache-2.0
"""The process that holds the connections to providers and logs responses before passing them on.

On a busy machine a run that computes has to wait for a processor, and so does each reply that has
arrived. This process does very little, so the scheduler wakes it immediately. It relays bytes
between the run and a server and handles TLS; HTTP is handled by the run. Each piece of a response
is appended to a log by one ``write()`` before the run gets it.

``python -m kgbench.net.receiver CONTROL FOLDER SYNC`` is started by
:mod:`kgbench.net.receiver_process`. ``CONTROL`` is the descriptor of a socket. It carries
:data:`CONTROLS`, and with each :data:`LINK` the socket of one connection, whose protocol is that of
:mod:`kgbench.net.links`.

When the run is gone, responses under way are received for another :data:`LINGER` seconds, or until
the next session sends SIGTERM.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Final

from kgbench.net.links import Link
from kgbench.net.response_log import UNSEALED, ResponseLog, encryptor
from kgbench.net.scheduling import request_short_slice

LINK: Final = 1
"""The message passes the socket of a connection (SCM_RIGHTS)."""
DONE: Final = 2
"""The response of the exchange with this number is no longer needed."""
END: Final = 3
"""The run has ended."""
CONTROLS: Final = struct.Struct("!BQ")

LINGER: Final = 10.0
"""Seconds for which responses are still received when the run is gone."""

_SOCKETS: Final = 64  # maximal number of sockets per message


class Receiver:
    """The links of a run, controlled by messages of the run."""

    def __init__(self, control: socket.socket, arrivals: ResponseLog) -> None:
        self.arrivals = arrivals
        self.orphaned = False
        self._control = control
        self._buffer = b""
        self._links: set[Link] = set()
        self._pending: list[Link] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._finished = asyncio.Event()

    async def serve(self) -> None:
        """Relay until the run ends, or until it is gone and no response is under way."""
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)  # noqa: FBT003
        loop.add_reader(self._control, self._read_control)
        loop.add_signal_handler(signal.SIGTERM, self._hurry)
        await self._finished.wait()
        for link in list(self._links):
            link.close()

    def forget(self, link: Link) -> None:
        """Remove a closed link."""
        self._links.discard(link)
        if self.orphaned and not self._links:
            self._finished.set()

    def hand_on_later(self, link: Link) -> None:
        """Schedule passing on a link's data until all sockets that are readable now are read."""
        self._pending.append(link)
        if len(self._pending) == 1:
            asyncio.get_running_loop().call_later(0, self._hand_on)

    def _hand_on(self) -> None:
        links, self._pending = self._pending, []
        for link in links:
            link.hand_on()

    def _read_control(self) -> None:
        try:
            data, passed, _, _ = socket.recv_fds(self._control, CONTROLS.size * _SOCKETS, _SOCKETS)
        except BlockingIOError:
            return
        except OSError:
            data, passed = b"", []
        for descriptor in passed:
            link = Link(self)
            self._links.add(link)
            task = asyncio.ensure_future(self._open(link, socket.socket(fileno=descriptor)))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        if not data:
            self._orphan()
            return
        self._buffer += data
        complete = len(self._buffer) // CONTROLS.size * CONTROLS.size
        for kind, number in CONTROLS.iter_unpack(self._buffer[:complete]):
            if kind == DONE:
                self.arrivals.done(number)
                for link in self._links:
                    link.done(number)
            elif kind == END:
                self._finished.set()
        self._buffer = self._buffer[complete:]

    async def _open(self, link: Link, end: socket.socket) -> None:
        end.setblocking(False)  # noqa: FBT003
        await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=end)

    def _orphan(self) -> None:
        """Note that the run is gone; keep the links with responses under way."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._control)
        self.orphaned = True
        for link in list(self._links):
            if not link.awaits:
                link.close()
        if not self._links:
            self._finished.set()
        loop.call_later(LINGER, self._finished.set)

    def _hurry(self) -> None:
        """End soon, because the next session waits for this process."""
        if self.orphaned:
            loop = asyncio.get_running_loop()
            # Data that has arrived is read before the loop ends.
            loop.call_soon(loop.call_later, 0.0, self._finished.set)


def main(arguments: list[str]) -> None:
    """Serve the run that started this process; see the module."""
    descriptor, folder, sync = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run handles Ctrl-C
    request_short_slice()
    arrivals = ResponseLog(Path(folder), (lambda: None) if sync == "sync" else None)
    encryptor(UNSEALED)  # imports cryptography now, so that no response waits for it
    gc.freeze()
    with contextlib.closing(arrivals), socket.socket(fileno=int(descriptor)) as control:
        asyncio.run(Receiver(control, arrivals).serve())


if __name__ == "__main__":
    main(sys.argv[1:])
