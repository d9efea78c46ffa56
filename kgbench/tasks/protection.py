# SPDX-License-Identifier: Apache-2.0
"""Protection of the data of tasks: encrypted files, their keys, and the canary.

An encrypted file is text: a line with the name of the format, the fingerprint of the key, the
canary of kgbench, an empty line, and base64 of a salt of 32 bytes and the AES-256-GCM ciphertext.
The salt is the HMAC-SHA-256, by the key, of the file's name and content; the file key is derived
from the key and this salt by HKDF-SHA-256. So the same file and key give the same bytes, different
files never share a file key, and a file that was altered, truncated or renamed does not decrypt.

In place, the new file is on disk before the old one is deleted, so that no failure can lose data.

There are two keys: the published one, which is shipped with kgbench and only keeps crawlers from
reading reference answers, and the user's own, from a key file or an environment variable.

The canary is an identifier in every file with prompts or data of tasks, but in no prompt.
Collectors of training texts can exclude files with the canary; a model that can reproduce it was
trained on such files. The canary is declared with the suite of kgbench's own cases
(``ontology/suites.ttl``, property ``kgb:canary``). Other packages may use identifiers of their own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.model import Json
from kgbench.rdf.declared import shipped
from kgbench.vocab import BASE, KGB

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


SUFFIX: Final = ".enc"
SHORTEST_KEY: Final = 20  # characters; short ones can be guessed

_FORMAT = "kgbench encrypted file 1"
_SALT = 32  # bytes
_NONCE = bytes(12)  # each file key encrypts one content only
_WIDTH = 100


def fingerprint(key: str) -> str:
    """Eight hex digits that distinguish keys and reveal nothing else about them."""
    return _mac(key, b"fingerprint")[:4].hex()


def seal(name: str, content: bytes, key: str) -> str:
    """Encrypt ``content`` of the file ``name`` (without folder and ``.enc``) with ``key``.

    Raises :class:`~kgbench.errors.ResourceError` for a key that is too short.
    """
    if len(key) < SHORTEST_KEY:
        raise ResourceError(
            f"the key for {name} has {len(key)} characters: take a random one of at least "
            f"{SHORTEST_KEY}, for example from 'openssl rand -base64 32'"
        )
    salt = _mac(key, b"salt", name.encode("utf-8"), content)
    sealed = salt + _cipher(key, salt).encrypt(_NONCE, content, name.encode("utf-8"))
    coded = textwrap.wrap(base64.b64encode(sealed).decode("ascii"), _WIDTH)
    return "\n".join([_FORMAT, f"key {fingerprint(key)}", canary_line(), "", *coded, ""])


def unseal(place: str, name: str, sealed: str, keys: Iterable[str]) -> bytes:
    """Decrypt the content of the file ``name`` with the matching one of ``keys``.

    ``place`` is the name of the file in error messages. Raises
    :class:`~kgbench.errors.ResourceError` if no key matches, or if the file was truncated, altered
    or renamed.
    """
    head, _, coded = sealed.partition("\n\n")
    wanted_fingerprint = wanted_key(head.splitlines())
    if wanted_fingerprint is None:
        raise ResourceError(f"{place} is not a file that 'kgbench tasks encrypt' has written")
    key = next(
        (candidate for candidate in keys if fingerprint(candidate) == wanted_fingerprint), None
    )
    if key is None:
        raise ResourceError(no_key(place, wanted_fingerprint))
    from cryptography.exceptions import InvalidTag

    try:
        decoded = base64.b64decode("".join(coded.split()), validate=True)
        salt, body = decoded[:_SALT], decoded[_SALT:]
        content: bytes = _cipher(key, salt).decrypt(_NONCE, body, name.encode("utf-8"))
    except (binascii.Error, ValueError, InvalidTag) as error:
        raise ResourceError(
            f"{place} is damaged: it was cut short, altered or renamed since it was encrypted; "
            f"take a fresh copy of it"
        ) from error
    return content


def wanted_key(head: Sequence[str]) -> str | None:
    """Return the fingerprint of the key, from the first lines of an encrypted file.

    It is empty if the file was truncated, and ``None`` if the file is not encrypted.
    """
    if not head or head[0] != _FORMAT:
        return None
    return head[1].removeprefix("key ") if len(head) > 1 else ""


def no_key(place: str, wanted_fingerprint: str) -> str:
    """Return the error message about a file whose key, with this fingerprint, is not available."""
    return (
        f"{place} is encrypted with a key that was not given "
        f"(fingerprint {wanted_fingerprint or 'missing'}): "
        f"set KGBENCH_TASK_KEY to its key, or name the file with the key by --key-file"
    )


def _mac(key: str, *parts: bytes) -> bytes:
    """HMAC-SHA-256 over the parts, each preceded by its length."""
    mac = hmac.new(key.encode("utf-8"), digestmod=hashlib.sha256)
    for part in parts:
        mac.update(len(part).to_bytes(8, "big") + part)
    return mac.digest()


def _cipher(key: str, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derive = HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"kgbench task file")
    return AESGCM(derive.derive(key.encode("utf-8")))


def files_to_decrypt(paths: Iterable[Path]) -> list[Path]:
    """Return the files to decrypt: files among ``paths``, and ``.enc`` files in folders among them.

    Raises :class:`~kgbench.errors.ResourceError` if there are none.
    """
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path])
    ]
    if not files:
        raise ResourceError("nothing to decrypt: no such files")
    return files


def encrypt(paths: Sequence[Path], key: str) -> list[Path]:
    """Replace files by encrypted ones, all or none; return the paths of the encrypted files.

    Plain files are deleted only after all encrypted ones are on disk and decrypt to the same
    content. Raises :class:`~kgbench.errors.ResourceError` if a file cannot be read or written.
    """
    targets: list[Path] = []
    try:
        for path in paths:
            target = path.with_name(path.name + SUFFIX)
            content = _read(path)
            _write(target, seal(path.name, content, key).encode("utf-8"))
            targets.append(target)
            _verify(target, path.name, content, key)
    except BaseException:
        for target in targets:
            target.unlink(missing_ok=True)
        raise
    for path in paths:
        path.unlink()
    return targets


def decrypt(path: Path, keys: Sequence[str]) -> Path:
    """Replace the encrypted file at ``path`` by its plain content; return the new path.

    Raises :class:`~kgbench.errors.ResourceError` if none of ``keys`` decrypts it.
    """
    if path.suffix != SUFFIX:
        raise ResourceError(f"{path} is not encrypted: its name does not end with {SUFFIX}")
    target = path.with_suffix("")
    text = _read(path).decode("utf-8", "replace")
    _write(target, unseal(str(path), target.name, text, keys))
    path.unlink()
    return target


def _verify(target: Path, name: str, content: bytes, key: str) -> None:
    """Raise :class:`ResourceError` unless the file on disk decrypts to ``content``."""
    written = _read(target).decode("utf-8")
    if unseal(str(target), name, written, [key]) != content:
        raise ResourceError(f"{target} does not decrypt to {name}: nothing was encrypted")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResourceError(f"{path} cannot be read: {error.strerror or error}") from error


def _write(target: Path, content: bytes) -> None:
    """Write a new file completely and sync it to disk, or leave no file."""
    try:
        with target.open("xb") as stream:
            try:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            except BaseException:
                target.unlink()
                raise
    except FileExistsError as error:
        raise ResourceError(f"{target} exists: remove it first") from error
    except OSError as error:
        raise ResourceError(f"{target} cannot be written: {error}") from error


VARIABLE: Final = "KGBENCH_TASK_KEY"

_handed: list[str] = []  # the key that a command set in this process


def available_keys() -> list[str]:
    """Return all available keys: of :func:`set_key`, of the environment, and the published one."""
    user_key = os.environ.get(VARIABLE)
    return [*_handed, *([user_key] if user_key else []), published_key()]


def user_key() -> str | None:
    """Return the key set by :func:`set_key`, else the one in the environment, else ``None``."""
    return _handed[0] if _handed else os.environ.get(VARIABLE) or None


def set_key(key: str | None) -> None:
    """Set the key of this process; ``None`` removes it."""
    _handed[:] = [] if key is None else [key]


@cache
def published_key() -> str:
    """Return the key of kgbench's own encrypted files."""
    return read_key_file(resources.path("tasks", "published.key"))


def read_key_file(path: Path) -> str:
    """Read the key in a file: its only line that is neither empty nor begins with ``#``."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or error
        raise ResourceError(f"the key file {path} cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        raise ResourceError(f"the key file {path} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if len(keys) != 1:
        raise ResourceError(f"the key file {path} has {len(keys)} lines with a key instead of one")
    return keys[0]


_SUITE: Final = f"{BASE}suite/kgbench-1"
_CANARY_KEY: Final = "canary"  # in JSON files, which have no comments

_CANARY_MARK = r"kgbench canary GUID [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_CANARY_LINE = re.compile(rf"\A(?:# )?{_CANARY_MARK}[^\n]*\n")
_CANARY = re.compile(_CANARY_MARK)


@cache
def canary_guid() -> str:
    """Return the identifier of kgbench's own suite."""
    return shipped("ontology", "suites.ttl").required(ox.NamedNode(_SUITE), KGB.canary)


def canary_line() -> str:
    """Return the first line of a file with prompts or data (in Turtle after ``# ``)."""
    return f"kgbench canary GUID {canary_guid()}: benchmark data, keep out of training texts"


def without_canary(text: str) -> str:
    """Return ``text`` without its first line, if that is a canary."""
    return _CANARY_LINE.sub("", text, count=1)


def without_canary_key(value: Json) -> Json:
    """Return a JSON value without the canary key, if it is an object with one."""
    if isinstance(value, dict) and _CANARY.match(str(value.get(_CANARY_KEY))):
        return {key: item for key, item in value.items() if key != _CANARY_KEY}
    return value
