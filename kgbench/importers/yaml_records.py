# SPDX-License-Identifier: Apache-2.0
"""Reading of a YAML sequence that Python's YAML dumper wrote, as LLM-KG-Bench did in December 2023.

The tags name Python objects. No such object is created: a tagged mapping becomes a JSON object, a
tuple a list, a time span the same text as in the JSON form of the results. The parser gives nodes,
of which an alias is the one of its anchor; the total size of the values is limited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from kgbench.errors import ImportRefused
from kgbench.model import Json

MAX_BYTES = 1 << 22
"""The largest file, which is read as a whole (bytes)."""

MAX_WEIGHT = 1 << 23
"""The limit for all values of a file, aliases counted: characters plus values."""

_MAX_DEPTH = 100
_CORE = "tag:yaml.org,2002:"
_OBJECT = ("python/object:", "python/object/new:")
_TIME_SPAN = "python/object/apply:datetime.timedelta"
_MAPPINGS = ("map", "python/dict")
_SEQUENCES = ("seq", "python/tuple", "python/list")
_TEXTS = ("!", "str", "python/str", "python/unicode")


def read_elements(chunks: Iterable[bytes], name: str) -> Iterator[Json]:
    """Read the elements of a YAML sequence from ``chunks``, the bytes of the file ``name``.

    Raises :class:`~kgbench.errors.ImportRefused`, with a line, if the file is not a YAML sequence,
    for unexpected tags, and for values that JSON cannot represent.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    content = b""
    for chunk in chunks:
        content += chunk
        if len(content) > MAX_BYTES:
            raise ImportRefused(f"{name}: larger than {MAX_BYTES} bytes, the most of a YAML file")
    try:
        document = YAML(typ="safe", pure=True).compose(content)
        yield from _Values(name).elements(document)
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


class _Values:
    """Makes the values of nodes, and limits their total weight."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._weight = 0

    def elements(self, document: Any) -> Iterator[Json]:
        """Yield the elements of the top-level sequence."""
        if document is None:
            raise ImportRefused(f"{self._name}: the file is empty")
        if document.id != "sequence":
            kind = "an object" if document.id == "mapping" else "a single value"
            raise ImportRefused(
                f"{self._name}: a list of records was expected, found {kind}: give the result "
                f"file of a run"
            )
        for node in document.value:
            yield self._value(node, 1)

    def _value(self, node: Any, depth: int) -> Json:
        if depth > _MAX_DEPTH:
            raise ImportRefused(f"{self._name}: not a result file: nested too deeply")
        self._weight += 1 + len(node.value)
        if self._weight > MAX_WEIGHT:
            raise self._refused(node, "the values are too large, aliases counted")
        tag = str(node.tag).removeprefix(_CORE)
        if node.id == "scalar":
            return self._scalar(node, tag)
        if node.id == "sequence":
            items = [self._value(item, depth + 1) for item in node.value]
            if tag == _TIME_SPAN:
                return self._time_span(node, items)
            if tag in _SEQUENCES or tag.startswith(_OBJECT):
                return items
        elif tag in (*_MAPPINGS, "set") or tag.startswith(_OBJECT):
            members = {
                self._key(key, depth): self._value(value, depth + 1) for key, value in node.value
            }
            return list(members) if tag == "set" else members
        raise self._unknown_tag(node, tag)

    def _key(self, node: Any, depth: int) -> str:
        key = self._value(node, depth + 1)
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise self._refused(node, "a key is neither a string nor an integer")
        return str(key)

    def _scalar(self, node: Any, tag: str) -> Json:
        text: str = node.value
        if tag in _TEXTS:
            return text
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() == "true"
        if tag == "int":
            return int(text)
        if tag == "float":
            number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            # Otherwise one of json_records.NOT_FINITE.
            return number if abs(number) < float("inf") else json.dumps(number)
        if tag == "timestamp":
            return _moment(text)
        raise self._unknown_tag(node, tag)

    def _time_span(self, node: Any, values: Sequence[Json]) -> str:
        """Format ``timedelta(days, seconds, microseconds)`` as text."""
        if len(values) > 3 or any(type(v) not in {int, float} for v in values):  # noqa: PLR2004
            raise self._refused(node, "the time span is invalid")
        try:
            return str(timedelta(*values))
        except OverflowError:
            raise self._refused(node, "the time span is too long") from None

    def _unknown_tag(self, node: Any, tag: str) -> ImportRefused:
        visible = tag[:60].encode("unicode_escape").decode("ascii")
        return self._refused(node, f"the tag {visible} is not expected in result files")

    def _refused(self, node: Any, reason: str) -> ImportRefused:
        return ImportRefused(f"{self._name}: line {node.start_mark.line + 1}: {reason}")


def _moment(text: str) -> str:
    """Format a time as in JSON results; text that only looks like one is returned unchanged."""
    if len(text) == len("2023-12-05"):
        return text
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return text
