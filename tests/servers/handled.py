# SPDX-License-Identifier: Apache-2.0
"""A server of the standard library in a thread, for a handler that a test brings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def handled(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on this machine that answers by ``handler``; gives its address without a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
