# SPDX-License-Identifier: Apache-2.0
"""Reading JSON and JSON Lines of published data, with errors that name file and line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final

from kgbench.errors import ImportRefused
from kgbench.model import Json

MOST: Final = 1 << 26
"""The most bytes of a line, and of a file that is read whole."""


def text(path: Path) -> str:
    """The text of a file in UTF-8.

    Raises :class:`~kgbench.errors.ImportRefused` where it is missing or in another encoding, or has
    more than :data:`MOST` bytes.
    """
    with _reading(path) as file:
        if os.fstat(file.fileno()).st_size > MOST:
            raise ImportRefused(
                f"{path} has more than {MOST} bytes: this data set has no such file"
            )
        content = file.read()
    return _decoded(content, path, 0)


def digest(path: Path) -> bytes:
    """The SHA-256 of a file."""
    with _reading(path) as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def _reading(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror or error}") from error


def _decoded(content: bytes, path: Path, start: int) -> str:
    """The text of bytes that stand at ``start`` in a file."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportRefused(
            f"{path}: byte {start + error.start} is not UTF-8: the file is damaged or in another "
            "encoding"
        ) from error


def structure(path: Path) -> Json:
    """The content of a JSON file.

    Raises :class:`~kgbench.errors.ImportRefused` where it is none, or has halves of characters.
    """
    try:
        found = json.loads(text(path))
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{path} is not valid JSON: {error}") from error
    if half := _half(json.dumps(found, ensure_ascii=False)):
        raise ImportRefused(f"{path} has a lone surrogate: {half}")
    return found


def records(path: Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are passed over.

    The file is read line by line. Raises :class:`~kgbench.errors.ImportRefused`, naming the line,
    for what is not an object, and for a line of more than :data:`MOST` bytes.
    """
    for number, line in _numbered(path):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportRefused(
                f"{path}:{number}: the line is not valid JSON, perhaps cut off: {error}"
            ) from error
        if not isinstance(found, dict):
            raise ImportRefused(f"{path}:{number}: the line is not a JSON object")
        yield number, found


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    number = start = 0
    with _reading(path) as file:
        while content := file.readline(MOST + 1):
            number += 1
            if len(content) > MOST:
                raise ImportRefused(f"{path}:{number}: the line has more than {MOST} bytes")
            yield number, _decoded(content, path, start)
            start += len(content)


def word(record: Mapping[str, Json], field: str, path: Path, number: int) -> str:
    """A text that a record must have, and that must be one: without halves of characters."""
    value = record.get(field)
    if not isinstance(value, str):
        found = "is missing" if value is None else "is not a string"
        raise ImportRefused(f"{path}:{number}: {field} {found}")
    if half := _half(value):
        raise ImportRefused(f"{path}:{number}: {field} has a lone surrogate: {half}")
    return value


def _half(value: str) -> str | None:
    """The first lone surrogate, escaped: JSON can write what no text in UTF-8 can hold."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        return ascii(value[error.start])
    return None
