# SPDX-License-Identifier: Apache-2.0
"""A uvicorn server whose shutdown always ends.

A thread that runs an update in the engine cannot be stopped, and both the event loop and Python
wait for it at their end.
"""

from __future__ import annotations

import faulthandler
import os
from types import FrameType

import uvicorn

END = 15.0  # seconds from the first signal
_ENOUGH = 3  # signals


class Server(uvicorn.Server):
    """A server that exits at most :data:`END` seconds after SIGTERM or SIGINT, or at the third one.

    A forced exit runs no more Python code and has the exit status 1. Worker processes end with the
    server, and the store is cleaned up when it is opened next, as after any kill.
    """

    _signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown, or force it at the third signal."""
        self._signals += 1
        if self._signals == 1:
            # The watchdog is a C thread, which needs neither the event loop nor the GIL.
            faulthandler.dump_traceback_later(END, exit=True, file=os.open(os.devnull, os.O_WRONLY))
        elif self._signals >= _ENOUGH:
            os._exit(1)
        super().handle_exit(sig, frame)

    def run(self, *arguments: object, **named: object) -> None:
        """Serve until a signal ends the server."""
        try:
            super().run(*arguments, **named)  # type: ignore[arg-type]
        finally:
            if self._signals:
                faulthandler.cancel_dump_traceback_later()
