# SPDX-License-Identifier: Apache-2.0
"""Reading the body of a request within limits of size, time and depth."""

from __future__ import annotations

import asyncio
import re

from starlette.requests import ClientDisconnect, Request

from kgbench.serve.refusals import Refused
from kgbench.serve.settings import Limits

# What opens and closes a level, for which parsers need stack: in JSON brackets, else triple terms;
# neither in strings, which may hold any number of them, nor in the comments of Turtle.
_JSON = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)
_TERMS = re.compile(
    rb"""
      \"\"\"(?:[^"\\]++|\\.|"{1,2}+(?!"))*+\"\"\"
    | '''(?:[^'\\]++|\\.|'{1,2}+(?!'))*+'''
    | "(?:[^"\\\n\r]++|\\.)*+"
    | '(?:[^'\\\n\r]++|\\.)*+'
    | <[^<>"{}|^`\x00-\x20]*+>   # an IRI may hold what begins a string or a comment elsewhere
    | \#[^\n\r]*+
    | \\.                        # as may a name
    | (<<) | (>>)
    """,
    re.VERBOSE | re.DOTALL,
)


def is_deeper(sent: bytes, levels: int, *, json: bool) -> bool:
    """Whether a document, which is in JSON or not, is nested deeper than ``levels``.

    >>> is_deeper(b'{"a": [{"b": "[[["}]}', 2, json=True), is_deeper(b"[[", 2, json=True)
    (True, False)
    >>> is_deeper(b"<a> <b> '<< <<' .", 1, json=False), is_deeper(b"<<( <<( ", 1, json=False)
    (False, True)
    """
    level = 0
    for found in (_JSON if json else _TERMS).finditer(sent):
        if found[1]:
            level += 1
            if level > levels:
                return True
        elif found[2] and level:
            level -= 1
    return False


async def body(request: Request, limits: Limits) -> bytes:
    """The whole body; 413 where it is too large, 408 where it comes too slowly."""
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
        raise Refused(408, "the request's body came too slowly", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "the request ended early") from None
    return bytes(pieces)


def _too_large(limits: Limits) -> Refused:
    return Refused(
        413,
        f"the request's body is larger than {limits.request_bytes} bytes",
        {"Connection": "close"},
    )
