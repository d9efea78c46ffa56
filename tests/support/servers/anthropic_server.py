# SPDX-License-Identifier: Apache-2.0
"""A loopback server that speaks Anthropic's messages protocol."""

from __future__ import annotations

import json
from typing import Any

from kgbench.tools import wording
from tests.support.servers import process, scripts
from tests.support.servers.loopback import Response, tokens, tool_tokens
from tests.support.servers.scripts import Behaviour, Entry

# Failures: behaviour -> status, error type, message.
_ERRORS = {
    scripts.RATE_LIMIT: (429, "rate_limit_error", "This request would exceed your rate limit"),
    scripts.SERVER_ERROR: (500, "api_error", "Internal server error"),
    scripts.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    scripts.UNAUTHORISED: (401, "authentication_error", "invalid x-api-key"),
    scripts.UNKNOWN_MODEL: (404, "not_found_error", "model: no-such-model"),
    scripts.BAD_REQUEST: (400, "invalid_request_error", "top_k: Input should be positive"),
    scripts.QUOTA: (400, "invalid_request_error", "Your credit balance is too low"),
    scripts.CONTEXT: (
        *(400, "invalid_request_error"),
        "prompt is too long: 205000 tokens > 200000 maximum",
    ),
    scripts.TOO_LARGE: (413, "request_too_large", "Request exceeds the maximum size"),
}


SIGNATURE = "+//+c2ln"  # of a thinking block


class AnthropicSpeech:
    """Words responses as Anthropic does. ``reasoning``, if set, becomes a thinking block."""

    PREFIX = ""
    METHODS = ("POST",)

    def __init__(self, reasoning: str | None = None, *, echo_key: bool = False) -> None:
        self._reasoning = reasoning
        self._echo_key = echo_key

    def prompt(self, body: Any) -> str:
        """Return the contents of all messages, one text for each."""
        said = [message["content"] for message in body["messages"]]
        return "\n\n".join(one if isinstance(one, str) else json.dumps(one) for one in said)

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        kind, headers = behaviour.kind, {"request-id": entry.request_id}
        if kind in _ERRORS:
            return self._error(entry, behaviour, headers)
        if kind == scripts.NOT_JSON:
            page = {**headers, "content-type": "text/html"}
            return Response(200, b"<html><body>Bad gateway</body></html>", page)
        text = "" if kind in (scripts.EMPTY_TEXT, scripts.FILTER, scripts.REFUSAL) else answer
        text = text[: len(text) // 2] if kind == scripts.TRUNCATION else text
        body = self._message(entry, kind, text)
        if kind == scripts.MALFORMED:
            half = json.dumps(body).encode()
            return Response(200, half[: len(half) // 2], headers)
        if kind == scripts.EMPTY_CHOICES:
            return Response(200, {**body, "content": [], "stop_reason": None}, headers)
        asked = tokens(self.prompt(entry.body)) + tool_tokens(entry.body)
        usage = {"input": 3 * asked, "output": tokens(text)}
        return Response(200, body, headers, text, usage)

    def _error(self, entry: Entry, behaviour: Behaviour, headers: dict[str, str]) -> Response:
        status, kind, message = _ERRORS[behaviour.kind]
        if self._echo_key:
            message += f" ({entry.headers.get('authorization', 'no key')})"
        if behaviour.kind == scripts.RATE_LIMIT and behaviour.retry_after is not None:
            headers = {**headers, "retry-after": behaviour.retry_after}
        error = {"type": kind, "message": message}
        body = {"type": "error", "error": error, "request_id": entry.request_id}
        return Response(status, body, headers)

    def _message(self, entry: Entry, kind: str, text: str) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        text, calls = wording.split_calls(text) if entry.body.get("tools") else (text, ())
        if self._reasoning is not None:
            content.append(
                {"type": "thinking", "thinking": self._reasoning, "signature": SIGNATURE}
            )
        if text:
            content.append({"type": "text", "text": text, "citations": None})
        for call in calls:
            given = json.loads(call.arguments)
            content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        reasons = {
            scripts.TRUNCATION: "max_tokens",
            scripts.REFUSAL: "refusal",
            scripts.FILTER: "refusal",
        }
        asked = tokens(self.prompt(entry.body)) + tool_tokens(entry.body)
        thought = 0 if self._reasoning is None else 1
        return {
            "id": f"msg_{entry.number}",
            "type": "message",
            "role": "assistant",
            "model": f"{entry.body['model']}-20250101",
            "content": content,
            "stop_reason": reasons.get(kind, "tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": asked,
                "cache_read_input_tokens": asked,
                "cache_creation_input_tokens": asked,
                "output_tokens": tokens(text),
                "output_tokens_details": {"thinking_tokens": thought},
            },
        }


if __name__ == "__main__":
    process.main(AnthropicSpeech())
