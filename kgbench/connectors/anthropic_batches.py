# SPDX-License-Identifier: Apache-2.0
"""Anthropic's message batches: one call submits the requests, results come as JSON lines.

Batches have no metadata; our token is only in the names of the requests, which only the results
show. A batch whose id is unknown is therefore searched among the batches of the right size and
time, and the answer may be undecided until those have ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kgbench.connectors import anthropic, bodies, messages
from kgbench.connectors.batches import BatchRequest, BatchStatus, Result, Undecided, earliest
from kgbench.connectors.bodies import count, listed, mapping, text_of
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Json, Reply

_PATH = f"{anthropic.PATH}/batches"
_PAGE = 100


class AnthropicBatches(anthropic.AnthropicModel):
    """A model at the message batches of Anthropic's API."""

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:  # noqa: ARG002 - in the names
        """Create a batch of the requests and return its id."""
        entries = [{"custom_id": item.name, "params": self.body(item.request)} for item in requests]
        created, _ = await self.fetch(_PATH, {"requests": entries})
        return self.object_id(created)

    async def find(
        self, token: str, requests: int, since: datetime, others: Collection[str]
    ) -> str | None:
        """Search the batches of that size and time, newest first."""
        open_ = False
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            body, headers = await self.fetch(_PATH, query=query)
            page, oldest = mapping(body), earliest(since, headers)
            batches = listed(page.get("data"))
            for batch in batches:
                if _created(batch) < oldest:
                    batches = []
                    break
                size = sum(count(n) or 0 for n in mapping(batch.get("request_counts")).values())
                if size != requests or batch.get("id") in others:
                    continue
                if batch.get("processing_status") != "ended":
                    open_ = True
                elif await self._is_ours(token, self.object_id(batch)):
                    return self.object_id(batch)
            if not batches or page.get("has_more") is not True:
                break
            query["after_id"] = self.object_id(batches[-1])
        if open_:
            raise Undecided
        return None

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch."""
        answer, _ = await self.fetch(f"{_PATH}/{quote(batch, safe='')}")
        body = mapping(answer)
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
        async for line in self._lines(batch):
            name = text_of(mapping(line).get("custom_id"))
            if name is not None:
                yield Result(name, self._outcome(mapping(mapping(line).get("result"))))

    async def cancel(self, batch: str) -> None:
        """Cancel the batch; requests that are done are still charged."""
        await self.fetch(f"{_PATH}/{quote(batch, safe='')}/cancel", post=True)

    def _outcome(self, result: Mapping[str, Any]) -> Reply | ProviderError:
        kind = text_of(result.get("type")) or "nothing"
        try:
            if kind == "succeeded":
                return self._caller.reply(result.get("message"), messages.reply, None)
            if kind == "errored":
                said = bodies.error_of_body(result.get("error"))
                message = ": ".join([*said.codes[-1:], said.message or "no message"])
                return self._caller.refusal(said, message)
        except ProviderError as error:
            return error
        message = self._caller.describe(f"the request was {kind}")
        if kind == "expired":
            return ProviderTimeout(message)
        return ProviderRefused(message) if kind == "canceled" else ProviderError(message)

    async def _is_ours(self, token: str, batch: str) -> bool:
        async for line in self._lines(batch):
            return (text_of(mapping(line).get("custom_id")) or "").startswith(token)
        return False

    async def _lines(self, batch: str) -> AsyncIterator[Json]:
        batches = self._client.messages.batches.with_streaming_response
        try:
            async for line in self.lines(batches.results(batch, extra_headers=self._headers)):
                yield line
        except self._sdk.AnthropicError as error:  # raised if the batch has no results_url
            raise self._caller.error(str(error)) from None
        except RecursionError:  # from the SDK, which parses the batch to find that address
            raise self._caller.error("the response is nested too deeply") from None


def _created(batch: Mapping[str, Any]) -> datetime:
    """Return when a batch was created; one without a valid time counts as new."""
    try:
        created = datetime.fromisoformat(text_of(batch.get("created_at")) or "")
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return created if created.tzinfo is not None else created.replace(tzinfo=UTC)
