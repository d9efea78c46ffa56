# SPDX-License-Identifier: Apache-2.0
"""Anthropic's message batches: requests go in with one call, results come as JSON lines.

A batch carries no mark of ours but the names of its requests, and these are only to be seen in its
results. A batch whose id we never learned is therefore looked for among those of the right size
and time, and the question may stay open until they have ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from kgbench import rdf
from kgbench.connectors import calls, failures, messages
from kgbench.connectors.anthropic import Connected, failure
from kgbench.connectors.batches import Asked, Result, Standing, Undecided
from kgbench.connectors.bodies import count, listed, mapping, text_of
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Json, Reply, Request

_SKEW = timedelta(hours=1)  # by how much clocks may differ
_PAGE = 100
# The HTTP statuses that the types of errors have outside of batches.
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches(Connected):
    """One model behind the message batches of Anthropic's API."""

    async def submit(self, token: str, asked: Sequence[Asked]) -> str:  # noqa: ARG002 - in the names
        """Make a batch of the requests."""
        requests: list[Any] = [
            {"custom_id": one.name, "params": self._params(one.request)} for one in asked
        ]
        headers = self._headers()
        batches = self._client.messages.batches.with_raw_response
        body = await self._body(lambda: batches.create(requests=requests, extra_headers=headers))
        return self._id(body)

    async def find(
        self, token: str, requests: int, since: datetime, others: Collection[str]
    ) -> str | None:
        """Look into the batches of that size and time, newest first."""
        earliest, open_ = since - _SKEW, False
        after: dict[str, str] = {}
        while True:
            page = mapping(await self._body(partial(self._list, after)))
            found = listed(page.get("data"))
            for batch in found:
                if _made(batch) < earliest:
                    found = []
                    break
                size = sum(count(n) or 0 for n in mapping(batch.get("request_counts")).values())
                if size != requests or batch.get("id") in others:
                    continue
                if batch.get("processing_status") != "ended":
                    open_ = True
                elif await self._is_ours(token, self._id(batch)):
                    return self._id(batch)
            if not found or page.get("has_more") is not True:
                break
            after = {"after_id": self._id(found[-1])}
        if open_:
            raise Undecided
        return None

    async def standing(self, batch: str) -> Standing:
        """Ask for the batch."""
        headers = self._headers()
        batches = self._client.messages.batches.with_raw_response
        body = mapping(await self._body(lambda: batches.retrieve(batch, extra_headers=headers)))
        state = text_of(body.get("processing_status")) or "unknown"
        counts = mapping(body.get("request_counts"))
        done = sum(count(n) or 0 for kind, n in counts.items() if kind != "processing")
        missing = None
        if state == "ended":
            missing = self._caller.error(
                f"the batch {batch} has ended without a result for this request"
            )
        return Standing(state, done, missing)

    async def results(self, batch: str, standing: Standing) -> AsyncIterator[Result]:  # noqa: ARG002
        """Download them."""
        async for line in self._lines(batch):
            name = text_of(mapping(line).get("custom_id"))
            if name is not None:
                yield Result(name, self._outcome(mapping(mapping(line).get("result"))))

    async def cancel(self, batch: str) -> None:
        """Cancel the batch; what is done already is still charged."""
        headers = self._headers()
        batches = self._client.messages.batches.with_raw_response
        await self._body(lambda: batches.cancel(batch, extra_headers=headers))

    def _params(self, request: Request) -> dict[str, Any]:
        said = messages.said(request)
        tools = messages.tools_of(request)
        return {"model": self._model_id, "messages": said, **self._parameters, **tools}

    def _outcome(self, result: Mapping[str, Any]) -> Reply | ProviderError:
        kind = text_of(result.get("type")) or "nothing"
        if kind == "succeeded":
            try:
                return self._caller.clean(messages.reply(result.get("message")))
            except ProviderError as error:
                return self._caller.error(str(error))
        if kind == "errored":
            told = mapping(result.get("error"))
            told = mapping(told.get("error")) or told
            code = text_of(told.get("type")) or "unknown error"
            said = self._caller.say(f"{code}: {text_of(told.get('message')) or 'no message'}")
            return failures.of_status(_STATUS.get(code, 500), said, code=code)
        said = self._caller.say(f"the request was {kind}")
        if kind == "expired":
            return ProviderTimeout(said)
        return ProviderRefused(said) if kind == "canceled" else ProviderError(said)

    async def _is_ours(self, token: str, batch: str) -> bool:
        async for line in self._lines(batch):
            return (text_of(mapping(line).get("custom_id")) or "").startswith(token)
        return False

    async def _lines(self, batch: str) -> AsyncIterator[Json]:
        import anthropic

        headers = self._headers()
        batches = self._client.messages.batches.with_streaming_response
        try:
            stream = batches.results(batch, extra_headers=headers)
            async for line in calls.lines(anthropic, self._caller, stream):
                yield line
        except anthropic.APIStatusError as error:
            raise failure(self._caller, error) from None
        except anthropic.AnthropicError as error:  # no address of results
            raise self._caller.error(str(error)) from None
        except RecursionError:  # of the SDK, which looks up that address
            raise self._caller.error("the response is nested too deeply") from None

    async def _list(self, after: dict[str, str]) -> Any:
        return await self._client.messages.batches.with_raw_response.list(
            limit=_PAGE, extra_query=after, extra_headers=self._headers()
        )

    def _headers(self) -> Any:
        import anthropic

        return None if self._caller.secrets else {"Authorization": anthropic.omit}

    def _id(self, body: Json) -> str:
        found = text_of(mapping(body).get("id"))
        if not found:
            raise self._caller.error("the response names no id")
        return rdf.storable(found).value

    async def _body(self, send: Callable[[], Awaitable[Any]]) -> Json:
        """The body of the response to one call."""
        import anthropic

        try:
            raw = await calls.sent(anthropic, self._caller, send)
        except anthropic.APIStatusError as error:
            raise failure(self._caller, error) from None
        return self._caller.json(raw.http_response.text)


def _made(batch: Mapping[str, Any]) -> datetime:
    """When a batch was made; what does not say it counts as new."""
    try:
        made = datetime.fromisoformat(text_of(batch.get("created_at")) or "")
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return made if made.tzinfo is not None else made.replace(tzinfo=UTC)
