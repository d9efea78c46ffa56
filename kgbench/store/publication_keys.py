# SPDX-License-Identifier: Apache-2.0
"""The key of a store, under which its publications replace digests of what they leave out.

The digest of a text or case confirms a correct guess of it. Digits that were made with a secret key
confirm nothing, and publishing again gives the same ones.

A store in a folder has it in its folder; for a store on a server it is on this machine, in the
user's state folder, because a server may be public. It must never be published.
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

from kgbench.errors import StoreError, WriteFailed
from kgbench.store import back_ends

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


def publication_key(location: str) -> PublicationKey:
    """Return the key of a store (:mod:`kgbench.store.publication_keys`).

    A new key is stored, except for a store in memory. Raises :class:`~kgbench.errors.StoreError`
    if the key is damaged or cannot be written.
    """
    folder = _folder(location)
    return PublicationKey.unkept() if folder is None else PublicationKey.read(folder)


def carry(source: str, target: str) -> None:
    """Copy the key of a store to its copy, which has none.

    Raises :class:`~kgbench.errors.StoreError` if the key is damaged or cannot be written.
    """
    old, new = _folder(source), _folder(target)
    if old is None or new is None or not (old / FILE).is_file():
        return
    try:
        PublicationKey.read(old).keep(new)
    except OSError as error:
        raise WriteFailed(f"{new / FILE} cannot be written: {error.strerror}") from error


def _folder(location: str) -> Path | None:
    if location == "memory:":
        return None
    if back_ends.is_remote(location):
        return back_ends.state_folder("keys", location)
    folder = Path(location)
    return folder if folder.is_dir() else None
