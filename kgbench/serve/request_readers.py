# SPDX-License-Identifier: Apache-2.0
"""Parsing of requests: small ones in the event loop, large ones by workers with a time limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kgbench.rdf.lexer import TooManyTokens
from kgbench.serve import request_parsing
from kgbench.serve.admission import INSIDE, Admitted, admit
from kgbench.serve.pool import Pool
from kgbench.serve.protocol import Operation
from kgbench.serve.request_parsing import PreparedOperation, RawRequest

_SMALL = 8_000  # bytes; smaller requests are parsed within milliseconds


class RequestReaders:
    """Parses requests and graphs; to be used in the server's event loop.

    The methods raise :class:`~kgbench.serve.refusals.Refused` like the functions of
    :mod:`kgbench.serve.request_parsing`, and as :meth:`Pool.run` does.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def operation(self, sent: RawRequest, base: str) -> PreparedOperation | None:
        """See :func:`kgbench.serve.request_parsing.operation`."""
        if len(sent.url_query) + len(sent.body) <= _SMALL and not sent.may_write:
            try:
                return request_parsing.operation(sent, base, INSIDE)
            except TooManyTokens:
                pass
        found = await self._read("operation", sent, base)
        if found is None:
            return None
        operation, admitted = found
        return PreparedOperation(_operation(operation), admitted and Admitted(*admitted))

    async def admit(self, query: str) -> Admitted:
        """See :func:`kgbench.serve.admission.admit`."""
        if len(query) <= _SMALL:
            try:
                return admit(query, INSIDE)
            except TooManyTokens:
                pass
        return Admitted(*await self._read("admit", query))

    async def triples(self, content_type: str, body: bytes, base: str) -> str:
        """See :func:`kgbench.serve.request_parsing.triples`."""
        result: str = await self._read("triples", content_type, body, base)
        return result

    async def _read(self, name: str, *arguments: Any) -> Any:
        job = {"read": name, "arguments": arguments}
        answer = await self._pool.run(job, seconds=self._pool.limits.reading_seconds)
        return json.loads(await answer.whole())


def _operation(fields: Mapping[str, Any]) -> Operation:
    """Restore an operation, whose tuples are lists in JSON."""
    restored: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return Operation(**restored)
