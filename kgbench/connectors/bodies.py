# SPDX-License-Identifier: Apache-2.0
"""What the bodies of all protocols share: values, words of errors, conversations as messages.

In JSON, a value of an unexpected type counts as missing. Servers, gateways and proxies put the
message of an error in many places, and pass on the bodies of others:

>>> error_in('{"error": "the model is gone"}').message
'the model is gone'
>>> error_in('{"detail": [{"loc": ["body", "top_p"], "msg": "must be at most 1"}]}').message
'body.top_p: must be at most 1'
>>> error_in("<html><head><title>502 Bad Gateway</title></head></html>").message
'502 Bad Gateway'

The record is text (:mod:`kgbench.tools.wording`), which becomes calls and results where tools are
offered natively. If the provider needs more than text back, the recorded state of the reply is sent
instead, as it was received (:class:`kgbench.model.Reply`).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kgbench import rdf
from kgbench.errors import ProviderError
from kgbench.model import Json, Request
from kgbench.tool_calls import ToolCall, ToolOutcome
from kgbench.tools import wording

# Sent in place of an empty answer to protocols that reject empty messages.
UNSAID = "(no answer)"
_MOST_COUNTED = 10**12  # tokens; sums of greater numbers would exceed 64 bits
_SHOWN: Final = 300  # characters of a body without a message
_DEPTH: Final = 8  # of objects within each other
_ITEMS: Final = 3  # of a list of errors
_READ: Final = 2_000  # characters of a message
_PAGE_READ: Final = 1 << 16  # characters of a page
# Keys of messages, of objects and texts that hold further errors, and of codes, in lower case.
_MESSAGES: Final = (
    *("message", "msg", "error_message", "error_msg", "errormessage", "status_msg"),
    *("error_description", "title", "description", "faultstring"),
)
_WITHIN: Final = (
    *("error", "errors", "detail", "details", "base_resp", "metadata", "raw", "reasons"),
    *("innererror", "inner_error", "cause", "fault", "err", "message"),
)
_CODES: Final = (
    *("code", "type", "status", "status_code", "error_code", "errorcode", "error_type"),
    *("__type", "errcode", "reason"),
)
_PAGE: Final = re.compile(r"\s*(?:<!doctype\s+html|<html|<head|<body|<title)\b", re.IGNORECASE)
_TITLE: Final = re.compile(
    r"<(title|h1|h2|body)\b[^>]*>(.*?)(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG: Final = re.compile(r"<[^<>]*>")
_COMMENTS: Final = re.compile(r"\A(?:[ \t]*:[^\n]*\n|\s+)+")
# Names of exceptions, which gateways such as LiteLLM put into their messages.
_EXCEPTION: Final = re.compile(r"\b[A-Z]\w{2,60}(?:Error|Exception)\b")
_ONE_WORD: Final = re.compile(r"[\w.:-]{1,100}")
_STATUSES: Final = range(100, 600)


def mapping(value: Json) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Mapping[str, Any]]:
    """Return the objects in ``value`` if it is a list, else an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str | None:
    """Return ``value`` if it is a string, else ``None``."""
    return value if isinstance(value, str) else None


def parts_of(content: Json) -> list[Mapping[str, Any]]:
    """Return the parts of a message; a text, alone or in a list, is a part with that text.

    Raises :class:`NoAnswer` for content of another form, which must not count as an empty answer.
    """
    items = content if isinstance(content, list) else [] if content is None else [content]
    parts = [{"text": item} if isinstance(item, str) else item for item in items]
    if not all(isinstance(part, dict) for part in parts):
        raise NoAnswer("content of an unknown form", {"content": content})
    return parts


def text_in(parts: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of the parts of a message; other parts, such as references, may be beside it.

    Raises :class:`NoAnswer` if no part has a text, unless there is none.
    """
    content: list[Any] = [*parts]
    texts = [text for part in content if (text := text_of(part.get("text"))) is not None]
    if content and not texts:
        raise NoAnswer("content of an unknown form", {"content": content})
    return "".join(texts)


def reason_of(value: Json) -> str | None:
    """Return the reason of an ending in words, also if it is no text; ``None`` if there is none."""
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


def count(value: Json) -> int | None:
    """Return ``value`` if it is an integer that can be a number of tokens, else ``None``."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_COUNTED else None


def written(output: int | None, read: int | None, total_: int | None) -> int | None:
    """Return the output tokens of a call: at least its total minus the ``read`` tokens, if known.

    Some providers (xAI) do not count reasoning among the output, though it is charged, and others
    do; only the total tells which. Without any count of the output, it is what the total leaves.
    """
    if read is None or total_ is None or total_ <= read:
        return output
    return max(output or 0, total_ - read)


def total(*counts: int | None) -> int | None:
    """Return the sum of the known ``counts``, or ``None`` if the first is unknown."""
    return None if counts[0] is None else sum(value or 0 for value in counts)


# --- errors -------------------------------------------------------------------------------------


class ErrorBody(NamedTuple):
    """What an error body says: its message, all its codes and types, and an HTTP status in it.

    ``is_excerpt`` is true for HTML, which comes from a proxy or a wrong address, and for JSON
    without a message, whose beginning is shown: no phrases of errors are looked for in them.
    ``wait`` is the wait in seconds that a body asks for (Google's ``RetryInfo``).
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None
    is_excerpt: bool = False
    wait: float | None = None


class NoAnswer(ProviderError):
    """A response of status 200 without an answer; ``said`` is what its body says instead."""

    def __init__(self, problem: str, body: Json) -> None:
        self.said = error_of_body(body)
        said = f": {self.said.message}" if self.said.message else ""
        super().__init__(f"the response has {problem}{said}")


def error_in(text: str) -> ErrorBody:
    """Return what the body ``text`` of a response says, JSON or not."""
    try:
        body = json.loads(without_comments(text), strict=False)
    except (ValueError, RecursionError):
        return _of_text(text)
    return error_of_body(body)


def without_comments(text: str) -> str:
    """Return ``text`` without the comment lines of server-sent events (``: ...``) before it.

    Gateways send them to keep a connection open, even before a body of JSON.
    """
    return _COMMENTS.sub("", text)


def error_of_body(body: Json) -> ErrorBody:
    """Return what a parsed body says; without a message, the beginning of the body itself."""
    if isinstance(body, str):
        return _of_text(body)
    codes: list[str] = []
    statuses: list[int] = []
    messages = list(dict.fromkeys(_messages(body, codes, statuses, _DEPTH)))
    message = ": ".join(messages)[:_READ]
    is_excerpt = not message
    if is_excerpt and body not in (None, {}, []):
        message = _beginning(body)
    codes += [part for part in messages if _ONE_WORD.fullmatch(part)]
    codes += _EXCEPTION.findall("" if is_excerpt else message)
    status = statuses[0] if statuses else None
    return ErrorBody(message, tuple(codes), status, is_excerpt, _retry_delay(body))


def refuse_error(body: Json) -> None:
    """Raise :class:`NoAnswer` if a body of status 200 says that the call failed.

    It may have a part of an answer beside the error. MiniMax reports errors in ``base_resp``, with
    a status code other than 0, Cloudflare with ``success: false``.
    """
    fields = mapping(body)
    failed = mapping(fields.get("base_resp")).get("status_code") not in (None, 0, "0")
    if fields.get("error") or failed or fields.get("success") is False:
        raise NoAnswer("an error", body)


def _of_text(text: str) -> ErrorBody:
    if _PAGE.match(text) is not None:
        text = text[:_PAGE_READ]
        found = _TITLE.search(text)
        words = _TAG.sub(" ", text if found is None else found[2])
        return ErrorBody(" ".join(html.unescape(words).split())[:_SHOWN], is_excerpt=True)
    message = " ".join(text[:_PAGE_READ].split())[:_SHOWN]
    codes = (message,) if _ONE_WORD.fullmatch(message) else tuple(_EXCEPTION.findall(message))
    return ErrorBody(message, codes)


def _messages(value: Json, codes: list[str], statuses: list[int], depth: int) -> Iterator[str]:
    """Yield the messages in ``value`` from outside to inside, and collect codes and statuses."""
    if isinstance(value, str) and value.strip():
        yield from _of_nested_text(value, codes, statuses, depth)
    elif isinstance(value, list):
        for item in value[:_ITEMS]:
            yield from _messages(item, codes, statuses, depth)
    elif isinstance(value, dict) and depth:
        value = {str(key).lower(): item for key, item in value.items()}
        _collect(value, codes, statuses)
        own = next((text for key in _MESSAGES if (text := text_of(value.get(key)))), None)
        if own and own.strip():
            of_field = [str(part) for part in _path(value)]
            texts = _of_nested_text(own, codes, statuses, depth)
            yield from (f"{'.'.join(of_field)}: {text}" if of_field else text for text in texts)
        for key in _WITHIN:
            if value.get(key) is not own:
                yield from _messages(value.get(key), codes, statuses, depth - 1)


def _path(value: Mapping[str, Any]) -> list[Json]:
    """Return the path of the field that a validation error is about (FastAPI)."""
    path = value.get("loc")
    return path if isinstance(path, list) else []


def _of_nested_text(text: str, codes: list[str], statuses: list[int], depth: int) -> Iterator[str]:
    """Yield the messages of a text, which may be the body of another server's response."""
    if depth and text.lstrip()[:1] in ("{", "["):
        try:
            inner = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict) or listed(inner):
            within = list(_messages(inner, codes, statuses, depth - 1))
            if within:
                yield from within
                return
    yield _of_text(text).message if _PAGE.match(text) else " ".join(text.split())


def _collect(value: Mapping[str, Any], codes: list[str], statuses: list[int]) -> None:
    for key in _CODES:
        code = value.get(key)
        if isinstance(code, bool) or not isinstance(code, int | str) or code == "":
            continue
        written = str(code)
        if written.isdecimal() and len(written) < 5 and int(written) in _STATUSES:  # noqa: PLR2004
            statuses.append(int(written))
        else:
            codes.append(written)


def _retry_delay(body: Json) -> float | None:
    error = mapping(body[0] if isinstance(body, list) and body else body).get("error")
    for detail in listed(mapping(error).get("details")):
        delay = text_of(detail.get("retryDelay")) or ""
        if delay.endswith("s") and delay[:-1].replace(".", "", 1).isdecimal():
            return float(delay[:-1])
    return None


def _beginning(body: Json) -> str:
    try:
        return json.dumps(body, ensure_ascii=False)[:_SHOWN]
    except RecursionError:
        return "(nested too deeply)"


_FAILED: Final = frozenset((ToolOutcome.ERROR, ToolOutcome.REFUSED, ToolOutcome.OVER_BUDGET))
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
