# SPDX-License-Identifier: Apache-2.0
"""Multibase and Multikey: base58 text and Ed25519 public keys (W3C CID 1.0, section 2).

>>> encode(b"kgbench")
'z554u76qtmu'
>>> decode("z554u76qtmu")
b'kgbench'
"""

from __future__ import annotations

from typing import Final

from kgbench.errors import SignatureError

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519: Final = b"\xed\x01"  # the multicodec prefix of Ed25519 public keys
_KEY: Final = 32  # bytes
_LONGEST: Final = 200  # characters; decoding takes quadratic time


def encode(data: bytes) -> str:
    """Encode bytes as base58-btc text with the multibase prefix ``z``."""
    number, digits = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        digits = _ALPHABET[digit] + digits
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "z" + "1" * zeros + digits


def decode(text: str) -> bytes:
    """Decode a multibase text; raises :class:`~kgbench.errors.SignatureError`."""
    digits = text[1:]
    if not text.startswith("z") or len(text) > _LONGEST or not set(digits) <= set(_ALPHABET):
        raise SignatureError("a key or signature is not written in base58 with the prefix 'z'")
    number = 0
    for digit in digits:
        number = number * 58 + _ALPHABET.index(digit)
    zeros = len(digits) - len(digits.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def multikey(public: bytes) -> str:
    """Encode an Ed25519 public key of 32 bytes as Multikey text, ``z6Mk...``."""
    return encode(_ED25519 + public)


def public_bytes(key: str) -> bytes:
    """Return the 32 bytes of a Multikey text; raises :class:`~kgbench.errors.SignatureError`."""
    data = decode(key)
    if len(data) != len(_ED25519) + _KEY or not data.startswith(_ED25519):
        raise SignatureError("the key is not an Ed25519 public key: these begin with z6Mk")
    return data[len(_ED25519) :]
