# SPDX-License-Identifier: Apache-2.0
r"""The protocol of the pipes between kgbench and a judging child: JSON in frames.

A frame is its length (four bytes, big-endian) and that many bytes of JSON. Texts are UTF-8 with
surrogates passed through: escaped as ``\ud83d\ude00``, two lone surrogates would be decoded as one
character.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from kgbench.model import Case, Json, Outcome, Verdict
from kgbench.tool_calls import ToolOutcome, ToolResult

_LENGTH = struct.Struct("!I")


def encode(message: Json) -> bytes:
    """Encode ``message`` as a frame."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    body = text.encode("utf-8", "surrogatepass")
    return _LENGTH.pack(len(body)) + body


def read(stream: BinaryIO) -> Json | None:
    """Read the next message of a stream; ``None`` at its end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return None if len(body) < length else _decoded(body)


class Decoder:
    """An incremental decoder of frames from chunks of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Json]:
        """Yield the messages that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield _decoded(body)


def case_to_json(case: Case) -> dict[str, Json]:
    """Convert a case to JSON; :func:`case_from_json` reverses it."""
    return {
        "iri": case.iri,
        "suite": case.suite,
        "task_class": case.task_class,
        "parameters": dict(case.parameters),
        "data": dict(case.data),
        "digest": case.digest,
        "uid": case.uid,
    }


def case_from_json(value: Mapping[str, Any]) -> Case:
    """Restore a case from :func:`case_to_json`."""
    return Case(**value)


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Convert a verdict to JSON; :func:`verdict_from_json` reverses it."""
    return {
        "scores": dict(verdict.scores),
        "infos": dict(verdict.infos),
        "outcome": verdict.outcome,
        "next_prompt": verdict.next_prompt,
        "feedback": verdict.feedback,
    }


def verdict_from_json(value: Mapping[str, Any]) -> Verdict:
    """Restore a verdict from :func:`verdict_to_json`."""
    return Verdict(**{**value, "outcome": Outcome(value["outcome"])})


def result_to_json(result: ToolResult) -> dict[str, Json]:
    """Convert a tool's result to JSON; :func:`result_from_json` reverses it."""
    return {"text": result.text, "outcome": result.outcome}


def result_from_json(value: Mapping[str, Any]) -> ToolResult:
    """Restore a tool's result from :func:`result_to_json`."""
    return ToolResult(value["text"], ToolOutcome(value["outcome"]))


def _decoded(body: bytes) -> Json:
    return json.loads(body.decode("utf-8", "surrogatepass"))
