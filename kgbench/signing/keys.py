# SPDX-License-Identifier: Apache-2.0
"""Key files: private Ed25519 keys that only their owner can read, and their public keys.

``KEYFILE`` is the private key (PKCS #8 in PEM), ``KEYFILE.pub`` the public key as one line of
Multikey text, which is Multibase: base58 (W3C CID 1.0, section 2). No message and no ``repr``
reveals any part of a private key.

>>> encode(b"kgbench")
'z554u76qtmu'
>>> decode("z554u76qtmu")
b'kgbench'
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kgbench.errors import SignatureError

PUBLIC: Final = ".pub"
_PUBLIC_BEGINS: Final = "z6Mk"  # Ed25519, as Multikey text
_OTHERS: Final = 0o077  # permissions of the group and of all other users
_LARGEST: Final = 10_000  # bytes of a key file
_EXPONENT: Final = 65_537
_RSA_BITS: Final = 2048  # what the network of nanopublications uses
_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519: Final = b"\xed\x01"  # the multicodec prefix of Ed25519 public keys
_KEY: Final = 32  # bytes
_LONGEST: Final = 200  # characters; decoding takes quadratic time


@dataclass(frozen=True)
class SigningKey:
    """A private key; ``public`` is its public key as Multikey text."""

    public: str
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    @classmethod
    def new(cls) -> Self:
        """Generate a key."""
        private = Ed25519PrivateKey.generate()
        return cls(multikey(private.public_key().public_bytes_raw()), private)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the key in a file.

        Raises :class:`~kgbench.errors.SignatureError` if the file holds no Ed25519 key, or if users
        other than its owner may read it.
        """
        private = private_key(path)
        if not isinstance(private, Ed25519PrivateKey):
            raise SignatureError(_no_key_message(path))
        return cls(multikey(private.public_key().public_bytes_raw()), private)

    def keep(self, path: Path) -> None:
        """Write the key, readable by its owner only, and the public key beside it.

        Raises :class:`~kgbench.errors.SignatureError` if one of the files already exists.
        """
        _keep(path, self._private, f"{self.public}\n".encode())

    def sign(self, data: bytes) -> bytes:
        """Return the signature over ``data``, 64 bytes (RFC 8032, section 5.1.6)."""
        return self._private.sign(data)


def private_key(path: Path) -> Any:
    """Read the private key of any type in a PEM file.

    Raises :class:`~kgbench.errors.SignatureError` if there is none, or if users other than its
    owner may read the file.
    """
    try:
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise SignatureError(f"the key {path} is not a regular file")
            if file.peek(len(_PUBLIC_BEGINS)).startswith(_PUBLIC_BEGINS.encode()):
                raise SignatureError(
                    f"{path} is a public key, which cannot sign: name the private key that belongs "
                    "to it"
                )
            if state.st_mode & _OTHERS:
                raise SignatureError(
                    f"the key {path} may be read by others (mode "
                    f"{stat.S_IMODE(state.st_mode):04o}), so it is not used: make a new key if "
                    f"others had access, otherwise run chmod 600 {path}"
                )
            return pem.load_pem_private_key(file.read(_LARGEST), password=None)
    except OSError as error:
        raise SignatureError(f"the key {path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):  # not chained: their messages may quote the file
        raise SignatureError(_no_key_message(path)) from None


def new_rsa_key(path: Path) -> None:
    """Write a new RSA key for nanopublications, readable by its owner only."""
    private = rsa.generate_private_key(_EXPONENT, _RSA_BITS)
    public = private.public_key().public_bytes(
        pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo
    )
    _keep(path, private, public)


def _keep(path: Path, private: Ed25519PrivateKey | rsa.RSAPrivateKey, public: bytes) -> None:
    """Write a private key, readable by its owner only, and its public key beside it."""
    content = private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    _create(path, content, 0o600)
    _create(path.with_name(path.name + PUBLIC), public, 0o644)


def verifies(key: str, signature: bytes, data: bytes) -> bool:
    """Return whether the private key of ``key`` (Multikey) made ``signature`` over ``data``."""
    try:
        Ed25519PublicKey.from_public_bytes(public_bytes(key)).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key(name_or_text: str) -> str:
    """Return the public key that a user names: Multikey text, or a file that contains it.

    Raises :class:`~kgbench.errors.SignatureError` for anything else.
    """
    text = name_or_text
    if not name_or_text.startswith(_PUBLIC_BEGINS):
        try:
            with Path(name_or_text).open(encoding="utf-8-sig") as file:
                text = file.read(_LARGEST).strip()
        except (OSError, ValueError):
            text = ""
        if not text.startswith(_PUBLIC_BEGINS):
            raise SignatureError(
                f"'{name_or_text}' is not a public key: give the text that begins with z6Mk, or "
                f"the file that ends in {PUBLIC}"
            )
    public_bytes(text)
    return text


def _create(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise SignatureError(f"{path} exists already, and keys are never overwritten") from None
    except OSError as error:
        raise SignatureError(f"{path} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _no_key_message(path: Path) -> str:
    return f"{path} contains no private Ed25519 key in PEM: make one with kgbench keys new"


# --- Multikey -------------------------------------------------------------------------------------


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
