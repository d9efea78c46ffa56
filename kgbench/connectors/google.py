# SPDX-License-Identifier: Apache-2.0
"""Google's models through google-genai: ``google:gemini-2.5-flash``.

The key is in ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; a server at another address
(``google:MODEL@http://host``) may need none. The version of the API is ``v1beta`` unless the
address ends in another one or the option ``api_version`` names one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kgbench.connectors.bodies import (
    UNSAID,
    NoAnswer,
    ToolMessage,
    call,
    conversation,
    count,
    listed,
    mapping,
    reason_of,
    state_of,
    text_of,
    total,
    written,
)
from kgbench.connectors.calls import Kind, declared, ended
from kgbench.connectors.declared import Declaration, sampling
from kgbench.connectors.sdk import SdkConnector
from kgbench.connectors.servers import Service
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import Json, ModelSetup, Outcome, Reply, Request, Usage
from kgbench.net import environment
from kgbench.secrets import scrub
from kgbench.tool_calls import ToolCall
from kgbench.tools.wording import parsed_arguments

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponse


_PLAIN = ("temperature", "top_p", "top_k", "max_output_tokens", "stop_sequences", "seed")

# Parameters of the API, by the names that configurations may use.
SAMPLING = {
    **{name: name for name in (*_PLAIN, "presence_penalty", "frequency_penalty")},
    **{name: name for name in ("thinking_config", "system_instruction", "safety_settings")},
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
}
# The retired SDK supports fewer parameters.
LEGACY_SAMPLING = {
    name: to for name, to in SAMPLING.items() if to in _PLAIN or to.endswith("_penalty")
}

_KEY = {False: "output", True: "error"}  # documented keys of a functionResponse


def request_contents(request: Request) -> list[dict[str, Json]]:
    """Return the messages as contents; the API rejects blank ones, so they get a placeholder."""
    return [_turn(message) for message in conversation(request, ids=False)]


def _turn(message: ToolMessage) -> dict[str, Json]:
    """Return a message as a content; results refer to calls by name, order and id (if any)."""
    if message.state is not None:
        return {"role": "model", "parts": message.state}
    results = [
        {"functionResponse": {**_of_call(r.call), "response": {_KEY[r.failed]: r.text}}}
        for r in message.results
    ]
    calls = [{"functionCall": {**_of_call(c), "args": parsed_arguments(c)}} for c in message.calls]
    text = [{"text": message.text}] if message.text.strip() else []
    parts = [*text, *calls, *results] or [{"text": UNSAID}]
    return {"role": "model" if message.of_model else "user", "parts": parts}


def _of_call(call_: ToolCall) -> dict[str, Json]:
    return {"name": call_.name} if call_.id is None else {"id": call_.id, "name": call_.name}


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body; output tokens include those of reasoning, as with other providers.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    response = mapping(body)
    candidates = listed(response.get("candidates"))
    blocked = text_of(mapping(response.get("promptFeedback")).get("blockReason"))
    if not candidates and blocked is None:
        raise NoAnswer("no candidates", body)
    if not candidates and declared(Kind.BLOCK, blocked or "") is None:
        raise ProviderError(f"the prompt was blocked for '{blocked}', which is not declared")
    candidate = candidates[0] if candidates else {}
    reason = reason_of(candidate.get("finishReason")) or blocked
    content = mapping(candidate.get("content"))
    if reason is None and not content:
        raise NoAnswer("a candidate without content", body)
    text, outcome = "", None if candidates else Outcome.REFUSED
    if candidates:
        said = text_of(candidate.get("finishMessage")) or ""
        text, outcome = ended(
            reason, "".join(_texts(content, thought=False)), _calls(content), said
        )
    return Reply(
        text=text,
        usage=_usage(mapping(response.get("usageMetadata"))),
        model=text_of(response.get("modelVersion")),
        finish_reason=reason,
        request_id=text_of(response.get("responseId")) or request_id,
        reasoning="\n\n".join(_texts(content, thought=True)) or None,
        outcome=outcome,
        state=_state(content),
    )


def _calls(content: Mapping[str, Json]) -> list[ToolCall]:
    return [
        call(function.get("name"), function.get("args"), function.get("id"))
        for part in listed(content.get("parts"))
        if (function := mapping(part.get("functionCall")))
    ]


def _state(content: Mapping[str, Json]) -> str | None:
    """Return parts with calls and thought signatures, which the API needs back in place."""
    parts = listed(content.get("parts"))
    if not any("functionCall" in part for part in parts):
        return None
    signed = any(part.get("thoughtSignature") for part in parts)
    return state_of([dict(part) for part in parts]) if signed else None


def _texts(content: Mapping[str, Json], *, thought: bool) -> Iterator[str]:
    for part in listed(content.get("parts")):
        if (part.get("thought") is True) == thought and (text := text_of(part.get("text"))):
            yield text


def _usage(usage: Mapping[str, Json]) -> Usage:
    thoughts = count(usage.get("thoughtsTokenCount"))
    answered = count(usage.get("candidatesTokenCount"))
    read, used = count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))
    output = thoughts if answered is None else answered + (thoughts or 0)
    return Usage(
        input=read,
        output=written(output, total(read, used), count(usage.get("totalTokenCount"))),
        cached=count(usage.get("cachedContentTokenCount")),
        reasoning=thoughts,
    )


SERVICE = Service(
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "v1beta",
)
DECLARED = Declaration(
    specifications=("google:MODEL", "google:MODEL@ADDRESS"),
    options=SERVICE.options(),
    service=SERVICE,
    extra="google",
    native_tools=lambda _: True,
    sampling=tuple(SAMPLING),
)


class Google(SdkConnector):
    """A model at the generateContent API; see the module.

    With a given HTTP client and these options, the SDK never retries. It would make a synchronous
    client and a context for web sockets besides, with proxies and certificates of its own choice.
    """

    MODULE, NAME, OPTIONS = "google.genai", "Google", DECLARED.options

    def __init__(self, setup: ModelSetup, timeout: float) -> None:
        parameters = sampling(setup, SAMPLING)
        super().__init__(setup, timeout, SERVICE)
        import httpx2
        from google.genai import types

        try:
            self._config = types.GenerateContentConfig(
                **parameters, should_return_http_response=True
            )
        except ValueError as error:
            raise ModelSpecError(f"{setup.spec}: {scrub(str(error))}") from None
        address = self._server.address
        tls = environment.tls_for(address.url)
        options = types.HttpOptions(
            base_url=address.base,
            api_version=address.version,
            httpx_client=httpx2.Client(trust_env=False, verify=tls),
            httpx_async_client=self._http,
            async_client_args={"ssl": tls},
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        key = self._server.key or "none"
        self._client = self._sdk.Client(vertexai=False, api_key=key, http_options=options)

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        from google.genai import errors

        try:
            response = await self._answered(self._send(request))
        except errors.APIError as error:
            failed: Any = error.response  # the SDK's own reading of the body is not used
            return self._caller.failed(error.code, failed.text, failed.headers)
        http = response.sdk_http_response
        text = (http.body if http is not None else None) or ""
        return self._caller.read(text, reply, None)

    async def _send(self, request: Request) -> GenerateContentResponse:
        from google.genai import types

        config = self._config
        if request.tools:
            functions = [
                types.FunctionDeclaration(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                )
                for tool in request.tools
            ]
            offered = [types.Tool(function_declarations=functions)]
            config = config.model_copy(update={"tools": offered})
        # Parsed from JSON, where signatures are base64: Python values would be encoded again.
        turns = map(json.dumps, request_contents(request))
        try:
            contents = [types.Content.model_validate_json(turn) for turn in turns]
        except ValueError as error:  # the API sent something that this version of the SDK rejects
            raise self._caller.error(f"an earlier answer cannot be sent back: {error}") from None
        response: GenerateContentResponse = await self._client.aio.models.generate_content(
            model=self._setup.model_id, contents=contents, config=config
        )
        return response

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections."""
        await super().__aexit__(*exception)
        self._client.close()


open = Google  # noqa: A001 - the interface
