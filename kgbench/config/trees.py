# SPDX-License-Identifier: Apache-2.0
"""A configuration as JSON values, with the line of every value, read from YAML 1.2 or JSON.

Positions are JSON pointers (RFC 6901): ``/tasks/0/label``; the empty pointer is the whole document.

The reader takes the events of ruamel.yaml, because they have line, tag and alias of every value,
and an alias can be refused before it is expanded. Plain scalars are resolved by the core schema
(YAML 1.2.2, section 10.3.2): ``no`` is a string, ``010`` is ten. JSON is YAML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kgbench.characters import one_line
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.secrets import HIDDEN, hide_pasted_keys

MAX_DEPTH = 32  # levels of objects and lists
MAX_NODES = 10_000  # values, after the expansion of aliases


_NULL = ("", "~", "null", "Null", "NULL")
_BOOLEAN = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# The forms of integers, the length of their prefix, and their base.
_INTEGERS = (
    (re.compile(r"[-+]?[0-9]+"), 0, 10),
    (re.compile(r"0o[0-7]+"), 2, 8),
    (re.compile(r"0x[0-9a-fA-F]+"), 2, 16),
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MAX_INTEGER = 2**63
_LONGEST = 80  # digits; no 64-bit number has more, leading zeros included
ADVICE = (
    "keys are read from the environment (such as OPENAI_API_KEY), never from a configuration: "
    "remove it here, and withdraw it if the file has been shared"
)


class Several(list[Any]):
    """The values of a key that has several in RDF, which are no list."""


@dataclass(slots=True)
class Tree:
    """The value of a document, the line of each pointer, and findings about single values.

    ``former`` maps top-level keys to the former names under which they were written, and ``given``
    those whose values replace the document's to the names of the arguments that gave them.
    """

    source: str
    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    former: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def finding(self, pointer: str, message: str, line: int | None = None) -> Finding:
        """Return a finding about the value at ``pointer``, with its line if it is known."""
        key, slash, rest = pointer[1:].partition("/")
        if key in self.given:
            return without_keys(Finding(self.given[key], "", message))
        if key in self.former:
            pointer = f"/{self.former[key]}{slash}{rest}"
        return without_keys(Finding(self.source, pointer, message, line or self._line(pointer)))

    def _line(self, pointer: str) -> int | None:
        """Return the line of ``pointer``, or of the nearest enclosing value that has one."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)

    def override(self, values: Mapping[str, tuple[str, Json]]) -> None:
        """Replace values of top-level keys; each new one has the name of the argument it is from.

        ``iterations`` replace ``iterationsPerCase``, too.
        """
        for key, (argument, value) in values.items():
            self.value[key] = value
            self.given[key] = argument
        if "iterations" in values:
            self.value.pop("iterationsPerCase", None)

    def note(self, pointer: str, message: str, line: int | None = None) -> None:
        """Add a finding; parsing continues, so that all findings are reported together."""
        self.findings.append(self.finding(pointer, message, line))

    def refusal(self, pointer: str, message: str, line: int | None = None) -> ConfigurationError:
        """Return the error for a document whose parsing cannot continue."""
        return ConfigurationError([*self.findings, self.finding(pointer, message, line)])


def below(pointer: str, key: str | int) -> str:
    """Return the pointer of the member ``key`` of the value at ``pointer``.

    >>> below("/tasks/0", "a/b~c")
    '/tasks/0/a~1b~0c'
    """
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def read(source: str, text: str, syntax: str = "YAML") -> Tree:
    """Parse the only document in ``text``; ``syntax`` is its name in messages.

    Raises :class:`~kgbench.errors.ConfigurationError` for invalid YAML, for several documents,
    tags, and aliases that stand before their anchor.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    tree = Tree(source)
    if "\x85" in text:  # the parser would read this character as the end of a line
        raise tree.refusal("", f"this is not {syntax}: it holds control characters")
    try:
        return _Reader(tree, YAML(typ="safe", pure=True).parse(text)).document()
    except MarkedYAMLError as error:
        # Only the problem: the context in the message quotes the file, which may contain a key.
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        after = str(error.problem).startswith("expected '<document start>'")
        problem = "expected the end of the file" if after else error.problem
        raise tree.refusal("", f"this is not {syntax}: {problem}", line) from None
    except YAMLError:
        raise tree.refusal("", f"this is not {syntax}: it holds control characters") from None
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # Bugs of the parser with unusual input, for example an impossible \U escape.
        raise tree.refusal("", f"this is not {syntax} ({type(error).__name__})") from None


class _Reader:
    def __init__(self, tree: Tree, events: Iterator[Any]) -> None:
        self.tree = tree
        self.events = events
        self.anchors: dict[str, tuple[Json, int]] = {}
        self.count = 0

    def document(self) -> Tree:
        next(self.events)  # the start of the stream
        start = next(self.events)
        if self._is(start, "StreamEnd"):
            raise self.tree.refusal("", "the file is empty")
        if getattr(start, "version", None) not in (None, (1, 2)):
            raise self.tree.refusal("", "only YAML 1.2 is read: remove the %YAML line", 1)
        self.tree.value = self._node(next(self.events), "", 0)
        next(self.events)  # the end of the document
        after = next(self.events)
        if not self._is(after, "StreamEnd"):
            line = after.start_mark.line + 1
            raise self.tree.refusal("", "a second YAML document starts here; write one", line)
        return self.tree

    @staticmethod
    def _is(event: Any, kind: str) -> bool:
        return type(event).__name__ == f"{kind}Event"

    def _node(self, event: Any, pointer: str, depth: int) -> Json:
        line = event.start_mark.line + 1
        self.tree.lines.setdefault(pointer, line)
        if depth > MAX_DEPTH:
            raise self.tree.refusal(pointer, f"nested deeper than {MAX_DEPTH} levels", line)
        if self._is(event, "Alias"):
            return self._alias(event.anchor, pointer)
        if event.ctag is not None:
            raise self.tree.refusal(pointer, "tags are not read here: remove the '!...' before it")
        before = self.count
        self._add(1, pointer)
        value: Json
        if self._is(event, "Scalar"):
            value = self._scalar(event, pointer)
        elif self._is(event, "SequenceStart"):
            value = self._sequence(pointer, depth)
        else:
            value = self._mapping(pointer, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.count - before)
        return value

    def _add(self, nodes: int, pointer: str) -> None:
        self.count += nodes
        if self.count > MAX_NODES:
            raise self.tree.refusal(
                pointer, f"the file holds more than {MAX_NODES} values, aliases expanded"
            )

    def _alias(self, anchor: str, pointer: str) -> Json:
        if anchor not in self.anchors:
            raise self.tree.refusal(
                pointer, "this alias stands before its anchor, or inside what it stands for"
            )
        value, size = self.anchors[anchor]
        self._add(size, pointer)
        return value

    def _sequence(self, pointer: str, depth: int) -> list[Json]:
        values: list[Json] = []
        while not self._is(event := next(self.events), "SequenceEnd"):
            values.append(self._node(event, below(pointer, len(values)), depth + 1))
        return values

    def _mapping(self, pointer: str, depth: int) -> dict[str, Json]:
        values: dict[str, Json] = {}
        while not self._is(event := next(self.events), "MappingEnd"):
            line = event.start_mark.line + 1
            key = self._key(event, pointer, line)
            position = below(pointer, key)
            if key in values:
                self.tree.note(position, f"the key '{key}' is given twice", line)
            self.tree.lines[position] = line
            values[key] = self._node(next(self.events), position, depth + 1)
        return values

    def _key(self, event: Any, pointer: str, line: int) -> str:
        if not self._is(event, "Scalar") or event.ctag is not None:
            raise self.tree.refusal(pointer, "a key must be a text without a tag", line)
        if event.implicit[0] and event.value == "<<":
            raise self.tree.refusal(
                pointer, "merge keys (<<) are not part of YAML 1.2: write the keys out", line
            )
        key = self._scalar(event, pointer)
        if not isinstance(key, str) or not key:
            self.tree.note(pointer, "a key must be a text that is not empty", line)
        return key if isinstance(key, str) else str(event.value)

    def _scalar(self, event: Any, pointer: str) -> Json:
        text = _joined(event.value)
        if any("\ud800" <= character <= "\udfff" for character in text):  # RDF does not allow them
            self.tree.note(pointer, "the text holds a lone surrogate, which is no character")
        return self._core(text, pointer) if event.implicit[0] else text

    def _core(self, text: str, pointer: str) -> Json:
        """Resolve a plain scalar by the core schema."""
        if text in _NULL:
            # The conversion to RDF would drop it.
            self.tree.note(pointer, "found nothing (null); write a value, or leave the key out")
            return None
        if text in _BOOLEAN:
            return _BOOLEAN[text]
        for form, prefix, base in _INTEGERS:
            if form.fullmatch(text):
                return self._whole(text[prefix:], base, pointer)
        if _NOT_FINITE.fullmatch(text) or _FLOAT.fullmatch(text):
            value = math.inf if _NOT_FINITE.fullmatch(text) else float(text)
            if math.isfinite(value):
                return value
            self.tree.note(pointer, "the number is not finite")
            return 0.0
        return text

    def _whole(self, text: str, base: int, pointer: str) -> int:
        if len(text) <= _LONGEST:
            value = int(text, base)
            if -_MAX_INTEGER <= value < _MAX_INTEGER:
                return value
        self.tree.note(pointer, "the number does not fit into 64 bits")
        return 0


def _joined(text: str) -> str:
    r"""Join the surrogate pairs by which JSON escapes characters beyond 16 bits.

    >>> _joined("\ud83d\ude00")
    '😀'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def hidden(text: str) -> str:
    """Replace everything in ``text`` that looks like a key."""
    return hide_pasted_keys(text, HIDDEN)


def without_keys(finding: Finding) -> Finding:
    """Replace keys in a finding, and escape control characters."""
    return replace(
        finding,
        source=one_line(hidden(finding.source)),
        pointer=one_line(hidden(finding.pointer)),
        message=one_line(hidden(finding.message)),
    )
