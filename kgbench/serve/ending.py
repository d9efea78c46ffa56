# SPDX-License-Identifier: Apache-2.0
"""A server that ends for certain when it is told to, whatever it is still doing.

A thread that runs an update in the engine cannot be stopped, and both the event loop and Python
wait for it when they end.
"""

from __future__ import annotations

import faulthandler
import os
from types import FrameType

import uvicorn

END = 15.0  # seconds from the first signal
_ENOUGH = 3  # signals


class Server(uvicorn.Server):
    """Ends :data:`END` seconds after SIGTERM or SIGINT at the latest, or with the third of these.

    It then ends without another step of Python, with the exit status 1; worker processes end with
    it, and the store is swept when it is opened next, as after any kill.
    """

    _signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._signals += 1
        if self._signals == 1:
            # A thread of C, which needs neither the event loop nor the interpreter's lock.
            faulthandler.dump_traceback_later(END, exit=True, file=os.open(os.devnull, os.O_WRONLY))
        elif self._signals >= _ENOUGH:
            os._exit(1)
        super().handle_exit(sig, frame)

    def run(self, *arguments: object, **named: object) -> None:
        """Serve until told to end."""
        try:
            super().run(*arguments, **named)  # type: ignore[arg-type]
        finally:
            if self._signals:
                faulthandler.cancel_dump_traceback_later()
