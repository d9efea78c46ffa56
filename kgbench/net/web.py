# SPDX-License-Identifier: Apache-2.0
"""Requests to an address that somebody named: an endpoint, a file to fetch, a server to probe.

They carry no credentials, keep to limits, and use the proxies of the environment. Redirects are
followed only where the caller says so, and never from https to http.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from kgbench.net.limits import REDIRECTS, LedAway, Limits, Meter, bare

if TYPE_CHECKING:
    from kgbench.net.client import Response

_MOVED: Final = frozenset((301, 302, 303, 307, 308))


@contextmanager
def request(
    url: str,
    limits: Limits,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    idle: float = 60.0,
    follow: bool = False,
) -> Iterator[Response]:
    """GET ``url``, or POST ``body`` to it; ``idle`` is the most seconds without a byte.

    With ``follow`` redirects of a GET are followed within http and https; else they are responses
    like any other. Raises as :meth:`kgbench.net.client.Client.send`.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"{bare(url)} is no address on the web")
    from kgbench.net.client import Client

    meter = Meter(limits)
    method = "GET" if body is None else "POST"
    with Client(connect=min(idle, limits.seconds), idle=idle, proxied=True) as client:
        for _ in range(REDIRECTS + 1):
            with ExitStack() as stack:
                sent = client.send(method, url, meter, body=body, headers=headers)
                response = stack.enter_context(sent)
                to = response.headers.get("location")
                if not follow or to is None or response.status not in _MOVED:
                    yield response
                    return
            url = _followed(url, to)
        raise LedAway(f"{bare(url)} redirects more than {REDIRECTS} times")


def _followed(url: str, location: str) -> str:
    """The address that a response from ``url`` redirects to. Raises :class:`LedAway`."""
    try:
        target = urljoin(url, location)
        after = urlsplit(target).scheme
    except ValueError:
        raise LedAway(f"{bare(url)} leads to an address that cannot be read") from None
    if after not in ("http", "https") or (urlsplit(url).scheme, after) == ("https", "http"):
        raise LedAway(f"{bare(url)} leads to {bare(target)}: not followed")
    return target
