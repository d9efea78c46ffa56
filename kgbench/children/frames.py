# SPDX-License-Identifier: Apache-2.0
"""Frames in the pipes of a child: a length (four bytes, big-endian), and that many bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

_LENGTH = struct.Struct("!I")


def packed(payload: bytes) -> bytes:
    """Return ``payload`` as a frame."""
    return _LENGTH.pack(len(payload)) + payload


def read(stream: BinaryIO) -> bytes | None:
    """Read the payload of the next frame of a stream; ``None`` at its end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    payload = stream.read(length)
    return None if len(payload) < length else payload


class Decoder:
    """An incremental decoder of frames from chunks of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the payloads that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield payload
