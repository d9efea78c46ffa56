# SPDX-License-Identifier: Apache-2.0
"""kgbench's HTTP client under ``requests``, which Google's retired SDK uses."""

from __future__ import annotations

import io
from typing import Any

import requests
from requests.adapters import BaseAdapter

from kgbench.net import limits
from kgbench.net.client import Client
from kgbench.net.limits import Limits, Meter

_KEPT = 256  # idle connections


def guard(session: requests.Session, seconds: float) -> None:
    """Make ``session`` follow no redirects, and limit its responses in size and time.

    Its calls then raise :class:`requests.TooManyRedirects` for a redirect,
    :class:`requests.Timeout` or an :class:`OSError` for a failure of the connection, and
    :class:`~kgbench.net.limits.Misbehaviour` for a response beyond the limits.
    """
    session.max_redirects = 0
    for scheme in ("https://", "http://"):
        session.mount(scheme, _Guarded(seconds))


class _Guarded(BaseAdapter):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._limits = Limits(limits.REPLY, limits.REPLY, seconds)
        self._client = Client(
            connect=seconds, idle=seconds, max_idle_connections=_KEPT, proxied=True
        )

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Send ``request`` and return the whole response."""
        assert isinstance(request.body, bytes | None)
        method, url = request.method or "GET", request.url or ""
        own = {name: str(value) for name, value in request.headers.items()}
        headers = {**own, "Accept-Encoding": "gzip"}
        try:
            with self._client.send(
                method, url, Meter(self._limits), body=request.body, headers=headers
            ) as received:
                content = b"".join(received.pieces())
        except TimeoutError as error:
            raise requests.Timeout(str(error)) from None
        response = requests.Response()
        response.status_code, response.reason = received.status, received.reason
        response.headers.update(received.headers)
        response.raw, response.request, response.url = io.BytesIO(content), request, url
        return response

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
