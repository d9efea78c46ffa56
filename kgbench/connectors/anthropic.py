# SPDX-License-Identifier: Apache-2.0
"""Anthropic's models through the official SDK: ``anthropic:MODEL``, key in ``ANTHROPIC_API_KEY``.

The API requires a limit of answer tokens; without ``max_tokens`` in the configuration it is
:data:`MAX_TOKENS`.

Message batches have no metadata; our token is only in the names of the requests, which only the
results show. A batch whose id is unknown is therefore searched among the batches of the right size
and time, and the answer may be undecided until those have ended.

The messages protocol (:func:`messages_request`, :func:`reply`) is at the end of the module.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from kgbench.connectors.batches import BatchRequest, BatchStatus, Result, Undecided, earliest
from kgbench.connectors.bodies import (
    UNSAID,
    CallResult,
    NoAnswer,
    ToolMessage,
    call,
    conversation,
    count,
    error_of_body,
    mapping,
    parts_of,
    reason_of,
    state_of,
    text_in,
    text_of,
    total,
)
from kgbench.connectors.calls import ended
from kgbench.connectors.declared import Declaration, sampling
from kgbench.connectors.sdk import Sdk
from kgbench.connectors.servers import Address, Service
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Json, ModelSetup, Reply, Request, Usage
from kgbench.tools.wording import parsed_arguments

PATH = "/v1/messages"
_NO_TEXT = ("thinking", "redacted_thinking", "tool_use")  # types of blocks
MAX_TOKENS = 8192
SERVICE = Service(
    "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",), "v1", fixed=True
)
# Parameters of the API, by the names that configurations may use.
SAMPLING = {
    **{name: name for name in ("max_tokens", "temperature", "top_p", "top_k", "stop_sequences")},
    **{name: name for name in ("system", "thinking", "output_config", "service_tier")},
    "stop": "stop_sequences",
}
DECLARED = Declaration(
    specifications=("anthropic:MODEL", "anthropic:MODEL@ADDRESS"),
    options=SERVICE.options(),
    service=SERVICE,
    extra="anthropic",
    native_tools=lambda _: True,
    sampling=tuple(SAMPLING),
)


class Anthropic(Sdk):
    """A model at Anthropic's API or at a server with the same protocol; see the module."""

    MODULE, NAME, OPTIONS = "anthropic", "Anthropic", DECLARED.options
    ID_HEADER, BATCHES = "request-id", f"{PATH}/batches"

    def __init__(self, setup: ModelSetup, timeout: float) -> None:
        parameters = {"max_tokens": MAX_TOKENS, **sampling(setup, SAMPLING)}
        self._constant = {"model": setup.model_id, **parameters}
        super().__init__(setup, timeout, SERVICE)

    @staticmethod
    def base_url(address: Address) -> str:
        """Return the address without the version of the API, which the SDK appends."""
        return address.base

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        return await self.call(PATH, self._body(request), reply)

    def _body(self, request: Request) -> dict[str, Json]:
        return {**self._constant, **messages_request(request)}

    # --- batches ----------------------------------------------------------------------------

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:  # noqa: ARG002 - in the names
        """Create a batch of the requests and return its id."""
        entries = [
            {"custom_id": item.name, "params": self._body(item.request)} for item in requests
        ]
        created, _ = await self.fetch(self.BATCHES, {"requests": entries})
        return self.object_id(created)

    async def find(
        self, token: str, requests: int, since: datetime, others: Collection[str]
    ) -> str | None:
        """Search the batches of that size and time, newest first."""
        is_open = False
        async for page, headers in self._pages("after_id"):
            oldest = earliest(since, headers)
            recent = list(takewhile(lambda batch: _created(batch) >= oldest, page))  # noqa: B023
            for batch in recent:
                size = sum(count(n) or 0 for n in mapping(batch.get("request_counts")).values())
                if size != requests or batch.get("id") in others:
                    continue
                if batch.get("processing_status") != "ended":
                    is_open = True
                elif await self._is_ours(token, self.object_id(batch)):
                    return self.object_id(batch)
            if len(recent) < len(page):
                break
        if is_open:
            raise Undecided
        return None

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch."""
        body = await self._batch(batch)
        state = text_of(body.get("processing_status")) or "unknown"
        counts = mapping(body.get("request_counts"))
        finished = sum(count(n) or 0 for kind, n in counts.items() if kind != "processing")
        missing = None
        if state == "ended":
            missing = self._caller.error(
                f"the batch {batch} has ended without a result for this request"
            )
        return BatchStatus(state, finished, missing)

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:  # noqa: ARG002
        """Download the results."""
        async for line in self._result_lines(batch):
            name = text_of(mapping(line).get("custom_id"))
            if name is not None:
                yield Result(name, self._outcome(mapping(mapping(line).get("result"))))

    def _outcome(self, result: Mapping[str, Any]) -> Reply | ProviderError:
        kind = text_of(result.get("type")) or "nothing"
        try:
            if kind == "succeeded":
                return self._caller.reply(result.get("message"), reply, None)
            if kind == "errored":
                said = error_of_body(result.get("error"))
                message = ": ".join([*said.codes[-1:], said.message or "no message"])
                return self._caller.refusal(said, message)
        except ProviderError as error:
            return error
        message = self._caller.describe(f"the request was {kind}")
        if kind == "expired":
            return ProviderTimeout(message)
        return ProviderRefused(message) if kind == "canceled" else ProviderError(message)

    async def _is_ours(self, token: str, batch: str) -> bool:
        async for line in self._result_lines(batch):
            return (text_of(mapping(line).get("custom_id")) or "").startswith(token)
        return False

    async def _result_lines(self, batch: str) -> AsyncIterator[Json]:
        batches = self._client.messages.batches.with_streaming_response
        try:
            async for line in self.lines(batches.results(batch, extra_headers=self._headers)):
                yield line
        except self._sdk.AnthropicError as error:  # raised if the batch has no results_url
            raise self._caller.error(str(error)) from None
        except RecursionError:  # from the SDK, which parses the batch to find that address
            raise self._caller.error("the response is nested too deeply") from None


open = open_batches = Anthropic  # noqa: A001 - the interface


def _created(batch: Mapping[str, Any]) -> datetime:
    """Return when a batch was created; one without a valid time counts as new."""
    try:
        created = datetime.fromisoformat(text_of(batch.get("created_at")) or "")
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return created if created.tzinfo is not None else created.replace(tzinfo=UTC)


# --- the messages protocol ------------------------------------------------------------------


def messages_request(model_request: Request) -> dict[str, Json]:
    """Return the messages of a request and its tools; blank messages get a placeholder.

    The API rejects blank ones.
    """
    messages = [_turn(message) for message in conversation(model_request)]
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.parameters),
        }
        for tool in model_request.tools
    ]
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _turn(message: ToolMessage) -> dict[str, Json]:
    if message.state is not None:
        return {"role": "assistant", "content": message.state}
    if message.results:
        return {"role": "user", "content": [_result(result) for result in message.results]}
    role = "assistant" if message.of_model else "user"
    if not message.calls:
        return {"role": role, "content": message.text if message.text.strip() else UNSAID}
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": parsed_arguments(use)}
        for use in message.calls
    ]
    return {"role": role, "content": [*text, *calls]}


def _result(result: CallResult) -> dict[str, Json]:
    return {
        "type": "tool_result",
        "tool_use_id": result.call.id,
        "content": result.text,
        **({"is_error": True} if result.failed else {}),
    }


def reply(body: Json, request_id: str | None = None) -> Reply:
    """Parse a response body; input tokens include those written to and read from the cache.

    Raises :class:`~kgbench.errors.ProviderError` if it has no answer.
    """
    response = mapping(body)
    reason = reason_of(response.get("stop_reason"))
    if response.get("content") is None:
        raise NoAnswer("no content", body)
    blocks = parts_of(response["content"])
    text, outcome = ended(
        reason,
        text_in(block for block in blocks if block.get("type") not in _NO_TEXT),
        [
            call(block.get("name"), block.get("input"), block.get("id"))
            for block in blocks
            if block.get("type") == "tool_use"
        ],
    )
    return Reply(
        text=text,
        usage=_usage(mapping(response.get("usage"))),
        model=text_of(response.get("model")),
        finish_reason=reason,
        request_id=request_id or text_of(response.get("id")),
        reasoning="\n\n".join(filter(None, (text_of(b.get("thinking")) for b in blocks))) or None,
        outcome=outcome,
        state=_state(blocks),
    )


def _state(blocks: Sequence[Mapping[str, Json]]) -> str | None:
    """Return calls with the thinking before them, which the API needs back unchanged."""
    kinds = {text_of(block.get("type")) for block in blocks}
    if "tool_use" not in kinds or not kinds & {"thinking", "redacted_thinking"}:
        return None
    return state_of([dict(block) for block in blocks])


def _usage(usage: Mapping[str, Json]) -> Usage:
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    details = mapping(usage.get("output_tokens_details"))
    return Usage(
        input=total(count(usage.get("input_tokens")), cached, written),
        output=count(usage.get("output_tokens")),
        cached=cached,
        reasoning=count(details.get("thinking_tokens")),
    )
