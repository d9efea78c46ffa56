# SPDX-License-Identifier: Apache-2.0
"""The process that holds the connections to providers, and logs what arrives before it hands it on.

A run that computes waits for a processor on a busy machine, and with it each reply that has
arrived. This process does next to nothing, so the system wakes it at once. It relays bytes between
the run and a server, and undoes the encryption of the connection: all of HTTP stays in the run.
Each piece of a response is appended to a log by one ``write()`` before the run gets it.

``python -m kgbench.net.receiver CONTROL FOLDER SYNC`` is started by
:mod:`kgbench.net.relay`. ``CONTROL`` is the descriptor of a socket. Over it come :data:`CONTROLS`,
and with each :data:`LINK` the socket of one connection, over which come frames: a kind, the length
of the content, and the content. What a server sends goes back as it is. The answers to
:data:`CONNECT` and :data:`START_TLS` are lines, empty or with the reason why that failed.

When the run is gone, responses under way are received for :data:`LINGER` seconds more, or until the
next session sends SIGTERM.
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

from kgbench.net.arrivals import UNSEALED, Arrivals, sealing
from kgbench.net.links import Link
from kgbench.net.promptness import run_soon_when_woken

LINK: Final = 1
"""A socket is passed."""
DONE: Final = 2
"""The response to the exchange of this number is needed no more."""
END: Final = 3
"""The run is at its end."""
CONTROLS: Final = struct.Struct("!BQ")

LINGER: Final = 10.0
"""Seconds for which responses are received when the run is gone."""

_SOCKETS: Final = 64  # passed at once


class Receiver:
    """All links, and what the run says of them."""

    def __init__(self, control: socket.socket, arrivals: Arrivals) -> None:
        self.arrivals = arrivals
        self.orphaned = False
        self._control = control
        self._buffer = b""
        self._links: set[Link] = set()
        self._unhanded: list[Link] = []
        self._making: set[asyncio.Task[None]] = set()
        self._finished = asyncio.Event()

    async def serve(self) -> None:
        """Relay until the run ends, or is gone and nothing is under way any more."""
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)  # noqa: FBT003
        loop.add_reader(self._control, self._told)
        loop.add_signal_handler(signal.SIGTERM, self._hurry)
        await self._finished.wait()
        for link in list(self._links):
            link.close()

    def forget(self, link: Link) -> None:
        """A link is closed."""
        self._links.discard(link)
        if self.orphaned and not self._links:
            self._finished.set()

    def hand_on_later(self, link: Link) -> None:
        """Have a link hand on what has arrived, after all that can be read now has been."""
        self._unhanded.append(link)
        if len(self._unhanded) == 1:
            asyncio.get_running_loop().call_later(0, self._hand_on)

    def _hand_on(self) -> None:
        links, self._unhanded = self._unhanded, []
        for link in links:
            link.hand_on()

    def _told(self) -> None:
        try:
            data, passed, _, _ = socket.recv_fds(self._control, CONTROLS.size * _SOCKETS, _SOCKETS)
        except BlockingIOError:
            return
        except OSError:
            data, passed = b"", []
        for descriptor in passed:
            link = Link(self)
            self._links.add(link)
            made = asyncio.ensure_future(self._open(link, socket.socket(fileno=descriptor)))
            self._making.add(made)
            made.add_done_callback(self._making.discard)
        if not data:
            self._orphan()
            return
        self._buffer += data
        whole = len(self._buffer) // CONTROLS.size * CONTROLS.size
        for kind, number in CONTROLS.iter_unpack(self._buffer[:whole]):
            if kind == DONE:
                self.arrivals.done(number)
                for link in self._links:
                    link.done(number)
            elif kind == END:
                self._finished.set()
        self._buffer = self._buffer[whole:]

    async def _open(self, link: Link, end: socket.socket) -> None:
        end.setblocking(False)  # noqa: FBT003
        await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=end)

    def _orphan(self) -> None:
        """The run is gone; receive what is under way."""
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
        """The next session waits for this process to end."""
        if self.orphaned:
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_later, 0.0, self._finished.set)  # what has come is read first


def main(arguments: list[str]) -> None:
    """Serve the run that started this process; see the module."""
    descriptor, folder, sync = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run to deal with
    run_soon_when_woken()
    arrivals = Arrivals(Path(folder), (lambda: None) if sync == "sync" else None)
    sealing(UNSEALED)  # takes an import, which no response should wait for
    gc.freeze()
    with contextlib.closing(arrivals), socket.socket(fileno=int(descriptor)) as control:
        asyncio.run(Receiver(control, arrivals).serve())


if __name__ == "__main__":
    main(sys.argv[1:])
