# SPDX-License-Identifier: Apache-2.0
"""Configuration files as text, with their syntax."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgbench.errors import ConfigurationError, Finding

MAX_BYTES = 256 * 1024  # forty times the largest known configuration

SYNTAXES = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".yamlld": "yaml",
    ".json": "json",
    ".jsonld": "json",
    ".ttl": "turtle",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A file: its name in messages, path, syntax (a value of :data:`SYNTAXES`) and text."""

    source: str
    path: Path
    syntax: str
    text: str


def read(path: Path, source: str) -> Document:
    """Read the file at ``path``.

    Raises :class:`~kgbench.errors.ConfigurationError` if it is missing, not a file, too large,
    empty, not UTF-8, or has an unknown suffix.
    """
    syntax = SYNTAXES.get(path.suffix.lower())
    try:
        if not path.exists():
            raise _refusal(source, "there is no such file")
        if not path.is_file():
            raise _refusal(source, "this is not a file")
        if syntax is None:
            raise _refusal(source, f"unknown kind of file; known are {', '.join(SYNTAXES)}")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name cannot be used"
        raise _refusal(source, f"the file cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise _refusal(source, f"the file is larger than {MAX_BYTES // 1024} KiB")
    return Document(source, path, syntax, _decoded(raw, source))


def _decoded(raw: bytes, source: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8 (byte {error.start}); save it as UTF-8"
        raise _refusal(source, message, line) from None
    if not text.strip():
        raise _refusal(source, "the file is empty")
    return text


def _refusal(source: str, message: str, line: int | None = None) -> ConfigurationError:
    return ConfigurationError([Finding(source, "", message, line)])
