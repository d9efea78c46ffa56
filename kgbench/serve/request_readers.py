# SPDX-License-Identifier: Apache-2.0
"""Parsing of large requests in worker processes with a time limit."""

from __future__ import annotations

import asyncio
import base64
import pickle
import time
from typing import Any

from kgbench.rdf.lexer import TooManyTokens
from kgbench.serve import request_parsing
from kgbench.serve import worker as worker_protocol
from kgbench.serve.admission import INSIDE, Admitted, admit
from kgbench.serve.idle_workers import IdleWorkers
from kgbench.serve.refusals import Refused, busy
from kgbench.serve.request_parsing import PreparedOperation, RawRequest
from kgbench.serve.settings import Limits
from kgbench.serve.worker_handle import Worker, WorkerEnded

_MODULE = "kgbench.serve.request_worker"
_SMALL = 8_000  # bytes; smaller requests are parsed in the event loop, within milliseconds


class RequestReaders:
    """Parses requests and graphs; to be used in the server's event loop.

    The methods raise :class:`~kgbench.serve.refusals.Refused` like the functions of
    :mod:`kgbench.serve.request_parsing`, and 503 at the time limit. Processes are started when the
    first large request comes.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = IdleWorkers(_MODULE, limits.readers, limits.memory_bytes, limits.patience)
        self._slots = asyncio.Semaphore(limits.readers)

    async def close(self) -> None:
        """Kill all processes."""
        await self._workers.close()

    async def operation(self, sent: RawRequest, base: str) -> PreparedOperation | None:
        """See :func:`kgbench.serve.request_parsing.operation`."""
        if len(sent.url_query) + len(sent.body) <= _SMALL and not sent.may_write:
            try:
                return request_parsing.operation(sent, base, INSIDE)
            except TooManyTokens:
                pass
        result: PreparedOperation | None = await self._read("operation", sent, base)
        return result

    async def admit(self, query: str) -> Admitted:
        """See :func:`kgbench.serve.admission.admit`."""
        if len(query) <= _SMALL:
            try:
                return admit(query, INSIDE)
            except TooManyTokens:
                pass
        result: Admitted = await self._read("admit", query)
        return result

    async def triples(self, content_type: str, body: bytes, base: str) -> str:
        """See :func:`kgbench.serve.request_parsing.triples`."""
        result: str = await self._read("triples", content_type, body, base)
        return result

    async def _read(self, name: str, *arguments: Any) -> Any:
        try:
            await asyncio.wait_for(self._slots.acquire(), self._limits.patience)
        except TimeoutError:
            raise busy(self._limits.patience) from None
        try:
            worker = await self._workers.take()
            try:
                worker.send(
                    {
                        "read": name,
                        "arguments": base64.b64encode(pickle.dumps(arguments)).decode("ascii"),
                    }
                )
                result, refused = pickle.loads(await self._answer(worker))  # noqa: S301 - of our own
            except BaseException:
                await self._workers.replace(worker)
                raise
            self._workers.give_back(worker)
        finally:
            self._slots.release()
        if refused is not None:
            raise Refused(*refused)
        return result

    async def _answer(self, worker: Worker) -> bytes:
        """Collect the complete answer of a worker."""
        end = time.monotonic() + self._limits.reading_seconds
        pieces: list[bytes] = []
        while True:
            try:
                frame = await worker.frame(end - time.monotonic())
            except WorkerEnded as gone:
                reason = "needs too much memory" if gone.memory else "cannot be read"
                raise Refused(400, f"the request {reason}") from None
            if frame is None:
                seconds = self._limits.reading_seconds
                raise Refused(503, f"the request cannot be read within {seconds:g} seconds")
            if frame.tag == worker_protocol.FAILED:
                raise Refused(503, "the request could not be read: the server's reader failed")
            if frame.tag == worker_protocol.END:
                return b"".join(pieces)
            pieces.append(frame.payload)
