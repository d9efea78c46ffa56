# SPDX-License-Identifier: Apache-2.0
"""OpenAI's batch interface: uploads a file of requests, downloads files of results and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from kgbench.connectors import bodies
from kgbench.connectors.batches import BatchRequest, BatchStatus, Result, earliest
from kgbench.connectors.bodies import count, listed, mapping, text_of
from kgbench.connectors.openai import OpenAIModel
from kgbench.connectors.reply_signs import Meaning
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout, RateLimited
from kgbench.model import Reply

_WINDOW = "24h"  # the only value that the API accepts
_TOKEN = "kgbench"  # noqa: S105 - the name of our token in a batch's metadata
_PAGE = 100
_OK = 200


class OpenAIBatches(OpenAIModel):
    """A model at the batch interface of an OpenAI-compatible server."""

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the requests, create a batch of them and return its id."""
        content = b"".join(self._line(item) for item in requests)
        files = {"file": (f"kgbench-{token}.jsonl", content)}
        uploaded, _ = await self.fetch("/files", {"purpose": "batch"}, files=files)
        batch = {
            "completion_window": _WINDOW,
            "endpoint": f"/v1/{self._protocol.PATH}",
            "input_file_id": self.object_id(uploaded),
            "metadata": {_TOKEN: token},
        }
        created, _ = await self.fetch("/batches", batch)
        return self.object_id(created)

    async def find(
        self,
        token: str,
        requests: int,  # noqa: ARG002 - the token identifies the batch
        since: datetime,
        others: Collection[str],  # noqa: ARG002 - same
    ) -> str | None:
        """Search the newest batches for our token in their metadata."""
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            body, headers = await self.fetch("/batches", query=query)
            page, oldest = mapping(body), earliest(since, headers).timestamp()
            batches = listed(page.get("data"))
            for batch in batches:
                if mapping(batch.get("metadata")).get(_TOKEN) == token:
                    return self.object_id(batch)
            last = batches[-1] if batches else {}
            created = last.get("created_at")
            old = not isinstance(created, int | float) or created < oldest
            if old or page.get("has_more") is not True:
                return None
            query["after"] = self.object_id(last)

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch."""
        answer, _ = await self.fetch(f"/batches/{quote(batch, safe='')}")
        body = mapping(answer)
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
        for file in status.results:
            content = self._client.files.with_streaming_response.content(
                file, extra_headers=self._headers
            )
            async for line in self.lines(content):
                name = text_of(mapping(line).get("custom_id"))
                if name is not None:
                    yield Result(name, self._outcome(mapping(line)))

    async def cancel(self, batch: str) -> None:
        """Cancel the batch; requests that are done are still charged."""
        await self.fetch(f"/batches/{quote(batch, safe='')}/cancel", post=True)

    def _line(self, batch_request: BatchRequest) -> bytes:
        body = self._protocol.request(self._setup, batch_request.request)
        line = {
            "custom_id": batch_request.name,
            "method": "POST",
            "url": f"/v1/{self._protocol.PATH}",
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
                said = bodies.error_of_body(body)
                message = f"HTTP {status}: {said.message or 'no message'}"
                return self._caller.refusal(said, message, status=status, request_id=request_id)
            said = bodies.error_of_body(line.get("error"))
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
        sign = self._caller.sign(bodies.error_of_body(errors))
        limited = sign is not None and sign.meaning is Meaning.RATE_LIMITED
        return RateLimited(message) if limited else ProviderRefused(message)
