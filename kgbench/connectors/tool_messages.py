# SPDX-License-Identifier: Apache-2.0
"""Conversations with tool calls and results, as messages of a protocol that knows tools.

What is recorded is text (:mod:`kgbench.tools.wording`); here it becomes calls and results again.
Where the provider wants something back that is no text, the recorded state of the reply is sent
instead, as it was received (:class:`kgbench.model.Reply`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kgbench import rdf
from kgbench.connectors.bodies import text_of
from kgbench.model import Json
from kgbench.tool_calls import ToolCall, ToolOutcome
from kgbench.tools import arguments, wording

_FAILED: Final = frozenset(
    (ToolOutcome.ERROR, ToolOutcome.REFUSED, ToolOutcome.OVER_BUDGET),
)
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")  # in names of tools, which providers then refuse
_LONGEST_NAME: Final = 64


class Answered(NamedTuple):
    """The result of a call; ``failed`` where it is an error, was refused, or is over budget."""

    call: ToolCall
    text: str
    failed: bool = False


class Said(NamedTuple):
    """One message: of the model with its calls, or to it with results or a text.

    ``state`` is the message of the model as the provider sent it, where it wants that back.
    """

    of_model: bool
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[Answered, ...] = ()
    state: Json = None


def conversation(
    messages: Sequence[str], states: Sequence[str | None] = (), *, ids: bool = True
) -> Iterator[Said]:
    """The messages of a conversation in which tools are offered, with their structure.

    ``states`` are those of the answers, in their order. With ``ids`` calls that have none get one.
    Calls that could not be read are text, and so are their results; what is left of the budget is
    told with the last result. Lone surrogates become U+FFFD.
    """
    calls: tuple[ToolCall, ...] = ()
    for k, message in enumerate(messages):
        clean = rdf.storable(message).value
        if k % 2:
            text, made = wording.spoken(clean)
            calls = tuple(
                replace(one, id=f"call_{k}_{i}") if ids and one.id is None else one
                for i, one in enumerate(made)
            )
            state = states[k // 2] if k // 2 < len(states) else None
            yield _of_model(text, calls, state)
        else:
            yield _to_model(clean, calls)


def state_of(message: Json) -> str | None:
    """A message of a provider as the state of a reply; ``None`` for what cannot be sent back."""
    try:
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return None


def _of_model(text: str, calls: Sequence[ToolCall], state: str | None) -> Said:
    unread = [one.arguments for one in calls if one.malformed is not None]
    read = [one for one in calls if one.malformed is None]
    return Said(
        of_model=True,
        text="\n".join(filter(str.strip, [text, *unread])),
        calls=tuple(replace(one, name=_sendable(one.name)) for one in read),
        state=None if state is None else json.loads(rdf.storable(state).value),
    )


def _to_model(message: str, calls: Sequence[ToolCall]) -> Said:
    told, note = wording.told(message) if calls else ([], message)
    results: list[Answered] = []
    notes: list[str] = []
    for i, call in enumerate(calls):
        one = told[i] if i < len(told) else None
        text = "(not used)" if told else "(accepted)"
        if one is not None:
            text = one.text or f"({one.outcome})"
        if call.malformed is None:
            failed = one is not None and one.outcome in _FAILED
            results.append(Answered(replace(call, name=_sendable(call.name)), text, failed))
        elif one is not None:
            notes.append(text)
    notes += [one.text for one in told[len(calls) :]]
    ending = "\n".join([*notes, note])
    if not results:
        return Said(of_model=False, text=ending)
    last = results[-1]
    results[-1] = last._replace(text=f"{last.text}\n{ending}")
    return Said(of_model=False, text="", results=tuple(results))


def _sendable(name: str) -> str:
    """The name of a tool as providers take it; a model may have called one of any name."""
    return _FOREIGN.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def parsed(call: ToolCall) -> dict[str, Json]:
    """The arguments of a call as an object; what is none stands under ``malformed``."""
    try:
        return arguments.read(call.arguments)
    except ValueError:
        return {"malformed": call.arguments}


def call(name: Json, given: Json, id_: Json = None) -> ToolCall:
    """A call as a provider sends it: arguments are JSON as text, or an object."""
    if not text_of(name):
        given = "" if given is None else given
        return ToolCall("", _written(given), text_of(id_), malformed="the call names no tool")
    return ToolCall(text_of(name) or "", _written(given or {}), text_of(id_))


def _written(given: Json) -> str:
    try:
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"  # which is no JSON, so the model is told
