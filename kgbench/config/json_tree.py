# SPDX-License-Identifier: Apache-2.0
"""A JSON parser (RFC 8259) that produces a :class:`~kgbench.config.trees.Tree`.

It parses objects and lists itself, to get lines, repeated keys and depth; strings are parsed by the
standard library.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from json import JSONDecodeError, JSONDecoder

from kgbench.config.trees import (
    MAX_NODES,
    Tree,
    below,
    check_depth,
    check_text,
    note_null,
    whole_number,
)
from kgbench.errors import ConfigurationError
from kgbench.model import Json

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRING = JSONDecoder()


def read(source: str, text: str) -> Tree:
    """Parse ``text``.

    Raises :class:`~kgbench.errors.ConfigurationError` for invalid or too much JSON.
    """
    return _Reader(source, text).document()


class _Reader:
    def __init__(self, source: str, text: str) -> None:
        self.tree = Tree(source)
        self.text = text
        self.at = 0
        self.count = 0
        self.breaks = [k for k, character in enumerate(text) if character == "\n"]

    def document(self) -> Tree:
        if not self.text.strip():
            raise self.tree.refusal("", "the file is empty")
        self.tree.value = self._value("", 0)
        self._skip()
        if self.at < len(self.text):
            raise self._error("the end of the file")
        return self.tree

    def _line(self) -> int:
        return bisect_right(self.breaks, self.at - 1) + 1

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = self.at if blank is None else blank.end()

    def _peek(self) -> str:
        self._skip()
        return self.text[self.at : self.at + 1]

    def _error(self, expected: str) -> ConfigurationError:
        return self.tree.refusal("", f"this is not JSON: expected {expected}", self._line())

    def _take(self, expected: str) -> None:
        if self._peek() != expected:
            raise self._error(f"'{expected}'")
        self.at += 1

    def _value(self, pointer: str, depth: int) -> Json:
        first = self._peek()
        self.tree.lines.setdefault(pointer, self._line())
        check_depth(self.tree, pointer, depth, self._line())
        self.count += 1
        if self.count > MAX_NODES:
            raise self.tree.refusal(pointer, f"the file holds more than {MAX_NODES} values")
        if first == "{":
            return self._object(pointer, depth)
        if first == "[":
            return self._list(pointer, depth)
        if first == '"':
            text = self._string()
            check_text(self.tree, pointer, text)
            return text
        return self._word(pointer)

    def _object(self, pointer: str, depth: int) -> dict[str, Json]:
        values: dict[str, Json] = {}
        self._take("{")
        while self._peek() != "}":
            if values:
                self._take(",")
            if self._peek() != '"':
                raise self._error("a key in double quotes")
            line = self._line()
            key = self._string()
            position = below(pointer, key)
            check_text(self.tree, pointer, key)
            if not key:
                self.tree.note(pointer, "a key must be a text that is not empty", line)
            if key in values:
                self.tree.note(position, f"the key '{key}' is given twice", line)
            self._take(":")
            self.tree.lines[position] = line
            values[key] = self._value(position, depth + 1)
        self._take("}")
        return values

    def _list(self, pointer: str, depth: int) -> list[Json]:
        values: list[Json] = []
        self._take("[")
        while self._peek() != "]":
            if values:
                self._take(",")
            values.append(self._value(below(pointer, len(values)), depth + 1))
        self._take("]")
        return values

    def _string(self) -> str:
        try:
            value, self.at = _STRING.raw_decode(self.text, self.at)
        except JSONDecodeError as error:
            self.at = error.pos
            raise self._error("a text that ends, with valid escapes") from None
        return str(value)

    def _word(self, pointer: str) -> Json:
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                if value is None:
                    note_null(self.tree, pointer)
                return value
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise self._error("a value")
        self.at = number.end()
        if number[2] is None and number[3] is None:
            return whole_number(self.tree, pointer, number[0])
        real = float(number[0])
        if not math.isfinite(real):
            self.tree.note(pointer, "the number is not finite")
            return 0.0
        return real
