# SPDX-License-Identifier: Apache-2.0
"""The elements of a JSON array, decoded one by one while the file is read."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import NoReturn

from kgbench.errors import ImportRefused
from kgbench.model import Json

MAX_RECORD = 1 << 26
"""The most characters that one element may have."""

_STEP = 1 << 20  # characters that are decoded ahead
_FILLED = re.compile(r"[^ \t\n\r]")
_KINDS = {"{": "an object", '"': "a text", "t": "a truth value", "f": "a truth value", "n": "null"}
_NUMBER = frozenset("-0123456789")


def read_elements(chunks: Iterable[bytes], name: str) -> Iterator[Json]:
    """The elements of the one array in ``chunks``, the bytes of the file ``name``.

    At most one element and a few chunks are in memory. Lone surrogates and control characters
    inside texts are passed through as they are. Raises :class:`~kgbench.errors.ImportRefused` for
    what is no JSON array, and for an element of more than :data:`MAX_RECORD` characters.
    """
    text = _Text(_decoded(chunks, name), name)
    if (first := text.peek()) != "[":
        _refuse_other(text, first)
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


def _refuse_other(text: _Text, first: str) -> NoReturn:
    """Refuse a text that is no array, with the kind of value that it is."""
    value = text.value()
    kind = _KINDS.get(first, "a number")
    assert value is not None or kind == "null"
    raise ImportRefused(
        f"{text.name}: a list of records was expected, found {kind}: give the result file of a run"
    )


class _Text:
    """A window on a text that is read as needed; ``at`` is the next character in ``window``."""

    def __init__(self, parts: Iterator[str], name: str) -> None:
        self.name = name
        self.window = ""
        self.at = 0
        self._parts = parts
        self._dropped = _Position()
        self._decoder = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            found = _FILLED.search(self.window, self.at)
            self.at = len(self.window) if found is None else found.start()
            if found is not None:
                return self.window[self.at]
            if not self._grow():
                return ""

    def value(self) -> Json:
        """The value that begins at the next character that is no white space."""
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self.window, self.at)
            except json.JSONDecodeError as error:
                # Either the text is no JSON, or the window ends inside the value.
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
                continue  # a number may go on
            self.at = end
            return found

    def refused(self, message: str, at: int) -> ImportRefused:
        """The refusal of a text that is no JSON at the position ``at`` of the window."""
        line, column, character = self._dropped.after(self.window[:at])
        return ImportRefused(
            f"{self.name}: not JSON: {message}: line {line} column {column} (char {character})"
        )

    def _grow(self) -> bool:
        """Read on until the window has twice the unread characters; ``False`` at the end.

        Doubling keeps the total time of repeated attempts at a long value linear.
        """
        left = self.window[self.at :]
        parts, size = [left], 0
        for part in self._parts:
            parts.append(part)
            size += len(part)
            if size >= max(_STEP, len(left)):
                break
        if not size:
            return False
        self._dropped.advance(self.window[: self.at])
        self.window, self.at = "".join(parts), 0
        return True


class _Position:
    """Where the window begins in the whole text."""

    def __init__(self) -> None:
        self._lines = self._characters = self._line_start = 0

    def advance(self, text: str) -> None:
        """Move on by ``text``."""
        last = text.rfind("\n")
        if last >= 0:
            self._lines += text.count("\n")
            self._line_start = self._characters + last + 1
        self._characters += len(text)

    def after(self, text: str) -> tuple[int, int, int]:
        """Line and column (from 1) and character (from 0) of what follows ``text``."""
        character = self._characters + len(text)
        last = text.rfind("\n")
        start = self._line_start if last < 0 else self._characters + last + 1
        return self._lines + text.count("\n") + 1, character - start + 1, character


def _decoded(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """The text of ``chunks`` in the encoding that JSON tells by its first bytes."""
    decoder: codecs.IncrementalDecoder | None = None
    encoding, first, start = "", b"", 0
    for chunk in _with_end(chunks):
        if decoder is None:
            first += chunk
            if len(first) < 4 and chunk:  # noqa: PLR2004 - what the encoding is told by
                continue
            encoding = json.detect_encoding(first)
            decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
            chunk, first = first, b""  # noqa: PLW2901 - what has been held back
        held = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = start - held + error.start
            raise ImportRefused(
                f"{name}: not a JSON text: byte {at} is not valid {error.encoding}"
            ) from None
        start += len(chunk)
        if text:
            yield text.removeprefix("\ufeff") if start == len(chunk) else text


def _with_end(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks that are not empty, then an empty one."""
    yield from filter(None, chunks)
    yield b""


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
