# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to one server: persistent connections, complete answers, retries while it is down.

Every request made here is idempotent: queries change nothing, and the updates of a store have the
same effect when they are sent twice. Failed requests are therefore retried until the server has
been unavailable for the configured patience.

Credentials come from the environment, and never appear in a location, message or store. A bearer
token (``KGBENCH_STORE_TOKEN``) is sent with every request. A user and password
(``KGBENCH_STORE_USER``, ``KGBENCH_STORE_PASSWORD``) are sent only after the server asks for them:
by Digest (RFC 7616) if the server offers it, else by Basic (RFC 7617).
``KGBENCH_STORE_AUTH=basic`` sends them immediately, ``=digest`` never uses Basic.
"""

from __future__ import annotations

import base64
import logging
import os
import random
import re
import ssl
import tempfile
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

import httpx2

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
from kgbench.secrets import surplus_of_key

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
USER, PASSWORD = "KGBENCH_STORE_USER", "KGBENCH_STORE_PASSWORD"
TOKEN, WAY = "KGBENCH_STORE_TOKEN", "KGBENCH_STORE_AUTH"
WAYS = ("digest", "basic")


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
                seconds = now - away_since
                waited = f" for {seconds:.0f} seconds" if seconds >= 1 else ""
                raise StoreUnreachable(
                    f"the server at {_origin(url)} does not answer{waited} ({trouble}): start it, "
                    "or check its address; stored results are kept, and the same command continues"
                )
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


class Credentials(httpx2.Auth):
    """The authentication of requests to one server; may be used by several threads.

    httpx2 makes the headers; this class decides when they are sent, and which.
    """

    def __init__(
        self, user: str | None, password: str | None, token: str | None, way: str | None
    ) -> None:
        if way not in (None, *WAYS):
            raise StoreError(f"{WAY} is 'basic' or 'digest', not '{way}'")
        if token is not None and user is not None:
            raise StoreError(f"set either {TOKEN}, or {USER} and {PASSWORD}, not both")
        if (user is None) != (password is None):
            raise StoreError(f"{USER} and {PASSWORD} go together: set both or none")
        if any(re.search(r"[\x00-\x1f\x7f]", value) for value in (user, password, token) if value):
            raise StoreError(f"{USER}, {PASSWORD} and {TOKEN} may hold no control characters")
        if token is not None and (surplus := surplus_of_key(token)) is not None:
            raise StoreError(f"{TOKEN} {surplus}: set it to the token alone")
        self._user, self._password, self._token = user, password, token
        self._way = way
        self._threads = threading.local()  # each thread has its own nonce of Digest

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Credentials:
        """Read the credentials from the environment; there may be none."""
        variables = os.environ if environment is None else environment
        return cls(*(variables.get(name) or None for name in (USER, PASSWORD, TOKEN, WAY)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that no message may contain."""
        pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode("ascii")
        return tuple(
            secret for secret in (self._user and pair, self._password, self._token) if secret
        )

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send ``request``, and again with credentials if the server asks for them.

        Raises :class:`~kgbench.errors.StoreError` for a form of Digest that httpx2 does not have.
        """
        request.headers.encoding = "utf-8"  # names and realms may hold any character
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}".rstrip()
        if self._user is None:
            yield request
            return
        given: httpx2.Auth | None = getattr(self._threads, "given", None)
        if given is None:
            way = self._way
            if way != "basic":
                refused = yield request
                if refused.status_code != httpx2.codes.UNAUTHORIZED:
                    return
                offers = ", ".join(refused.headers.get_list("WWW-Authenticate"))
                way = way or next((each for each in WAYS if _offers(offers, each)), None)
                if way is None:
                    return
            kind = _Digest if way == "digest" else httpx2.BasicAuth
            given = self._threads.given = kind(self._user, self._password or "")
        try:
            yield from given.auth_flow(request)  # Digest answers a new nonce
        except (httpx2.ProtocolError, NotImplementedError, ValueError) as error:
            raise StoreError(
                f"the server asks for a digest that is not supported ({error}): {WAY}=basic sends "
                "the password in clear text instead"
            ) from None


class _Digest(httpx2.DigestAuth):
    """Digest for names with quotation marks and backslashes, which httpx2 does not quote."""

    def _get_header_value(self, header_fields: dict[str, bytes]) -> str:
        name = re.sub(rb'["\\]', rb"\\\g<0>", header_fields["username"])  # RFC 7616, section 3.4
        return super()._get_header_value({**header_fields, "username": name})


def _offers(challenges: str, way: str) -> bool:
    challenges = re.sub(r'"(?:[^"\\]|\\.)*+"', "", challenges)  # a text may name any scheme
    return re.search(rf"(?:^|,)\s*{way}\b", challenges, re.IGNORECASE) is not None
