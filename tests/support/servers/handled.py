# SPDX-License-Identifier: Apache-2.0
"""A server of the standard library in a thread, with a handler from a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def handled(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Yield the address (no final slash) of a server on this machine that uses ``handler``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
