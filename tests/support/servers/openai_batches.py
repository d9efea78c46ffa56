# SPDX-License-Identifier: Apache-2.0
"""OpenAI's batch interface: files are uploaded, batches created and polled, results downloaded."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers import scripts
from tests.support.servers.batch_desk import Asked, Batch, BatchDesk
from tests.support.servers.loopback import Response
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import Behaviour, Entry

_STATES = ("validating", "in_progress", "finalizing")
_FILE = re.compile(r'name="file"; filename="([^"]+)"\r\n[^\n]*\r\n\r\n(.*?)\r\n--', re.DOTALL)


class OpenAIBatchSpeech(OpenAISpeech):
    """Words responses as OpenAI does, those about files and batches included.

    ``details`` are passed to :class:`~tests.support.servers.batch_desk.BatchDesk`.
    """

    METHODS = ("GET", "POST")

    def __init__(self, *, echo_key: bool = False, **details: Any) -> None:
        super().__init__(echo_key=echo_key)
        self.desk = BatchDesk(OpenAISpeech(echo_key=echo_key), **details)
        self.files: dict[str, bytes] = {}

    def prompt(self, body: Any) -> str:
        """Return the text of a single request, or ``""`` for a request about files or batches."""
        return super().prompt(body) if isinstance(body, dict) and "model" in body else ""

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:
        """See :class:`tests.support.servers.loopback.Speech`."""
        path = urlsplit(entry.path)
        steps = path.path.removeprefix("/v1/").split("/")
        if steps[0] not in ("files", "batches"):
            return super().respond(entry, behaviour, answer)
        if behaviour.kind != scripts.ANSWER:
            return self._bad(entry, behaviour)
        if steps[0] == "files":
            return self._upload(entry) if len(steps) == 1 else self._download(steps[1])
        if steps == ["batches"]:
            if entry.method == "GET":
                return self._list(parse_qs(path.query))
            return self._create(entry)
        return self._about(steps)

    def _about(self, steps: list[str]) -> Response:
        batch = self.desk.find(steps[1])
        if batch is None:
            return _unknown(steps[1])
        if steps[2:] == ["cancel"]:
            batch.cancelled = True
        else:
            batch.looks += 1
        return Response(200, self._shown(batch))

    def _bad(self, entry: Entry, behaviour: Behaviour) -> Response:
        headers = {"x-request-id": entry.request_id}
        if behaviour.kind in (scripts.NOT_JSON, scripts.MALFORMED):
            return Response(200, b"<html><body>Bad gateway</body></html>", headers)
        return self._error(entry, behaviour, headers)

    def _upload(self, entry: Entry) -> Response:
        found = _FILE.search(entry.body)
        assert found is not None, entry.body[:500]
        assert 'name="purpose"\r\n\r\nbatch' in entry.body
        number = f"file-{len(self.files):04d}"
        self.files[number] = found[2].encode()
        body = {"id": number, "object": "file", "purpose": "batch", "filename": found[1]}
        return Response(200, {**body, "bytes": len(found[2]), "created_at": 0})

    def _download(self, number: str) -> Response:
        content = self.files.get(number)
        return Response(200, content) if content is not None else _unknown(number)

    def _create(self, entry: Entry) -> Response:
        body = entry.body
        assert body["completion_window"] == "24h"
        lines = self.files[body["input_file_id"]].decode().splitlines()
        requests = [json.loads(line) for line in lines]
        assert all(r["method"] == "POST" and r["url"] == body["endpoint"] for r in requests)
        assert len({r["custom_id"] for r in requests}) == len(requests)
        asked = [(r["custom_id"], r["body"]) for r in requests]
        batch = self.desk.made(asked, body["endpoint"], entry, body["metadata"])
        return Response(200, self._shown(batch))

    def _list(self, query: dict[str, list[str]]) -> Response:
        newest = list(reversed(self.desk.batches))
        if "after" in query:
            ids = [batch.id for batch in newest]
            newest = newest[ids.index(query["after"][0]) + 1 :]
        page = newest[:2]  # whatever ``limit`` the request has
        data = [self._shown(batch) for batch in page]
        return Response(200, {"object": "list", "data": data, "has_more": len(newest) > len(page)})

    def _shown(self, batch: Batch) -> dict[str, Any]:
        done = [asked for asked in batch.asked if asked.done]
        good = [asked for asked in done if asked.response.status == 200]
        body: dict[str, Any] = {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": "file-x",
            "completion_window": "24h",
            "created_at": int(batch.made),
            "status": batch.state if batch.ended else _STATES[min(batch.looks, 2)],
            "metadata": batch.metadata,
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
            "request_counts": {
                "total": len(batch.asked),
                "completed": len(good) if batch.ended else 0,
                "failed": len(done) - len(good) if batch.ended else 0,
            },
        }
        if not batch.ended:
            return body
        if batch.state == "failed":
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
            return {**body, "errors": {"object": "list", "data": [error]}}
        wrong = [asked for asked in batch.asked if asked not in good]
        for name, lines in (("output", good), ("error", wrong)):
            if lines:
                number = f"file-{batch.id}-{name}"
                # Unordered, because results may be.
                text = [json.dumps(_line(asked, batch), ensure_ascii=False) for asked in lines]
                self.files[number] = "".join(f"{one}\n" for one in reversed(text)).encode()
                body[f"{name}_file_id"] = number
        return body


def _line(asked: Asked, batch: Batch) -> dict[str, Any]:
    line = {"id": f"batch_req_{asked.entry.number}", "custom_id": asked.name}
    if not asked.done:
        code = f"batch_{batch.state}"
        return {**line, "response": None, "error": {"code": code, "message": f"The {code}."}}
    response, body = asked.response, asked.response.body
    if isinstance(body, bytes):
        body = body.decode()
    told = {"status_code": response.status, "request_id": asked.entry.request_id, "body": body}
    return {**line, "response": told, "error": None}


def _unknown(number: str) -> Response:
    error = {"message": f"No such object: {number}", "type": "invalid_request_error", "code": None}
    return Response(404, {"error": error})
