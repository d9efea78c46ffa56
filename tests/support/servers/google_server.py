# SPDX-License-Identifier: Apache-2.0
"""A loopback server that speaks Google's generateContent protocol over REST."""

from __future__ import annotations

import json
from typing import Any

from kgbench.tools import wording
from tests.support.servers import process, scripts
from tests.support.servers.loopback import Response, tokens, tool_tokens
from tests.support.servers.scripts import Behaviour, Entry

# Failures: behaviour -> HTTP status, gRPC status, message.
_ERRORS = {
    scripts.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted"),
    scripts.SERVER_ERROR: (500, "INTERNAL", "An internal error has occurred"),
    scripts.OVERLOADED: (503, "UNAVAILABLE", "The model is overloaded"),
    scripts.UNAUTHORISED: (401, "UNAUTHENTICATED", "API key not valid"),
    scripts.QUOTA: (403, "PERMISSION_DENIED", "Billing is disabled"),
    scripts.UNKNOWN_MODEL: (404, "NOT_FOUND", "models/none is not found"),
    scripts.BAD_REQUEST: (400, "INVALID_ARGUMENT", "Unable to submit request"),
    scripts.CONTEXT: (
        *(400, "INVALID_ARGUMENT"),
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
    ),
    scripts.TOO_LARGE: (413, "INVALID_ARGUMENT", "Request payload size exceeds the limit"),
}


SIGNATURE = "+//+c2ln"  # of a thought part


class GoogleSpeech:
    """Words responses as Google does. ``reasoning``, if set, becomes a thought part.

    A rate limit has its delay in the body's ``RetryInfo``, as Google does, and in the header with
    ``in_header``.
    """

    PREFIX = ""
    METHODS = ("POST",)

    def __init__(
        self, reasoning: str | None = None, *, echo_key: bool = False, in_header: bool = False
    ) -> None:
        self._reasoning = reasoning
        self._echo_key = echo_key
        self._in_header = in_header

    def prompt(self, body: Any) -> str:
        """Return the texts of all contents, one for each."""
        parts = [part for turn in body["contents"] for part in turn["parts"]]
        return "\n\n".join(part.get("text") or json.dumps(part) for part in parts)

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        kind = behaviour.kind
        if kind in _ERRORS:
            return self._error(entry, behaviour)
        if kind == scripts.NOT_JSON:
            return Response(
                200, b"<html><body>Bad gateway</body></html>", {"content-type": "text/html"}
            )
        text = "" if kind in (scripts.EMPTY_TEXT, scripts.REFUSAL) else answer
        text = text[: len(text) // 2] if kind == scripts.TRUNCATION else text
        body = self._body(entry, kind, text)
        if kind == scripts.MALFORMED:
            half = json.dumps(body).encode()
            return Response(200, half[: len(half) // 2])
        if kind == scripts.EMPTY_CHOICES:
            return Response(200, {"usageMetadata": body["usageMetadata"]})
        text = "" if kind == scripts.FILTER else text
        asked, thought = self._charges(entry)
        return Response(
            200, body, answer=text, usage={"input": asked, "output": tokens(text) + thought}
        )

    def _error(self, entry: Entry, behaviour: Behaviour) -> Response:
        code, status, message = _ERRORS[behaviour.kind]
        if self._echo_key:
            message += f" (x-goog-api-key: {entry.headers.get('x-goog-api-key', 'none')})"
        error: dict[str, Any] = {"code": code, "message": message, "status": status}
        headers = {}
        if behaviour.kind == scripts.RATE_LIMIT and behaviour.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": kind, "retryDelay": f"{behaviour.retry_after}s"}]
            headers = {"retry-after": behaviour.retry_after} if self._in_header else {}
        return Response(code, {"error": error}, headers)

    def _charges(self, entry: Entry) -> tuple[int, int]:
        """Return the tokens of the prompt and of reasoning."""
        thought = 0 if self._reasoning is None else tokens(self._reasoning)
        return tokens(self.prompt(entry.body)) + tool_tokens(entry.body), thought

    def _body(self, entry: Entry, kind: str, text: str) -> dict[str, Any]:
        asked, thought = self._charges(entry)
        model = entry.path.rsplit("/", 1)[-1].split(":")[0]
        body: dict[str, Any] = {"modelVersion": f"{model}-001", "responseId": entry.request_id}
        body["usageMetadata"] = {"promptTokenCount": asked, "cachedContentTokenCount": asked // 2}
        if kind == scripts.REFUSAL:
            return {**body, "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        body["usageMetadata"]["candidatesTokenCount"] = tokens(text)
        parts: list[dict[str, Any]] = []
        if self._reasoning is not None:
            parts.append({"text": self._reasoning, "thought": True})
            body["usageMetadata"]["thoughtsTokenCount"] = thought
        text, calls = wording.split_calls(text) if entry.body.get("tools") else (text, ())
        if text:
            parts.append({"text": text})
        for k, call in enumerate(calls):
            made = {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
            signed = self._reasoning is not None and k == 0  # as Google signs parallel calls
            parts.append({**made, **({"thoughtSignature": SIGNATURE} if signed else {})})
        reasons = {scripts.TRUNCATION: "MAX_TOKENS", scripts.FILTER: "SAFETY"}
        candidate: dict[str, Any] = {"index": 0, "finishReason": reasons.get(kind, "STOP")}
        if kind != scripts.FILTER:
            candidate["content"] = {"role": "model", "parts": parts}
        return {**body, "candidates": [candidate]}


if __name__ == "__main__":
    process.main(GoogleSpeech())
