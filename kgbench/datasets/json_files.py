# SPDX-License-Identifier: Apache-2.0
"""Reading of JSON and JSON Lines files, with errors that name file and line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final

from kgbench.characters import BOM
from kgbench.errors import ImportRefused
from kgbench.model import Json

MOST: Final = 1 << 26
"""The largest size (bytes) of a line, and of a file that is read into memory."""


def read_text(path: Path) -> str:
    """Read a text file in UTF-8.

    Raises :class:`~kgbench.errors.ImportRefused` if it is missing, in another encoding, or larger
    than :data:`MOST`.
    """
    with _open(path) as file:
        if os.fstat(file.fileno()).st_size > MOST:
            raise ImportRefused(
                f"{path} has more than {MOST} bytes: this data set has no such file"
            )
        content = file.read()
    return _decoded(content, path, 0)


def file_sha256(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with _open(path) as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextmanager
def _open(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror or error}") from error


def _decoded(content: bytes, path: Path, start: int) -> str:
    """Decode bytes that begin at offset ``start`` of a file, which may begin with a BOM."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportRefused(
            f"{path}: byte {start + error.start} is not UTF-8: the file is damaged or in another "
            "encoding"
        ) from error
    return text.removeprefix(BOM) if start == 0 else text


def read_json(path: Path) -> Json:
    """Read a JSON file.

    Raises :class:`~kgbench.errors.ImportRefused` if it is not valid JSON or has lone surrogates.
    """
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{path} is not valid JSON: {error}") from error
    if surrogate := _lone_surrogate(json.dumps(content, ensure_ascii=False)):
        raise ImportRefused(f"{path} has a lone surrogate: {surrogate}")
    return content


def read_json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Iterate over the objects of a JSON Lines file with their line numbers, skipping blank lines.

    Raises :class:`~kgbench.errors.ImportRefused`, with the line number, for a line that is not an
    object or larger than :data:`MOST`.
    """
    for number, line in _numbered(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportRefused(
                f"{path}:{number}: the line is not valid JSON, perhaps cut off: {error}"
            ) from error
        if not isinstance(record, dict):
            raise ImportRefused(f"{path}:{number}: the line is not a JSON object")
        yield number, record


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    number = start = 0
    with _open(path) as file:
        while content := file.readline(MOST + 1):
            number += 1
            if len(content) > MOST:
                raise ImportRefused(f"{path}:{number}: the line has more than {MOST} bytes")
            yield number, _decoded(content, path, start)
            start += len(content)


def required_string(record: Mapping[str, Json], field: str, path: Path, number: int) -> str:
    """Return the string in a required field of a record.

    Raises :class:`~kgbench.errors.ImportRefused`, with file and line, if it is missing, not a
    string, or has lone surrogates.
    """
    value = record.get(field)
    if not isinstance(value, str):
        problem = "is missing" if value is None else "is not a string"
        raise ImportRefused(f"{path}:{number}: {field} {problem}")
    if surrogate := _lone_surrogate(value):
        raise ImportRefused(f"{path}:{number}: {field} has a lone surrogate: {surrogate}")
    return value


def _lone_surrogate(value: str) -> str | None:
    """Return the first lone surrogate, escaped: JSON can contain them, UTF-8 cannot."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        return ascii(value[error.start])
    return None
