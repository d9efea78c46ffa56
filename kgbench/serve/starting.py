# SPDX-License-Identifier: Apache-2.0
"""Starting a server: listening, saying where, and ending cleanly on SIGTERM and Ctrl-C."""

from __future__ import annotations

import socket
import sys
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from kgbench.errors import StoreError
from kgbench.serve.app import application
from kgbench.serve.connections import Connection
from kgbench.serve.ending import Server
from kgbench.serve.settings import Settings

_BACKLOG = 512
_MOST_CONNECTIONS = 500  # with requests under way; beyond them 503
_PATIENCE = 2  # seconds for answers under way when the server ends


def names(host: str, public: str | None) -> frozenset[str]:
    """The names by which clients may ask a server that listens at ``host``.

    >>> sorted(names("results.example", "https://example.org/bench/") - names("::1", None))
    ['example.org', 'results.example']
    """
    own = socket.gethostname().lower()
    shown = urlsplit(public).hostname if public else None
    return frozenset(
        {"localhost", own, f"{own}.local", host.lower()} | ({shown} if shown else set())
    )


def start(settings: Settings, host: str, port: int) -> None:
    """Serve a store until SIGTERM or Ctrl-C."""
    said = f"serving {settings.location}\n" + "pages  {url}\nSPARQL {url}sparql\n"
    run(server(settings), said, host, port)


def run(running: Server, said: str, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C; ``said`` is printed at the start, ``{url}`` filled in."""
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
        sys.stdout.write(said.replace("{url}", url))
        sys.stdout.flush()
        running.run(sockets=[listener])


def server(settings: Settings, app: ASGIApp | None = None) -> Server:
    """A server of ``settings`` that is not yet started, for sockets that listen already.

    It serves the store, or an application of another kind.
    """
    return Server(
        uvicorn.Config(
            app or application(settings),
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
