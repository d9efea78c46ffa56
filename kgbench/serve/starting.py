# SPDX-License-Identifier: Apache-2.0
"""Starting a server: listening, saying where, and ending cleanly on SIGTERM and Ctrl-C."""

from __future__ import annotations

import socket
import sys

import uvicorn

from kgbench.errors import StoreError
from kgbench.serve.app import application
from kgbench.serve.connections import Connection
from kgbench.serve.settings import Settings

_BACKLOG = 512
_MOST_CONNECTIONS = 500  # beyond them 503, so that slow senders cannot take all memory
_PATIENCE = 2  # seconds for answers under way when the server ends


def start(settings: Settings, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    running = server(settings)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small answers at once instead of after 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise StoreError(f"{host}:{port} cannot be listened at: {error.strerror}") from error
        listener.listen(_BACKLOG)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        sys.stdout.write(f"serving {settings.location}\npages  {url}\nSPARQL {url}sparql\n")
        sys.stdout.flush()
        running.run(sockets=[listener])


def server(settings: Settings) -> uvicorn.Server:
    """A server of ``settings`` that is not yet started, for sockets that listen already."""
    return uvicorn.Server(
        uvicorn.Config(
            application(settings),
            http=Connection,  # bounds the size and time of a request's head
            loop="asyncio",  # uvloop made no difference that could be measured
            ws="none",
            log_level="error",  # what clients do wrong is no event: hostile ones would fill a log
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )
