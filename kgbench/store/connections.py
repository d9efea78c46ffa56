# SPDX-License-Identifier: Apache-2.0
"""HTTP to one server: connections that are kept, answers that are whole, patience when it is down.

Plain ``http.client``, because a run writes hundreds of turns a second and ``urllib`` (and with it
SPARQLWrapper) opens a connection for each request. Every request made here may be repeated: queries
change nothing, and the updates of a store are written so that once more is as once. So whatever
breaks on the way is tried again, until the server has been away for as long as patience lasts.
"""

from __future__ import annotations

import http.client
import logging
import os
import random
import socket
import ssl
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import IO
from urllib.parse import SplitResult, urlsplit

from kgbench.errors import StoreError, StoreUnreachable
from kgbench.store.credentials import Credentials

PATIENCE = 300.0  # seconds that a server may be away before a command gives up
TIMEOUT = 900.0  # seconds that one answer may take
_CONNECTING = 10.0  # seconds
_IDLE = 8  # connections that are kept
_IN_MEMORY = 16_000_000  # bytes of an answer; more goes through a temporary file
_BUSY = frozenset({408, 425, 429, 502, 503, 504})
_CHALLENGES = 3  # requests that one request may become while credentials are asked for
_FIRST_PAUSE = 0.05  # seconds; doubled each time
_NOTICE = 1.6  # the pause with which people are told that a server is being waited for
_LONGEST_PAUSE = 5.0
_LONGEST_WISH = 30.0  # that a server may have with Retry-After
_log = logging.getLogger("kgbench.store")


@dataclass(slots=True)
class Answer:
    """A whole answer; ``body`` is read from its beginning."""

    status: int
    headers: Mapping[str, str]
    body: IO[bytes]
    challenges: list[str]
    url: str

    def text(self, most: int = 2_000) -> str:
        """The beginning of the body, as far as it is text."""
        return self.body.read(most).decode("utf-8", "replace").strip()


class Connections:
    """Sends requests to a server; may be used by several threads."""

    def __init__(self, credentials: Credentials, *, agent: str) -> None:
        self.credentials = credentials
        self._patience = _seconds("KGBENCH_STORE_PATIENCE", PATIENCE)
        self._timeout = _seconds("KGBENCH_STORE_TIMEOUT", TIMEOUT)
        self._agent = agent
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._met = False  # whether the server has answered: one that never did is not waited for
        self._tired = (
            False  # it was waited for in vain: whoever asks next, to tidy up, is not so long
        )

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """The answer to a request, whatever its status, once the server is there to give one.

        Raises :class:`~kgbench.errors.StoreUnreachable` when it is not, for too long.
        """
        away_since: float | None = None
        pause = _FIRST_PAUSE
        noticed = False
        while True:
            answer, trouble, wish = self._attempt(method, url, body, headers)
            if answer is not None:
                self._met, self._tired = True, False
                if noticed:
                    _log.warning("the server at %s answers again", _origin(url))
                return answer
            now = time.monotonic()
            away_since = now if away_since is None else away_since
            left = away_since + self._patience - now
            there = self._met or wish is not None  # who says when to come again will be there
            if left <= 0 or not there or self._tired or self._closed.is_set():
                self._tired = True
                raise StoreUnreachable(_unreachable(url, trouble, now - away_since))
            pause = min(pause * 2, _LONGEST_PAUSE)
            wait = max(wish or 0.0, pause)
            if wait >= _NOTICE and not noticed:
                noticed = True
                _log.warning(
                    "the server at %s does not answer (%s): waiting for it, up to %.0f seconds",
                    *(_origin(url), trouble, left),
                )
            wait = max(wish or 0.0, pause * random.uniform(0.75, 1.0))  # noqa: S311
            self._closed.wait(min(left, wait))

    def _attempt(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Answer | None, str, float | None]:
        """An answer, or what was in its way, and how many seconds the server wants to be left.

        The seconds are ``None`` where it does not say.
        """
        if self._closed.is_set():
            raise StoreError(f"the store at {_origin(url)} is closed")
        try:
            answer = self._authorised(method, url, body, headers)
        except TimeoutError as error:
            raise StoreError(
                f"the server at {_origin(url)} gave no answer within {self._timeout:g} seconds "
                "(KGBENCH_STORE_TIMEOUT)"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise StoreError(f"the server at {_origin(url)} is not trusted: {error}") from None
        except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:
            return None, f"{type(error).__name__}: {error}".rstrip(": "), None
        if answer.status in _BUSY:
            return None, f"HTTP status {answer.status}", _retry_after(answer.headers)
        return answer, "", None

    def close(self) -> None:
        """Close all connections; requests that wait for the server give up."""
        self._closed.set()
        with self._lock:
            for kept in self._idle.values():
                for connection in kept:
                    connection.close()
            self._idle.clear()

    def _authorised(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        made = 0
        while True:
            authorization = self.credentials.header(method, url)
            # Names and realms may hold any character; http.client would write Latin-1.
            sent = None if authorization is None else authorization.encode().decode("latin-1")
            more = {} if sent is None else {"Authorization": sent}
            answer = self._once(method, url, body, {**headers, **more})
            made += 1
            if answer.status != http.HTTPStatus.UNAUTHORIZED or made == _CHALLENGES:
                return answer
            if not self.credentials.asked(answer.challenges, authorization):
                return answer

    def _once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        parts = urlsplit(url)
        place = (parts.scheme, parts.netloc)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"User-Agent": self._agent, "Accept-Encoding": "gzip", **headers}
        while True:
            connection, kept = self._connection(place, parts)
            received = False
            try:
                # A server may answer, that it is too much say, before it has received everything.
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, target, body, sent)
                    received = True
                response = connection.getresponse()
                answer = _whole(response, url)
            except BaseException as error:
                connection.close()
                broken = isinstance(error, OSError | http.client.HTTPException)
                if kept and broken and not isinstance(error, TimeoutError):
                    continue  # it was closed while idle, as servers may: another, or a new one
                raise
            if response.will_close or not received:
                connection.close()
            else:
                self._keep(place, connection)
            return answer

    def _connection(
        self, place: tuple[str, str], parts: SplitResult
    ) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            idle = self._idle.get(place)
            if idle:
                return idle.pop(), True
        host = parts.hostname or ""
        made: http.client.HTTPConnection
        if parts.scheme == "https":
            made = http.client.HTTPSConnection(
                host, parts.port, timeout=_CONNECTING, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(host, parts.port, timeout=_CONNECTING)
        try:
            made.connect()
        except TimeoutError as error:
            raise OSError(f"no connection within {_CONNECTING:g} seconds") from error
        assert isinstance(made.sock, socket.socket)
        made.sock.settimeout(self._timeout)
        return made, False

    def _keep(self, place: tuple[str, str], connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(place, [])
            if len(idle) < _IDLE and not self._closed.is_set():
                idle.append(connection)
                return
        connection.close()


class _Body(tempfile.SpooledTemporaryFile[bytes]):
    """What was received; closed with its last reader, whoever that is."""

    def __del__(self) -> None:
        self.close()


class _Gzip:
    """Unpacks what comes in pieces: one compressed text, or several one behind the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def whole(self) -> bool:
        """Whether the last text has come to its end."""
        return self._member.eof

    def unpacked(self, piece: bytes) -> Iterator[bytes]:
        """What one more piece holds."""
        while piece:
            if self._member.eof:
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            yield self._member.decompress(piece)
            piece = self._member.unused_data


def _whole(response: http.client.HTTPResponse, url: str) -> Answer:
    """The whole answer, or the error that the connection broke with.

    Nothing is handed on before the last byte is there: half a result is never read as a result.
    """
    body = _Body(max_size=_IN_MEMORY)
    coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    packed = _Gzip() if coding in ("gzip", "x-gzip") else None
    expected = response.length
    seen = 0
    while piece := response.read(1 << 18):
        seen += len(piece)
        body.writelines([piece] if packed is None else packed.unpacked(piece))
    if expected is not None and seen < expected and response.status != http.HTTPStatus.NO_CONTENT:
        raise http.client.IncompleteRead(b"", expected - seen)
    if packed is not None and seen and not packed.whole:
        raise EOFError("the compressed answer ends early")
    body.seek(0)
    challenges = response.headers.get_all("WWW-Authenticate") or []
    return Answer(response.status, dict(response.headers.items()), body, challenges, url)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the server wants to be left: a number, or until a moment."""
    text = next((v for k, v in headers.items() if k.lower() == "retry-after"), "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    return min(_LONGEST_WISH, max(0.0, seconds))


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
        "start it, or look at its address; what is stored stays, and the same command continues"
    )
