# SPDX-License-Identifier: Apache-2.0
"""The HTTP client of the provider SDKs, which limits responses and redirects.

By themselves, SDKs follow redirects to any server, some of them with the API key, and read
responses of any size.
"""

from __future__ import annotations

from typing import Any, Final

import httpx2

from kgbench.net import environment, limits
from kgbench.net.limits import REDIRECTS, Limits, Meter, RedirectRefused, redirect_target
from kgbench.net.transport import MeasuredBody

MOST_STREAMED: Final = 1 << 32
"""Maximal bytes of a response that is read line by line."""

SLOWEST: Final = 10_000
"""Minimal average of bytes per second for a streamed response beyond its timeout."""


class GuardedClient(httpx2.AsyncClient):
    """An ``httpx2.AsyncClient`` for calls to one server that take at most ``seconds``.

    Only the origin of ``url`` is contacted: an SDK may take addresses from responses, such as the
    address of a batch's results, and would send the key there. Of the environment, only
    certificates are used.
    """

    def __init__(self, url: str, seconds: float, **options: Any) -> None:
        super().__init__(trust_env=False, verify=environment.tls_for(url), **options)
        self._home = url
        self._whole = Limits(limits.REPLY, limits.REPLY, seconds)
        self._streamed = Limits(MOST_STREAMED, MOST_STREAMED, seconds, SLOWEST)

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """Send ``request``; follow redirects within its origin if they keep method and body.

        Raises :class:`~kgbench.net.limits.Misbehaviour`; reading the response may raise it, too.
        """
        meter = Meter(self._streamed if stream else self._whole)
        options["follow_redirects"] = False
        redirect_target(self._home, str(request.url))
        for _ in range(REDIRECTS + 1):
            request.headers["Accept-Encoding"] = "gzip"
            response = await super().send(request, stream=True, **options)
            following = response.next_request
            if following is None:
                coding = response.headers.pop("content-encoding", None)
                response.stream = MeasuredBody(response.stream, meter, coding)
                # JSON is UTF-8, whatever the header says (RFC 8259, section 8.1). Codecs such as
                # "undefined" are known to Python, but raise errors that no caller expects.
                response.encoding = "utf-8-sig"
                if not stream:
                    await _read(response)
                return response
            await response.aclose()
            redirect_target(str(request.url), response.headers["location"])
            if following.method != request.method:
                raise RedirectRefused(
                    f"the server redirects a {request.method} with HTTP {response.status_code}, "
                    f"which would lose its body: look at the address of the server"
                )
            request = following
        raise RedirectRefused(f"the server redirects more than {REDIRECTS} times")


async def _read(response: httpx2.Response) -> None:
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise
