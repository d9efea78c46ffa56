# SPDX-License-Identifier: Apache-2.0
"""Anthropic's message batches: created with one call, polled, and read as JSON lines."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers import scripts
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.batch_desk import Asked, Batch, BatchDesk
from tests.support.servers.loopback import Response
from tests.support.servers.scripts import Behaviour, Entry

_BATCHES = "/v1/messages/batches"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class AnthropicBatchSpeech(AnthropicSpeech):
    """Words responses as Anthropic does, those about batches included.

    ``details`` are passed to :class:`~tests.support.servers.batch_desk.BatchDesk`.
    """

    METHODS = ("GET", "POST")

    def __init__(self, *, echo_key: bool = False, **details: Any) -> None:
        super().__init__(echo_key=echo_key)
        self.desk = BatchDesk(AnthropicSpeech(echo_key=echo_key), **details)

    def prompt(self, body: Any) -> str:
        """Return the text of a single request, or ``""`` for a request about a batch."""
        return super().prompt(body) if isinstance(body, dict) and "messages" in body else ""

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        path = urlsplit(entry.path)
        if not path.path.startswith(_BATCHES):
            return super().respond(entry, behaviour, answer)
        if behaviour.kind != scripts.ANSWER:
            return self._bad(entry, behaviour)
        root = f"http://{entry.headers['host']}"
        steps = path.path.removeprefix(_BATCHES).strip("/").split("/")
        if steps == [""]:
            if entry.method == "GET":
                return self._list(parse_qs(path.query), root)
            return self._create(entry, root)
        return self._about(steps, root)

    def _about(self, steps: list[str], root: str) -> Response:
        batch = self.desk.find(steps[0])
        if batch is None:
            error = {"type": "not_found_error", "message": f"no batch {steps[0]}"}
            return Response(404, {"type": "error", "error": error})
        if steps[1:] == ["results"]:
            text = [json.dumps(_line(asked, batch), ensure_ascii=False) for asked in batch.asked]
            return Response(200, "".join(f"{one}\n" for one in reversed(text)).encode())
        if steps[1:] == ["cancel"]:
            batch.cancelled = True
        else:
            batch.looks += 1
        return Response(200, _shown(batch, root))

    def _bad(self, entry: Entry, behaviour: Behaviour) -> Response:
        headers = {"request-id": entry.request_id}
        if behaviour.kind in (scripts.NOT_JSON, scripts.MALFORMED):
            return Response(200, b"<html><body>Bad gateway</body></html>", headers)
        return self._error(entry, behaviour, headers)

    def _create(self, entry: Entry, root: str) -> Response:
        requests = entry.body["requests"]
        names = [request["custom_id"] for request in requests]
        assert all(_NAME.fullmatch(name) for name in names)
        assert len(set(names)) == len(names)
        assert all("stream" not in request["params"] for request in requests)
        asked = [(request["custom_id"], request["params"]) for request in requests]
        return Response(200, _shown(self.desk.made(asked, "/v1/messages", entry), root))

    def _list(self, query: dict[str, list[str]], root: str) -> Response:
        newest = list(reversed(self.desk.batches))
        if "after_id" in query:
            ids = [batch.id for batch in newest]
            newest = newest[ids.index(query["after_id"][0]) + 1 :]
        page = newest[:2]  # whatever ``limit`` the request has
        for batch in page:
            batch.looks += 1
        body = {"data": [_shown(batch, root) for batch in page], "has_more": len(newest) > 2}
        return Response(200, {**body, "first_id": None, "last_id": None})


def _shown(batch: Batch, root: str) -> dict[str, Any]:
    made = datetime.fromtimestamp(batch.made, UTC)
    counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    for asked in batch.asked:
        counts[_result(asked, batch)["type"] if batch.ended else "processing"] += 1
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if batch.ended else "in_progress",
        "request_counts": counts,
        "created_at": made.isoformat(),
        "expires_at": (made + timedelta(days=1)).isoformat(),
        "ended_at": made.isoformat() if batch.ended else None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": f"{root}{_BATCHES}/{batch.id}/results" if batch.ended else None,
    }


def _line(asked: Asked, batch: Batch) -> dict[str, Any]:
    return {"custom_id": asked.name, "result": _result(asked, batch)}


def _result(asked: Asked, batch: Batch) -> dict[str, Any]:
    if not asked.done:
        return {"type": {"cancelled": "canceled"}.get(batch.state, batch.state)}
    body = asked.response.body
    if asked.response.status != 200:
        return {"type": "errored", "error": body}
    return {"type": "succeeded", "message": None if isinstance(body, bytes) else body}
