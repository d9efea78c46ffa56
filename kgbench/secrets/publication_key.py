# SPDX-License-Identifier: Apache-2.0
"""The key of a store, under which its publications replace digests of what they leave out.

The digest of a text or case confirms a correct guess of it. Digits that were made with a secret key
confirm nothing, and publishing again gives the same ones.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from kgbench.errors import StoreError

FILE: Final = "publication-key.json"
VEILED: Final = "w"
"""The mark before veiled digits in an IRI."""

_BYTES: Final = 32


@dataclass(frozen=True)
class PublicationKey:
    """Makes digits under a key of 32 bytes."""

    key: bytes = field(repr=False)

    @classmethod
    def unkept(cls) -> Self:
        """Return a random key that is not stored."""
        return cls(secrets.token_bytes(_BYTES))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Load the key in ``folder``, or write a new key if there is none.

        Raises :class:`~kgbench.errors.StoreError` if the key is damaged or cannot be written.
        """
        path = folder / FILE
        try:
            try:
                text = path.read_text(encoding="utf-8")
            except FileNotFoundError:
                cls(secrets.token_bytes(_BYTES)).keep(folder, replace=False)
                text = path.read_text(encoding="utf-8")
            key = bytes.fromhex(json.loads(text)["key"])
            if len(key) != _BYTES:
                raise ValueError(f"the key has {len(key)} bytes")  # noqa: TRY301 - one message
        except OSError as error:
            raise StoreError(
                f"{path} cannot be used ({error.strerror}): it holds the key of its "
                "publications, so make the store's folder writable"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path} is damaged ({error}): restore it from a backup, or remove it; with "
                "another key, the next publication has other IRIs for what it leaves out"
            ) from error
        return cls(key)

    def keep(self, folder: Path, *, replace: bool = True) -> None:
        """Write the key to ``folder`` atomically, readable by its owner only."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / FILE
        unfinished = folder / f".{FILE}.{os.getpid()}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps({"key": self.key.hex()}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if replace:
            unfinished.replace(path)
            return
        with contextlib.suppress(FileExistsError):  # another process was faster: its key is used
            os.link(unfinished, path)
        unfinished.unlink()

    def tag(self, purpose: str, value: str) -> str:
        """Return the hexadecimal HMAC-SHA-256 (RFC 2104) of ``value`` for one ``purpose``.

        Each purpose has a derived key, so that uses for different purposes are independent.
        """
        derived = hmac.digest(self.key, f"tag {purpose}".encode(), "sha256")
        return hmac.digest(derived, value.encode("utf-8", "surrogatepass"), "sha256").hex()
