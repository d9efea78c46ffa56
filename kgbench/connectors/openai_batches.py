# SPDX-License-Identifier: Apache-2.0
"""OpenAI's batch interface: uploads a file of requests, downloads files of results and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kgbench import rdf
from kgbench.connectors import calls, error_bodies, responses
from kgbench.connectors.batches import BatchRequest, BatchStatus, Result, earliest
from kgbench.connectors.bodies import count, listed, mapping, text_of
from kgbench.connectors.calls import Caller
from kgbench.connectors.openai import OpenAIConnector
from kgbench.connectors.reply_signs import Meaning
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout, RateLimited
from kgbench.model import Json, ModelSetup, Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_WINDOW: Any = "24h"  # the only value that the API accepts
_TOKEN = "kgbench"  # noqa: S105 - the name of our token in a batch's metadata
_PAGE = 100
_OK = 200


class OpenAIBatches(OpenAIConnector):
    """A model at the batch interface of an OpenAI-compatible server."""

    def __init__(
        self, setup: ModelSetup, protocol: ModuleType, client: AsyncOpenAI, caller: Caller
    ) -> None:
        super().__init__(setup, protocol, client, caller)
        path = "responses" if protocol is responses else "chat/completions"
        self._endpoint: Any = f"/v1/{path}"

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the requests, create a batch of them and return its id."""
        content = b"".join(self._line(item) for item in requests)
        headers = self._headers()
        files, batches = self._client.files.with_raw_response, self._client.batches
        uploaded = await self._body(
            lambda: files.create(
                file=(f"kgbench-{token}.jsonl", content), purpose="batch", extra_headers=headers
            )
        )
        created = await self._body(
            lambda: batches.with_raw_response.create(
                completion_window=_WINDOW,
                endpoint=self._endpoint,
                input_file_id=self._id(uploaded),
                metadata={_TOKEN: token},
                extra_headers=headers,
            )
        )
        return self._id(created)

    async def find(
        self,
        token: str,
        requests: int,  # noqa: ARG002 - the token identifies the batch
        since: datetime,
        others: Collection[str],  # noqa: ARG002 - same
    ) -> str | None:
        """Search the newest batches for our token in their metadata."""
        import openai

        after: dict[str, str] = {}
        while True:
            send = partial(self._list, after)
            body, headers = await calls.fetch_body(openai, self._caller, send)
            page, oldest = mapping(body), earliest(since, headers).timestamp()
            batches = listed(page.get("data"))
            for batch in batches:
                if mapping(batch.get("metadata")).get(_TOKEN) == token:
                    return self._id(batch)
            last = batches[-1] if batches else {}
            created = last.get("created_at")
            old = not isinstance(created, int | float) or created < oldest
            if old or page.get("has_more") is not True:
                return None
            after = {"after": self._id(last)}

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch."""
        headers = self._headers()
        body = mapping(
            await self._body(
                lambda: self._client.batches.with_raw_response.retrieve(
                    batch, extra_headers=headers
                )
            )
        )
        state = text_of(body.get("status")) or "unknown"
        counts = mapping(body.get("request_counts"))
        answered = count(counts.get("completed")) or 0
        finished = answered + (count(counts.get("failed")) or 0)
        output, errors = (text_of(body.get(f"{kind}_file_id")) for kind in ("output", "error"))
        files = tuple(file for file in (output, errors) if file)
        missing = self._missing(batch, state, listed(mapping(body.get("errors")).get("data")))
        expected = answered or (not files and (finished or state == "completed"))
        if missing is not None and not output and expected:
            return BatchStatus(state, finished, is_late=True)
        return BatchStatus(state, finished, missing, files)

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:  # noqa: ARG002
        """Download the files of results and errors, as far as they exist."""
        import openai

        headers = self._headers()
        for file in status.results:
            content = self._client.files.with_streaming_response.content(
                file, extra_headers=headers
            )
            async for line in calls.lines(openai, self._caller, content):
                name = text_of(mapping(line).get("custom_id"))
                if name is not None:
                    yield Result(name, self._outcome(mapping(line)))

    async def cancel(self, batch: str) -> None:
        """Cancel the batch; requests that are done are still charged."""
        headers = self._headers()
        await self._body(
            lambda: self._client.batches.with_raw_response.cancel(batch, extra_headers=headers)
        )

    def _line(self, batch_request: BatchRequest) -> bytes:
        body = self._protocol.request(self._setup, batch_request.request)
        line = {
            "custom_id": batch_request.name,
            "method": "POST",
            "url": self._endpoint,
            "body": body,
        }
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"

    def _outcome(self, line: Any) -> Reply | ProviderError:
        """Parse a line of a result file."""
        response = mapping(line.get("response"))
        status = count(response.get("status_code"))
        request_id = text_of(response.get("request_id"))
        body = response.get("body")
        try:
            if status == _OK:
                return self._caller.reply(body, self._protocol.reply, request_id)
            if status is not None:
                said = error_bodies.of_body(body)
                message = f"HTTP {status}: {said.message or 'no message'}"
                return self._caller.refusal(said, message, status=status, request_id=request_id)
            said = error_bodies.of_body(line.get("error"))
            message = ": ".join([*said.codes[:1], said.message or "no result"])
            return self._caller.refusal(said, message)
        except ProviderError as error:
            return error

    def _missing(self, batch: str, state: str, errors: Sequence[Any]) -> ProviderError | None:
        summary = f"the batch {batch} is {state}"
        if state == "completed":
            return self._caller.error(f"{summary}, without a result for this request")
        if state == "expired":
            return ProviderTimeout(self._caller.describe(summary))
        if state == "cancelled":
            return ProviderRefused(self._caller.describe(summary))
        if state != "failed":
            return None
        reasons = [f"{text_of(e.get('code'))}: {text_of(e.get('message'))}" for e in errors[:3]]
        message = self._caller.describe("; ".join([summary, *reasons]))
        sign = self._caller.sign(error_bodies.of_body(errors))
        limited = sign is not None and sign.meaning is Meaning.RATE_LIMITED
        return RateLimited(message) if limited else ProviderRefused(message)

    def _id(self, body: Json) -> str:
        object_id = text_of(mapping(body).get("id"))
        if not object_id:
            raise self._caller.error("the response names no id")
        return rdf.storable(object_id).value

    def _headers(self) -> Any:
        import openai

        return None if self._caller.secrets else {"Authorization": openai.omit}

    async def _list(self, after: dict[str, str]) -> Any:
        return await self._client.batches.with_raw_response.list(
            limit=_PAGE, extra_query=after, extra_headers=self._headers()
        )

    async def _body(self, send: Callable[[], Awaitable[Any]]) -> Json:
        """Make one call and return the JSON body of its response."""
        import openai

        body, _ = await calls.fetch_body(openai, self._caller, send)
        return body
