# SPDX-License-Identifier: Apache-2.0
"""The log of raw responses, appended by the receiver process and read by the next session.

A server may repeat the API key of a request in its response, in any form. Responses to requests
with a key are therefore encrypted in the log, with a key derived from the API key, so that only a
process that has the API key can read them.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from kgbench.errors import KgbenchError, StoreError, StoreInUse
from kgbench.write_ahead import WriteAheadLog, records

UNSEALED: Final = bytes(32)
"""A key of zeros, which means that a response is not encrypted."""

_PATIENCE: Final = 30.0  # seconds to wait for an orphaned receiver to end
_NONCE: Final = 12  # bytes

Seal = Callable[[bytes, bytes], bytes]


class ResponseLog:
    """The log of arriving responses, in pieces, by the number of their exchange.

    If the log cannot be written, the response is not logged. The run then notices that its own log
    beside this one cannot be written, and reports the error.
    """

    def __init__(self, folder: Path, settle: Callable[[], None] | None) -> None:
        self._folder = folder
        self._settle = settle
        self._log: WriteAheadLog | None = None
        self._pieces: dict[int, int] = {}
        self._given_up: set[int] = set()

    def append(self, number: int, metadata: bytes, data: bytes, seal: Seal | None) -> None:
        """Append a piece of a response; ``metadata`` identifies its request, ``seal`` encrypts."""
        if number in self._given_up:
            return
        piece = self._pieces.get(number, 0)
        name = _name(number, piece)
        if seal is not None:
            data = seal(data, name)
        content = b'{"exchange":%d,"piece":%d,"sealed":%s,"at":%.6f,"about":%s,"data":"%s"}' % (
            number,
            piece,
            b"false" if seal is None else b"true",
            time.time(),
            metadata if piece == 0 else b"null",
            b64encode(data),
        )
        try:
            if self._log is None:
                self._log = WriteAheadLog(self._folder, settle=self._settle)
            self._log.append(name.decode(), content)
        except (KgbenchError, OSError):
            self.done(number)
            self._given_up.add(number)
            return
        self._pieces[number] = piece + 1

    def done(self, number: int) -> None:
        """Remove the response of an exchange from the log."""
        self._given_up.discard(number)
        pieces = self._pieces.pop(number, 0)
        if self._log is not None and pieces:
            self._log.done([_name(number, piece).decode() for piece in range(pieces)])

    def close(self) -> None:
        """Close the log; responses that are still needed stay in it."""
        if self._log is not None:
            self._log.close()


class Response(NamedTuple):
    """A complete response; its body still has the content coding that the headers name."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class NoMatchingKey(Exception):
    """A response is encrypted, and none of the given keys decrypts it."""


class LoggedResponse(NamedTuple):
    """A logged response: the metadata of its request (``about``), exchange number and pieces.

    ``ended`` is the arrival of the last piece, in seconds since 1970. The ``pieces`` are encrypted
    if it is ``sealed``.
    """

    about: Any
    exchange: int
    sealed: bool
    ended: float
    pieces: tuple[bytes, ...]

    def response(self, keys: Collection[str]) -> Response | None:
        """Decrypt and parse the response; ``None`` if it is incomplete.

        Raises :class:`NoMatchingKey` if none of ``keys`` decrypts it.
        """
        if not self.sealed:
            return _parsed(b"".join(self.pieces))
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        for key in keys:
            cipher = AESGCM(derive_key(key))
            with suppress(InvalidTag):
                return _parsed(
                    b"".join(
                        cipher.decrypt(piece[:_NONCE], piece[_NONCE:], _name(self.exchange, number))
                        for number, piece in enumerate(self.pieces)
                    )
                )
        raise NoMatchingKey

    def json(self) -> Any:
        """Return all fields as JSON values."""
        return self._asdict() | {"pieces": [b64encode(piece).decode() for piece in self.pieces]}

    @classmethod
    def of_json(cls, value: Any) -> LoggedResponse:
        """Restore the result of :meth:`json`; raises ``ValueError`` or ``KeyError`` if invalid."""
        return cls(**{**value, "pieces": tuple(map(b64decode, value["pieces"]))})


@contextmanager
def take_responses(folder: Path) -> Iterator[list[LoggedResponse]]:
    """Yield the responses that earlier receivers left in ``folder``, and remove them at the end.

    They are kept if the ``with`` block raises. An orphaned receiver is asked to end. Raises
    :class:`~kgbench.errors.StoreInUse` if its run still exists, and
    :class:`~kgbench.errors.StoreError` if a file cannot be read.
    """
    log = _owned(folder)
    if log is None:
        yield []
        return
    try:
        yield _logged(record.content for record in log.recovered())
        log.keep({})
    finally:
        log.close()


def read_responses(folder: Path) -> list[LoggedResponse]:
    """Return the responses in the log in ``folder``, which stays unchanged and may be in use.

    Raises :class:`~kgbench.errors.StoreError` if a file cannot be read.
    """
    return _logged(records(folder))


def _owned(folder: Path) -> WriteAheadLog | None:
    end = time.monotonic() + _PATIENCE
    while folder.is_dir():
        try:
            return WriteAheadLog(folder)
        except StoreInUse:
            if time.monotonic() > end:
                raise
            with suppress(OSError, ValueError):
                os.kill(int((folder / "lock").read_text()), signal.SIGTERM)
            time.sleep(0.01)
        except StoreError:
            if folder.is_dir():  # else the receiver has just removed it
                raise
    return None


def _logged(contents: Iterable[bytes]) -> list[LoggedResponse]:
    responses: dict[int, LoggedResponse] = {}
    for content in contents:
        record = json.loads(content)
        number, data = record["exchange"], b64decode(record["data"])
        if record["piece"] == 0:
            responses[number] = LoggedResponse(
                record["about"], number, record["sealed"], record["at"], (data,)
            )
        elif number in responses and len(responses[number].pieces) == record["piece"]:
            before = responses[number]
            responses[number] = before._replace(ended=record["at"], pieces=(*before.pieces, data))
    return list(responses.values())


def _parsed(data: bytes) -> Response | None:
    """Parse the response to a POST in ``data``; ``None`` if it is incomplete or invalid."""
    import h11

    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=[("Host", "-")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    head, body = None, bytearray()
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return Response(head.status_code, tuple(head.headers.raw_items()), bytes(body))
            elif not isinstance(event, h11.InformationalResponse):
                return None
    except h11.RemoteProtocolError:
        return None


@cache
def encryptor(key: bytes) -> Seal:
    """Return a function that encrypts with ``key``; its result is nonce and ciphertext."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key)

    def seal(data: bytes, name: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + cipher.encrypt(nonce, data, name)

    return seal


def _name(number: int, piece: int) -> bytes:
    """Return the key of a piece in the log, which also authenticates it (associated data)."""
    return b"%d/%d" % (number, piece)


def derive_key(key: str) -> bytes:
    """Derive the encryption key of responses from the API key of their request."""
    return hashlib.blake2b(key.encode(), digest_size=32, person=b"kgbench-arrivals").digest()
