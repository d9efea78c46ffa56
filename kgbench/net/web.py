# SPDX-License-Identifier: Apache-2.0
"""Single requests to addresses of users: endpoints, files to fetch, servers to probe.

They carry no credentials, have limits, and use the proxies of the environment. Redirects are
followed only on request, and never from https to http.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from kgbench.net.limits import REDIRECTS, Limits, Meter, RedirectRefused, bare

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
    """GET ``url``, or POST ``body`` to it; ``idle`` is the read timeout in seconds.

    With ``follow``, redirects of a GET to http and https addresses are followed; otherwise they are
    returned like other responses. Raises the errors of :meth:`kgbench.net.client.Client.send`.
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
                location = response.headers.get("location")
                if not follow or location is None or response.status not in _MOVED:
                    yield response
                    return
            url = _redirect_target(url, location)
        raise RedirectRefused(f"{bare(url)} redirects more than {REDIRECTS} times")


def _redirect_target(url: str, location: str) -> str:
    """Return the address that ``url`` redirects to; raises :class:`RedirectRefused`."""
    try:
        target = urljoin(url, location)
        scheme = urlsplit(target).scheme
    except ValueError:
        raise RedirectRefused(f"{bare(url)} leads to an address that cannot be read") from None
    if scheme not in ("http", "https") or (urlsplit(url).scheme, scheme) == ("https", "http"):
        raise RedirectRefused(f"{bare(url)} leads to {bare(target)}: not followed")
    return target
