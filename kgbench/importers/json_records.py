# SPDX-License-Identifier: Apache-2.0
"""Incremental reading of the elements of a JSON array."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

from kgbench.characters import BOM
from kgbench.errors import ImportRefused
from kgbench.model import Json

MAX_RECORD = 1 << 26
"""The largest number of characters of an element."""

NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""Numbers that JSON does not have, but some programs write; they are read as these texts."""

_STEP = 1 << 20  # characters that are decoded ahead
_NON_SPACE = re.compile(r"[^ \t\n\r]")
_KINDS = {"{": "an object", '"': "a text", "t": "a truth value", "f": "a truth value", "n": "null"}
_NUMBER = frozenset("-0123456789")


def read_elements(chunks: Iterable[bytes], name: str) -> Iterator[Json]:
    """Decode the elements of a JSON array from ``chunks``, the bytes of the file ``name``.

    At most one element and a few chunks are in memory. Lone surrogates and control characters
    in strings are kept; :data:`NOT_FINITE` are read as texts. Raises
    :class:`~kgbench.errors.ImportRefused` if the file is not a JSON array, and for an element of
    more than :data:`MAX_RECORD` characters.
    """
    text = _Text(_decoded(chunks, name), name)
    if (first := text.peek()) != "[":
        _refuse_non_array(text, first)
    text.at += 1
    if text.peek() == "]":
        text.at += 1
    else:
        while True:
            yield text.value()
            separator = text.peek()
            if separator not in {",", "]"}:
                raise text.refused("Expecting ',' delimiter", text.at)
            text.at += 1
            if separator == "]":
                break
    if text.peek():
        raise text.refused("Extra data", text.at)


def _refuse_non_array(text: _Text, first: str) -> NoReturn:
    """Raise an error that names the kind of value found in place of an array."""
    value = text.value()
    kind = _KINDS.get(first, "a number")
    assert value is not None or kind == "null"
    raise ImportRefused(
        f"{text.name}: a list of records was expected, found {kind}: give the result file of a run"
    )


class _Text:
    """A sliding window on a text that is read as needed; ``at`` indexes the next character."""

    def __init__(self, parts: Iterator[str], name: str) -> None:
        self.name = name
        self.window = ""
        self.at = 0
        self._parts = parts
        self._dropped = _Position()
        self._decoder = json.JSONDecoder(strict=False, parse_constant=str)

    def peek(self) -> str:
        """Skip white space and return the next character, or ``""`` at the end."""
        while True:
            match = _NON_SPACE.search(self.window, self.at)
            self.at = len(self.window) if match is None else match.start()
            if match is not None:
                return self.window[self.at]
            if not self._grow():
                return ""

    def value(self) -> Json:
        """Skip white space and decode the next value."""
        self.peek()
        while True:
            try:
                decoded, end = self._decoder.raw_decode(self.window, self.at)
            except json.JSONDecodeError as error:
                # Either the text is not JSON, or the window ends inside the value.
                if len(self.window) - self.at > MAX_RECORD:
                    raise ImportRefused(
                        f"{self.name}: a record has more than {MAX_RECORD} characters, or its end "
                        f"is missing"
                    ) from None
                if not self._grow():
                    raise self.refused(error.msg, error.pos) from None
                continue
            except RecursionError:
                raise ImportRefused(f"{self.name}: not a result file: nested too deeply") from None
            except ValueError as error:
                raise ImportRefused(f"{self.name}: not JSON: {error}") from None
            if end == len(self.window) and self._grow():
                continue  # a number may continue in the next chunk
            self.at = end
            return decoded

    def refused(self, message: str, at: int) -> ImportRefused:
        """Make the error for a text that is not JSON at the position ``at`` of the window."""
        line, column, character = self._dropped.after(self.window[:at])
        return ImportRefused(
            f"{self.name}: not JSON: {message}: line {line} column {column} (char {character})"
        )

    def _grow(self) -> bool:
        """Read until the number of unread characters has doubled; return ``False`` at the end.

        Doubling keeps the total time of repeated attempts at a long value linear.
        """
        unread = self.window[self.at :]
        parts, size = [unread], 0
        for part in self._parts:
            parts.append(part)
            size += len(part)
            if size >= max(_STEP, len(unread)):
                break
        if not size:
            return False
        self._dropped.advance(self.window[: self.at])
        self.window, self.at = "".join(parts), 0
        return True


class _Position:
    """The position of the window in the text."""

    def __init__(self) -> None:
        self._lines = self._characters = self._line_start = 0

    def advance(self, text: str) -> None:
        """Advance by ``text``."""
        line_end = text.rfind("\n")
        if line_end >= 0:
            self._lines += text.count("\n")
            self._line_start = self._characters + line_end + 1
        self._characters += len(text)

    def after(self, text: str) -> tuple[int, int, int]:
        """Return line and column (from 1) and character (from 0) of the position after ``text``."""
        character = self._characters + len(text)
        line_end = text.rfind("\n")
        start = self._line_start if line_end < 0 else self._characters + line_end + 1
        return self._lines + text.count("\n") + 1, character - start + 1, character


def _decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode ``chunks`` in the encoding that the first bytes of a JSON text reveal."""
    decoder: codecs.IncrementalDecoder | None = None
    encoding, first, start = "", b"", 0
    for chunk in _with_end_mark(chunks):
        if decoder is None:
            first += chunk
            if len(first) < 4 and chunk:  # noqa: PLR2004 - bytes that the detection needs
                continue
            encoding = json.detect_encoding(first)
            decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
            chunk, first = first, b""  # noqa: PLW2901 - the bytes that were held back
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = start - pending + error.start
            raise ImportRefused(
                f"{name}: not a JSON text: byte {at} is not valid {error.encoding}"
            ) from None
        start += len(chunk)
        if text:
            yield text.removeprefix(BOM) if start == len(chunk) else text


def _with_end_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks that are not empty, then an empty one as an end mark."""
    yield from filter(None, chunks)
    yield b""
