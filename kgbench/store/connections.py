# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to one server: persistent connections, complete answers, retries while it is down.

Every request made here is idempotent: queries change nothing, and the updates of a store have the
same effect when they are sent twice. Failed requests are therefore retried until the server has
been unavailable for the configured patience.
"""

from __future__ import annotations

import logging
import os
import random
import ssl
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

from kgbench.errors import StoreError, StoreUnreachable
from kgbench.net.client import Client
from kgbench.net.limits import (
    Limits,
    Meter,
    Misbehaviour,
    ResponseTooLarge,
    ResponseTooSlow,
    retry_after,
)
from kgbench.store.credentials import Credentials

PATIENCE = 300.0  # seconds that a server may be unavailable before a command gives up
TIMEOUT = 900.0  # seconds for one answer
MOST_BYTES = 1 << 32  # of one answer, as sent and after decompression
_CONNECTING = 10.0  # seconds
_IDLE = 8  # idle connections that are kept
_IN_MEMORY = 16_000_000  # bytes of an answer; larger ones go to a temporary file
_BUSY = frozenset({408, 425, 429, 502, 503, 504})
_FIRST_PAUSE = 0.05  # seconds; doubled each time
_NOTICE = 1.6  # seconds of a pause from which on a warning is logged
_LONGEST_PAUSE = 5.0
_LONGEST_WISH = 30.0  # seconds of Retry-After that are respected
_log = logging.getLogger("kgbench.store")


@dataclass(slots=True)
class Answer:
    """A complete answer; ``headers`` have lower-case names, ``body`` is at its beginning."""

    status: int
    headers: Mapping[str, str]
    body: IO[bytes]
    url: str

    def text(self, max_bytes: int = 2_000) -> str:
        """Return the beginning of the body as text."""
        return self.body.read(max_bytes).decode("utf-8", "replace").strip()


class Connections:
    """The connections to a server; may be used by several threads."""

    def __init__(self, credentials: Credentials, *, agent: str) -> None:
        self.credentials = credentials
        self._patience = _seconds("KGBENCH_STORE_PATIENCE", PATIENCE)
        self._timeout = _seconds("KGBENCH_STORE_TIMEOUT", TIMEOUT)
        self._http = Client(
            connect=_CONNECTING,
            idle=self._timeout,
            max_idle_connections=_IDLE,
            auth=credentials,
            agent=agent,
        )
        self._closed = threading.Event()
        # Whether the server has answered; one that never has is not waited for.
        self._has_answered = False
        # The server did not come back within the patience: later requests (to release the lease,
        # for example) fail at once.
        self._gave_up = False

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """Send a request and return the answer, of any status; retries while the server is down.

        Raises :class:`~kgbench.errors.StoreUnreachable` after the patience.
        """
        away_since: float | None = None
        pause = _FIRST_PAUSE
        noticed = False
        while True:
            answer, trouble, wish = self._attempt(method, url, body, headers)
            if answer is not None:
                self._has_answered, self._gave_up = True, False
                if noticed:
                    _log.warning("the server at %s answers again", _origin(url))
                return answer
            now = time.monotonic()
            away_since = now if away_since is None else away_since
            left = away_since + self._patience - now
            # A server that sends Retry-After exists.
            exists = self._has_answered or wish is not None
            if left <= 0 or not exists or self._gave_up or self._closed.is_set():
                self._gave_up = True
                raise StoreUnreachable(_unreachable(url, trouble, now - away_since))
            pause = min(pause * 2, _LONGEST_PAUSE)
            wish = min(_LONGEST_WISH, wish or 0.0)
            wait = max(wish, pause)
            if wait >= _NOTICE and not noticed:
                noticed = True
                _log.warning(
                    "the server at %s does not answer (%s): waiting for it, up to %.0f seconds",
                    _origin(url),
                    trouble,
                    left,
                )
            wait = max(wish, pause * random.uniform(0.75, 1.0))  # noqa: S311
            self._closed.wait(min(left, wait))

    def _attempt(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Answer | None, str, float | None]:
        """Return an answer, or else the reason of the failure and the seconds of Retry-After.

        The seconds are ``None`` without that header.
        """
        try:
            answer = self._once(method, url, body, headers)
        except (TimeoutError, ResponseTooSlow) as error:
            raise StoreError(
                f"the server at {_origin(url)} gave no answer within {self._timeout:g} seconds "
                "(KGBENCH_STORE_TIMEOUT)"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise StoreError(f"the server at {_origin(url)} is not trusted: {error}") from None
        except ResponseTooLarge as error:
            raise StoreError(f"the server at {_origin(url)}: {error}") from None
        except (OSError, Misbehaviour) as error:
            return None, f"{type(error).__name__}: {error}".rstrip(": "), None
        if answer.status in _BUSY:
            return None, f"HTTP status {answer.status}", retry_after(answer.headers)
        return answer, "", None

    def close(self) -> None:
        """Close all connections; requests under way, and later ones, fail."""
        self._closed.set()
        self._http.close()

    def _once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        """Make one attempt and return the complete answer.

        The body is received completely first, so that a truncated result is never parsed.
        """
        if self._closed.is_set():
            raise StoreError(f"the store at {_origin(url)} is closed")
        meter = Meter(Limits(MOST_BYTES, MOST_BYTES, self._timeout))
        with self._http.send(method, url, meter, body=body, headers=headers) as response:
            content = _Body(max_size=_IN_MEMORY)
            for piece in response.pieces():  # writelines() would roll over to disk only at the end
                content.write(piece)
            content.seek(0)
            return Answer(response.status, response.headers, content, url)


class _Body(tempfile.SpooledTemporaryFile[bytes]):
    """The body of an answer, closed when it is no longer referenced."""

    def __del__(self) -> None:
        self.close()


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise StoreError(f"{name} is a number of seconds, not '{text}'")
    return value


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _unreachable(url: str, trouble: str, seconds: float) -> str:
    waited = f" for {seconds:.0f} seconds" if seconds >= 1 else ""
    return (
        f"the server at {_origin(url)} does not answer{waited} ({trouble}): "
        "start it, or check its address; stored results are kept, and the same command continues"
    )
