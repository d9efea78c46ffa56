# SPDX-License-Identifier: Apache-2.0
"""A loopback server that speaks OpenAI's protocol: chat completions, responses and embeddings.

``python -m tests.support.servers.openai_server --help`` describes how it runs as a process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from kgbench.tool_calls import ToolCall
from kgbench.tools import wording
from tests.support.servers import process, scripts
from tests.support.servers.loopback import Response, tokens, tool_tokens
from tests.support.servers.scripts import Behaviour, Entry

# Failures: behaviour -> status, error type, code, message.
_ERRORS = {
    scripts.RATE_LIMIT: (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests"),
    scripts.QUOTA: (429, "insufficient_quota", "insufficient_quota", "You exceeded your quota"),
    scripts.SERVER_ERROR: (500, "server_error", None, "The server had an error"),
    scripts.OVERLOADED: (503, "server_error", None, "The engine is currently overloaded"),
    scripts.UNAUTHORISED: (401, "invalid_request_error", "invalid_api_key", "Incorrect API key"),
    scripts.UNKNOWN_MODEL: (404, "invalid_request_error", "model_not_found", "No such model"),
    scripts.BAD_REQUEST: (400, "invalid_request_error", "unsupported_value", "Unsupported value"),
    scripts.CONTEXT: (
        *(400, "invalid_request_error", "context_length_exceeded"),
        "This model's maximum context length is 8192 tokens",
    ),
    scripts.TOO_LARGE: (413, "invalid_request_error", None, "Request too large"),
}


ENCRYPTED = "gAAAAABo"  # of reasoning in the responses API


class OpenAISpeech:
    """Words responses as OpenAI does. ``reasoning``, if set, is part of them.

    ``field`` is its name in chat completions: vLLM uses ``reasoning`` since version 0.12.
    ``echo_key`` puts the key of the request into error messages, as some gateways do.
    """

    PREFIX = "/v1"
    METHODS = ("POST",)

    def __init__(
        self,
        reasoning: str | None = None,
        *,
        field: str = "reasoning_content",
        echo_key: bool = False,
        embed: Callable[[str], list[float]] | None = None,
    ) -> None:
        self._reasoning = reasoning
        self._field = field
        self._embed = embed or _vector
        self._echo_key = echo_key

    def prompt(self, body: Any) -> str:
        """Return the contents of all messages, one text for each."""
        said = body.get("messages", body.get("input", []))
        return said if isinstance(said, str) else "\n\n".join(_text(one) for one in said)

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        headers = {"x-request-id": entry.request_id}
        if behaviour.kind in _ERRORS:
            return self._error(entry, behaviour, headers)
        if behaviour.kind == scripts.NOT_JSON:
            page = {**headers, "content-type": "text/html"}
            return Response(200, b"<html><body>Bad gateway</body></html>", page)
        if entry.path.endswith("/embeddings"):
            return self._embedded(entry, behaviour, headers)
        if entry.path.endswith("/responses"):
            response = self._response(entry, behaviour, answer, headers)
        else:
            response = self._completion(entry, behaviour, answer, headers)
        if behaviour.kind == scripts.MALFORMED:
            half = json.dumps(response.body).encode()
            return Response(200, half[: len(half) // 2], headers)
        return response

    def _error(self, entry: Entry, behaviour: Behaviour, headers: dict[str, str]) -> Response:
        status, kind, code, message = _ERRORS[behaviour.kind]
        if self._echo_key:
            message += f": {entry.headers.get('authorization', 'no key')}"
        if behaviour.kind == scripts.RATE_LIMIT and behaviour.retry_after is not None:
            headers = {**headers, "retry-after": behaviour.retry_after}
        error = {"message": message, "type": kind, "param": None, "code": code}
        return Response(status, {"error": error}, headers)

    def _completion(
        self, entry: Entry, behaviour: Behaviour, answer: str, headers: dict[str, str]
    ) -> Response:
        kind = behaviour.kind
        text, calls = _spoken(entry, "" if kind == scripts.EMPTY_TEXT else answer)
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        reason = "tool_calls" if calls else "stop"
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in calls
            ]
        if kind == scripts.REFUSAL:
            message |= {"content": None, "refusal": "I cannot help with that."}
        elif kind == scripts.FILTER:
            message["content"], reason = None, "content_filter"
        elif kind == scripts.TRUNCATION:
            message["content"], reason = text[: len(text) // 2], "length"
        if self._reasoning is not None:
            message[self._field] = self._reasoning
        usage, details = self._usage(entry, message["content"] or message["refusal"] or "")
        choices = [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}]
        body = {
            "id": f"chatcmpl-{entry.number}",
            "object": "chat.completion",
            "created": 1750000000,
            "model": f"{entry.body['model']}-2025-01-01",
            "system_fingerprint": "fp_loopback",
            "choices": [] if kind == scripts.EMPTY_CHOICES else choices,
            "usage": {
                "prompt_tokens": usage["input"],
                "completion_tokens": usage["output"],
                "total_tokens": usage["input"] + usage["output"],
                "prompt_tokens_details": {"cached_tokens": details[0]},
                "completion_tokens_details": {"reasoning_tokens": details[1]},
            },
        }
        return self._charged(kind, body, headers, message["content"] or "", usage)

    def _response(
        self, entry: Entry, behaviour: Behaviour, answer: str, headers: dict[str, str]
    ) -> Response:
        kind = behaviour.kind
        text, calls = _spoken(entry, "" if kind == scripts.EMPTY_TEXT else answer)
        text = text[: len(text) // 2] if kind == scripts.TRUNCATION else text
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        if kind == scripts.REFUSAL:
            part = {"type": "refusal", "refusal": "I cannot help with that."}
        output: list[dict[str, Any]] = []
        if self._reasoning is not None:
            summary = [{"type": "summary_text", "text": self._reasoning}]
            thought = {"type": "reasoning", "id": "rs_1", "summary": summary}
            if "reasoning.encrypted_content" in entry.body.get("include", ()):
                thought["encrypted_content"] = ENCRYPTED
            output.append(thought)
        if kind not in (scripts.FILTER, scripts.EMPTY_CHOICES):
            message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
            output.append({**message, "status": "completed"})
        output += [
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for call in calls
        ]
        cut = {scripts.FILTER: "content_filter", scripts.TRUNCATION: "max_output_tokens"}.get(kind)
        usage, details = self._usage(entry, text)
        body = {
            "id": f"resp_{entry.number}",
            "object": "response",
            "created_at": 1750000000,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": cut} if cut else None,
            "error": None,
            "model": f"{entry.body['model']}-2025-01-01",
            "output": output,
            "usage": {
                "input_tokens": usage["input"],
                "output_tokens": usage["output"],
                "total_tokens": usage["input"] + usage["output"],
                "input_tokens_details": {"cached_tokens": details[0]},
                "output_tokens_details": {"reasoning_tokens": details[1]},
            },
        }
        return self._charged(kind, body, headers, text, usage)

    def _embedded(self, entry: Entry, behaviour: Behaviour, headers: dict[str, str]) -> Response:
        assert entry.body["encoding_format"] == "float"
        texts = entry.body["input"]
        data = [
            {"object": "embedding", "index": k, "embedding": self._embed(text)}
            for k, text in enumerate(texts)
        ]
        if behaviour.kind == scripts.EMPTY_CHOICES:
            data.pop()
        count = sum(tokens(text) for text in texts)
        usage = {"prompt_tokens": count, "total_tokens": count}
        model = f"{entry.body['model']}-2025-01-01"
        body = {"object": "list", "data": data[::-1], "model": model, "usage": usage}
        if behaviour.kind == scripts.MALFORMED:
            return Response(200, json.dumps(body).encode()[:40], headers)
        return Response(200, body, headers, "", {"input": count, "output": 0})

    def _usage(self, entry: Entry, text: str) -> tuple[dict[str, int], tuple[int, int]]:
        """Return the charged tokens, and how many of them are cached and reasoning tokens."""
        thought = 0 if self._reasoning is None else tokens(self._reasoning)
        asked = tokens(self.prompt(entry.body)) + tool_tokens(entry.body)
        return {"input": asked, "output": tokens(text) + thought}, (asked // 2, thought)

    def _charged(
        self, kind: str, body: Any, headers: dict[str, str], text: str, usage: dict[str, int]
    ) -> Response:
        """Return a response that counts as an answer, unless it contains none."""
        if kind in (scripts.EMPTY_CHOICES, scripts.MALFORMED):
            return Response(200, body, headers)
        return Response(200, body, headers, text, usage)


def _vector(text: str) -> list[float]:
    return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def _spoken(entry: Entry, answer: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Split an answer into text and tool calls if tools are offered (``kgbench.tools.wording``)."""
    return wording.split_calls(answer) if entry.body.get("tools") else (answer, ())


def _text(message: Any) -> str:
    content = message if isinstance(message, str) else message.get("content", "")
    if isinstance(message, dict) and "output" in message:
        content = message["output"]
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True)


if __name__ == "__main__":
    process.main(OpenAISpeech())
