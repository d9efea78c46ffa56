# SPDX-License-Identifier: Apache-2.0
"""The log of responses as they arrive: appended to by a receiver, read by the next session.

A server may repeat the key that it was given, in any form. So a response to a request with a key is
encrypted in the log, with a key that is derived from that one: whoever can read it knows it.
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
from kgbench.write_ahead import WriteAhead, records

UNSEALED: Final = bytes(32)
"""In the place of a key: not encrypted."""

_PATIENCE: Final = 30.0  # seconds for a receiver whose run is gone to end
_NONCE: Final = 12  # bytes

Seal = Callable[[bytes, bytes], bytes]


class Arrivals:
    """The log of what arrives, and the pieces of it that are still needed, by exchange.

    Where the log cannot be written, a response is not kept in it. The run has a log beside it, and
    ends with words where that cannot be written.
    """

    def __init__(self, folder: Path, settle: Callable[[], None] | None) -> None:
        self._folder = folder
        self._settle = settle
        self._log: WriteAhead | None = None
        self._pieces: dict[int, int] = {}
        self._given_up: set[int] = set()

    def append(self, number: int, about: bytes, data: bytes, seal: Seal | None) -> None:
        """Append a piece of the response to an exchange."""
        if number in self._given_up:
            return
        piece = self._pieces.get(number, 0)
        name = _name(number, piece)
        if seal is not None:
            data = seal(data, name)
        content = b'{"exchange":%d,"piece":%d,"sealed":%s,"at":%.6f,"about":%s,"data":"%s"}' % (
            *(number, piece, b"false" if seal is None else b"true", time.time()),
            *(about if piece == 0 else b"null", b64encode(data)),
        )
        try:
            if self._log is None:
                self._log = WriteAhead(self._folder, settle=self._settle)
            self._log.append(name.decode(), content)
        except (KgbenchError, OSError):
            self.done(number)
            self._given_up.add(number)
            return
        self._pieces[number] = piece + 1

    def done(self, number: int) -> None:
        """The response to this exchange is needed no more."""
        self._given_up.discard(number)
        pieces = self._pieces.pop(number, 0)
        if self._log is not None and pieces:
            self._log.done([_name(number, piece).decode() for piece in range(pieces)])

    def close(self) -> None:
        """Give the log up; what is needed stays in it."""
        if self._log is not None:
            self._log.close()


class Response(NamedTuple):
    """A response as it arrived; its body is encoded as the headers say."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Sealed(Exception):
    """A response is encrypted, and none of the keys is the right one."""


class Logged(NamedTuple):
    """What was logged of a response: ``about`` what, its number, and when its last piece came.

    ``ended`` is in seconds since 1970. ``pieces`` are encrypted where it is ``sealed``.
    """

    about: Any
    exchange: int
    sealed: bool
    ended: float
    pieces: tuple[bytes, ...]

    def response(self, keys: Collection[str]) -> Response | None:
        """The response, or ``None`` where not all of it is there.

        Raises :class:`Sealed` where it is encrypted with another key than one of ``keys``.
        """
        if not self.sealed:
            return _parsed(b"".join(self.pieces))
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        for key in keys:
            cipher = AESGCM(derived(key))
            with suppress(InvalidTag):
                return _parsed(
                    b"".join(
                        cipher.decrypt(piece[:_NONCE], piece[_NONCE:], _name(self.exchange, number))
                        for number, piece in enumerate(self.pieces)
                    )
                )
        raise Sealed

    def json(self) -> Any:
        """All of it as JSON."""
        return self._asdict() | {"pieces": [b64encode(piece).decode() for piece in self.pieces]}

    @classmethod
    def of_json(cls, said: Any) -> Logged:
        """What :meth:`json` made; raises :class:`ValueError` or :class:`KeyError` otherwise."""
        return cls(**{**said, "pieces": tuple(map(b64decode, said["pieces"]))})


@contextmanager
def left(folder: Path) -> Iterator[list[Logged]]:
    """What earlier receivers left in ``folder``, in order; removed at the end, unless that fails.

    A receiver whose run is gone is told to end. Raises :class:`~kgbench.errors.StoreInUse` where
    the run is not gone, and :class:`~kgbench.errors.StoreError` where a file cannot be read.
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


def unread(folder: Path) -> list[Logged]:
    """What the log in ``folder`` has, whoever writes it meanwhile; all of it stays.

    Raises :class:`~kgbench.errors.StoreError` where a file cannot be read.
    """
    return _logged(records(folder))


def _owned(folder: Path) -> WriteAhead | None:
    end = time.monotonic() + _PATIENCE
    while folder.is_dir():
        try:
            return WriteAhead(folder)
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


def _logged(contents: Iterable[bytes]) -> list[Logged]:
    found: dict[int, Logged] = {}
    for content in contents:
        said = json.loads(content)
        number, data = said["exchange"], b64decode(said["data"])
        if said["piece"] == 0:
            found[number] = Logged(said["about"], number, said["sealed"], said["at"], (data,))
        elif number in found and len(found[number].pieces) == said["piece"]:
            before = found[number]
            found[number] = before._replace(ended=said["at"], pieces=(*before.pieces, data))
    return list(found.values())


def _parsed(data: bytes) -> Response | None:
    """The response in ``data``, which answers a POST; ``None`` where it is not whole."""
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
def sealing(key: bytes) -> Seal:
    """Encrypts with ``key``; what it returns is the nonce and the encrypted bytes."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(key)

    def seal(data: bytes, name: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + cipher.encrypt(nonce, data, name)

    return seal


def _name(number: int, piece: int) -> bytes:
    """The key in the log of a piece of the response to an exchange."""
    return b"%d/%d" % (number, piece)


def derived(key: str) -> bytes:
    """What a response to a request with ``key`` is encrypted with."""
    return hashlib.blake2b(key.encode(), digest_size=32, person=b"kgbench-arrivals").digest()
