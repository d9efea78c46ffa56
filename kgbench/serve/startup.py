# SPDX-License-Identifier: Apache-2.0
"""Starting a server: listening, printing the address, and a clean end on SIGTERM and Ctrl-C."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from kgbench.errors import StoreError
from kgbench.net.limits import is_loopback
from kgbench.serve.app import application
from kgbench.serve.connections import Connection, Server
from kgbench.serve.settings import Settings

_BACKLOG = 512
_MOST_CONNECTIONS = 500  # with requests in progress; further requests get 503
_PATIENCE = 2  # seconds for answers in progress when the server shuts down


def host_names(host: str, public: str | None) -> frozenset[str]:
    """Return the names and addresses that clients may use for a server that listens at ``host``.

    >>> local = host_names("::1", None)
    >>> sorted(host_names("results.example", "https://example.org/bench/") - local)
    ['example.org', 'results.example']
    """
    own = socket.gethostname().lower()
    public_name = urlsplit(public).hostname if public else None
    names = {"localhost", "127.0.0.1", "::1", own, f"{own}.local", host.lower()}
    return frozenset(names | ({public_name} if public_name else set()))


def is_local(host: str, public: str | None) -> bool:
    """Return whether a server that listens at ``host`` is for clients on this machine only."""
    return public is None and is_loopback(host)


def start(
    settings: Settings, host: str, port: int, listening: Callable[[str], object] | None = None
) -> None:
    """Serve a store until SIGTERM or Ctrl-C; see :func:`run`."""
    banner = f"serving {settings.location}\n" + "pages  {url}\nSPARQL {url}sparql\n"
    run(server(settings), banner, host, port, listening)


def run(
    running: Server,
    banner: str,
    host: str,
    port: int,
    listening: Callable[[str], object] | None = None,
) -> None:
    """Print ``banner``, with ``{url}`` filled in, and serve until SIGTERM or Ctrl-C.

    ``listening`` is called with the address as soon as clients can connect.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets with the protocol IPPROTO_TCP; without it, small
    # answers are delayed by 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise StoreError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        listener.listen(_BACKLOG)
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listener.getsockname()[1]}/"
        sys.stdout.write(banner.replace("{url}", url))
        sys.stdout.flush()
        if listening is not None:
            listening(url)
        running.run(sockets=[listener])


def server(settings: Settings, app: ASGIApp | None = None) -> Server:
    """Return a server that is not started yet, for sockets that already listen.

    It serves the store of ``settings``, or the application ``app``.
    """
    return Server(
        uvicorn.Config(
            app or application(settings),
            http=Connection,  # bounds the size and time of a request's head
            loop="asyncio",  # uvloop made no difference that could be measured
            ws="none",
            log_level="error",  # hostile clients could fill the log with warnings
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_PATIENCE,
        )
    )
