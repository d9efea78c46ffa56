# SPDX-License-Identifier: Apache-2.0
"""Conversations as messages of providers' protocols, with tool calls and results.

The record is text (:mod:`kgbench.tools.wording`); where tools are offered natively, this module
parses it into calls and results.
If the provider needs more than text back, the recorded state of the reply is sent instead, as it
was received (:class:`kgbench.model.Reply`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kgbench import rdf
from kgbench.connectors.bodies import text_of
from kgbench.model import Json, Request
from kgbench.tool_calls import ToolCall, ToolOutcome
from kgbench.tools import arguments, wording

_FAILED: Final = frozenset(
    (ToolOutcome.ERROR, ToolOutcome.REFUSED, ToolOutcome.OVER_BUDGET),
)
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")  # characters that providers reject in tool names
_LONGEST_NAME: Final = 64


class CallResult(NamedTuple):
    """The result of a call; ``failed`` for an error, a refusal, or a call over budget."""

    call: ToolCall
    text: str
    failed: bool = False


class ToolMessage(NamedTuple):
    """A message: from the model, with its calls, or to the model, with results or a text.

    ``state`` is the model's message as the provider sent it, if the provider needs it back.
    """

    of_model: bool
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[CallResult, ...] = ()
    state: Json = None


def conversation(request: Request, *, ids: bool = True) -> Iterator[ToolMessage]:
    """Yield the messages of a request; if it offers tools, parsed into calls and results.

    With ``ids``, calls without an id get one. Malformed calls and their results stay text; the note
    about the remaining budget is added to the last result. Lone surrogates, which JSON in UTF-8
    cannot represent, become U+FFFD.
    """
    calls: tuple[ToolCall, ...] = ()
    for k, message in enumerate(request.messages):
        clean = rdf.storable(message).value
        if not request.tools:
            yield ToolMessage(of_model=k % 2 == 1, text=clean)
        elif k % 2:
            text, parsed_calls = wording.split_calls(clean)
            calls = tuple(
                replace(item, id=f"call_{k}_{i}") if ids and item.id is None else item
                for i, item in enumerate(parsed_calls)
            )
            state = request.states[k // 2] if k // 2 < len(request.states) else None
            yield _of_model(text, calls, state)
        else:
            yield _to_model(clean, calls)


def state_of(message: Json) -> str | None:
    """Serialise a provider's message as the state of a reply; ``None`` if that is impossible."""
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return None


def _of_model(text: str, calls: Sequence[ToolCall], state: str | None) -> ToolMessage:
    malformed = [item.arguments for item in calls if item.malformed is not None]
    read = [item for item in calls if item.malformed is None]
    return ToolMessage(
        of_model=True,
        text="\n".join(filter(str.strip, [text, *malformed])),
        calls=tuple(replace(item, name=_sendable(item.name)) for item in read),
        state=None if state is None else json.loads(rdf.storable(state).value),
    )


def _to_model(message: str, calls: Sequence[ToolCall]) -> ToolMessage:
    parsed_results, note = wording.split_results(message) if calls else ([], message)
    results: list[CallResult] = []
    notes: list[str] = []
    for i, call in enumerate(calls):
        result = parsed_results[i] if i < len(parsed_results) else None
        text = "(not used)" if parsed_results else "(accepted)"
        if result is not None:
            text = result.text or f"({result.outcome})"
        if call.malformed is None:
            failed = result is not None and result.outcome in _FAILED
            results.append(CallResult(replace(call, name=_sendable(call.name)), text, failed))
        elif result is not None:
            notes.append(text)
    notes += [result.text for result in parsed_results[len(calls) :]]
    ending = "\n".join([*notes, note])
    if not results:
        return ToolMessage(of_model=False, text=ending)
    last = results[-1]
    results[-1] = last._replace(text=f"{last.text}\n{ending}")
    return ToolMessage(of_model=False, text="", results=tuple(results))


def _sendable(name: str) -> str:
    """Return the name of a tool in a form that providers accept; models may invent any name."""
    return _FOREIGN.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def parsed(call: ToolCall) -> dict[str, Json]:
    """Return the arguments of a call as an object; invalid ones are under ``malformed``."""
    try:
        return arguments.read(call.arguments)
    except ValueError:
        return {"malformed": call.arguments}


def call(name: Json, sent_arguments: Json, id_: Json = None) -> ToolCall:
    """Return a call as a provider sends it, with arguments as an object or as JSON text."""
    if not text_of(name):
        sent_arguments = "" if sent_arguments is None else sent_arguments
        return ToolCall(
            "", _as_text(sent_arguments), text_of(id_), malformed="the call names no tool"
        )
    return ToolCall(text_of(name) or "", _as_text(sent_arguments or {}), text_of(id_))


def _as_text(value: Json) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"  # not JSON, so the model gets an error
