# SPDX-License-Identifier: Apache-2.0
"""Incremental reading of the elements of a YAML sequence written by Python's YAML dumper.

LLM-KG-Bench wrote some results as YAML with tags of Python objects. No such object is created: a
tagged mapping becomes a JSON object, a tuple a list, a time span the same text as in the JSON form
of the results. Values are built from the parser's events. An alias gives the value of its anchor;
the total size of aliases is limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from kgbench.api import ImportRefused, Json

MAX_WEIGHT = 1 << 26
"""The limit for an element, and for all anchored values together: characters plus values."""

_MAX_DEPTH = 100
_CORE = "tag:yaml.org,2002:"
_PYTHON = f"{_CORE}python/"
_TIME_SPAN = f"{_PYTHON}object/apply:datetime.timedelta"
_MAPPINGS = (f"{_PYTHON}object:", f"{_PYTHON}object/new:", f"{_PYTHON}dict")
_SEQUENCES = (f"{_PYTHON}tuple", f"{_PYTHON}list", f"{_PYTHON}object/new:")
_TEXTS = (f"{_CORE}str", f"{_PYTHON}str", f"{_PYTHON}unicode", "!")
_PLAIN = {f"{_CORE}{kind}" for kind in ("null", "bool", "int", "float", "timestamp")}
_WORDS: dict[str, Json] = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,400}\.[0-9]{0,400}([eE][-+]?[0-9]{1,4})?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[-+]\d\d:\d\d)?)?")


def read_elements(chunks: Iterable[bytes], name: str) -> Iterator[Json]:
    """Read the elements of a YAML sequence from ``chunks``, the bytes of the file ``name``.

    One element and the anchored values are in memory. Raises
    :class:`~kgbench.errors.ImportRefused`, with a line, if the file is not a YAML sequence, for
    unexpected tags, and for values that JSON cannot represent.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    parts = iter(chunks)
    stream = SimpleNamespace(read=lambda _: next(parts, b""))
    try:
        yield from _Reader(YAML(typ="safe", pure=True).parse(stream), name).elements()
    except MarkedYAMLError as error:
        mark = error.problem_mark
        location = "" if mark is None else f" in line {mark.line + 1}"
        raise ImportRefused(f"{name}: not YAML: {error.problem}{location}") from None
    except UnicodeDecodeError as error:
        raise ImportRefused(f"{name}: not YAML: it is not valid {error.encoding}") from None
    except RecursionError:
        raise ImportRefused(f"{name}: not a result file: nested too deeply") from None
    except YAMLError:
        raise ImportRefused(f"{name}: not YAML: it holds control characters") from None
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # The parser's own errors on odd input, for example an impossible \U escape.
        raise ImportRefused(f"{name}: not YAML ({type(error).__name__})") from None


class _Reader:
    """Builds values from events, and limits the weight (characters plus values) of an element."""

    def __init__(self, events: Iterator[Any], name: str) -> None:
        self._events = events
        self._name = name
        self._weight = 0
        self._anchored = 0
        self._anchors: dict[str, tuple[Json, int]] = {}

    def elements(self) -> Iterator[Json]:
        """Yield the elements of the top-level sequence."""
        self._next()  # the start of the stream
        if _is(self._next(), "StreamEnd"):
            raise ImportRefused(f"{self._name}: the file is empty")
        top = self._next()
        if not _is(top, "SequenceStart"):
            kind = "an object" if _is(top, "MappingStart") else "a single value"
            raise ImportRefused(
                f"{self._name}: a list of records was expected, found {kind}: give the result "
                f"file of a run"
            )
        while not _is(event := self._next(), "SequenceEnd"):
            self._weight = 0
            yield self._node(event, 0)
        self._next()  # the end of the document
        if not _is(after := self._next(), "StreamEnd"):
            raise self._refused(after, "a second document starts")

    def _next(self) -> Any:
        return next(self._events)

    def _node(self, event: Any, depth: int) -> Json:
        if depth > _MAX_DEPTH:
            raise ImportRefused(f"{self._name}: not a result file: nested too deeply")
        if _is(event, "Alias"):
            value, weight = self._anchors.get(event.anchor, (None, 0))
            if not weight:
                raise self._refused(event, "the alias precedes its anchor or is inside its value")
            self._add_weight(event, weight)
            return value
        before = self._weight
        self._add_weight(event, 1)
        tag = None if event.ctag is None else str(event.ctag)
        if _is(event, "Scalar"):
            self._add_weight(event, len(event.value))
            value = self._scalar(event, tag)
        elif _is(event, "SequenceStart"):
            value = self._sequence(event, tag, depth)
        else:
            value = self._mapping(event, tag, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._weight - before)
            self._anchored += self._weight - before
            if self._anchored > MAX_WEIGHT:
                raise self._refused(event, "the anchored values are too many")
        return value

    def _add_weight(self, event: Any, weight: int) -> None:
        self._weight += weight
        if self._weight > MAX_WEIGHT:
            raise self._refused(event, "the record is too large, aliases counted")

    def _sequence(self, event: Any, tag: str | None, depth: int) -> Json:
        values = []
        while not _is(item := self._next(), "SequenceEnd"):
            values.append(self._node(item, depth + 1))
        if tag == _TIME_SPAN:
            return self._time_span(event, values)
        if tag in {None, "!", f"{_CORE}seq"} or str(tag).startswith(_SEQUENCES):
            return values
        raise self._unknown_tag(event, tag)

    def _mapping(self, event: Any, tag: str | None, depth: int) -> Json:
        values: dict[str, Json] = {}
        while not _is(item := self._next(), "MappingEnd"):
            key = self._node(item, depth + 1)
            if isinstance(key, bool) or not isinstance(key, str | int):
                raise self._refused(item, "a key is neither a string nor an integer")
            values[str(key)] = self._node(self._next(), depth + 1)
        if tag == f"{_CORE}set":
            return list(values)
        if tag in {None, "!", f"{_CORE}map"} or str(tag).startswith(_MAPPINGS):
            return values
        raise self._unknown_tag(event, tag)

    def _scalar(self, event: Any, tag: str | None) -> Json:
        text: str = event.value
        if tag in _TEXTS or (tag is None and not event.implicit[0]):
            return text
        if tag is not None and tag not in _PLAIN:
            raise self._unknown_tag(event, tag)
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        if _NOT_FINITE.fullmatch(text):
            return json.dumps(float(text.replace(".", "")))  # one of json_records.NOT_FINITE
        if _MOMENT.fullmatch(text):
            return _moment(text)
        return text

    def _time_span(self, event: Any, values: Sequence[Json]) -> str:
        """Format ``timedelta(days, seconds, microseconds)`` as text."""
        if len(values) > 3 or any(type(v) not in {int, float} for v in values):  # noqa: PLR2004
            raise self._refused(event, "the time span is invalid")
        try:
            return str(timedelta(*values))
        except OverflowError:
            raise self._refused(event, "the time span is too long") from None

    def _unknown_tag(self, event: Any, tag: str | None) -> ImportRefused:
        visible = str(tag).removeprefix(_CORE)[:60].encode("unicode_escape").decode("ascii")
        return self._refused(event, f"the tag {visible} is not expected in result files")

    def _refused(self, event: Any, reason: str) -> ImportRefused:
        return ImportRefused(f"{self._name}: line {event.start_mark.line + 1}: {reason}")


def _is(event: Any, kind: str) -> bool:
    return type(event).__name__ == f"{kind}Event"


def _moment(text: str) -> str:
    """Format a time as in JSON results; text that only looks like one is returned unchanged."""
    if len(text) == len("2023-12-05"):
        return text
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return text
