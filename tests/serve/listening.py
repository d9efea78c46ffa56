# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve`` in a thread of this process, with real connections."""

from __future__ import annotations

import contextlib
import socket
import threading

from kgbench.serve import startup
from kgbench.serve.settings import Limits, Settings


@contextlib.contextmanager
def listening(folder, *, hosts=None, **limits):
    """Yield the URL of a running server over the store at ``folder``."""
    settings = Settings(location=str(folder), hosts=hosts, limits=Limits(**limits))
    server = startup.server(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()  # the listener queues connections until the server accepts
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()
