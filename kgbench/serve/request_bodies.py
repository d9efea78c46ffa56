# SPDX-License-Identifier: Apache-2.0
"""Reading of requests: bodies with limits on size, time and nesting, and disconnects."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from starlette.requests import ClientDisconnect, Request

from kgbench.serve.refusals import Refused
from kgbench.serve.settings import Limits

# Tokens that open or close a level, for which parsers need stack space: brackets in JSON, triple
# terms in Turtle. Strings and comments are matched completely and do not count.
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
_TERMS = re.compile(
    rb"""
      \"\"\"(?:[^"\\]++|\\.|"{1,2}+(?!"))*+\"\"\"
    | '''(?:[^'\\]++|\\.|'{1,2}+(?!'))*+'''
    | "(?:[^"\\\n\r]++|\\.)*+"
    | '(?:[^'\\\n\r]++|\\.)*+'
    | <[^<>"{}|^`\x00-\x20]*+>   # IRIs may contain quotes and number signs
    | \#[^\n\r]*+
    | \\.                        # so may prefixed names, escaped
    | (<<) | (>>)
    """,
    re.VERBOSE | re.DOTALL,
)


def is_deeper(data: bytes, levels: int, *, json: bool) -> bool:
    """Return whether a JSON or Turtle document is nested deeper than ``levels``.

    >>> is_deeper(b'{"a": [{"b": "[[["}]}', 2, json=True), is_deeper(b"[[", 2, json=True)
    (True, False)
    >>> is_deeper(b"<a> <b> '<< <<' .", 1, json=False), is_deeper(b"<<( <<( ", 1, json=False)
    (False, True)
    """
    level = 0
    for match in (_JSON if json else _TERMS).finditer(data):
        if match[1]:
            level += 1
            if level > levels:
                return True
        elif match[2] and level:
            level -= 1
    return False


async def body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request; raises 413 if it is too large and 408 if it is too slow."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limits.request_bytes:
        raise _too_large(limits)
    pieces = bytearray()
    try:
        async with asyncio.timeout(limits.request_seconds):
            async for piece in request.stream():
                pieces += piece
                if len(pieces) > limits.request_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise Refused(408, "the request body arrived too slowly", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "the request ended early") from None
    return bytes(pieces)


async def wait_while_connected(request: Request, task: asyncio.Task[Any]) -> None:
    """Wait until ``task`` is done; cancel it and raise 408 if the client disconnects before."""
    disconnected = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnected.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        raise Refused(408, "the client has disconnected")


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client of a request disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(limits: Limits) -> Refused:
    return Refused(
        413,
        f"the request's body is larger than {limits.request_bytes} bytes",
        {"Connection": "close"},
    )
